import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { Logger } from './observe/log.ts';
import { startWatch, type Watch } from './watch.ts';

const well = { database: 'ok', blobs: 'ok', sandboxes: 'ok', disk: 'ok' };
let watch: Watch | undefined;
afterEach(() => watch?.stop());

function listen(): { log: Logger; said: string[] } {
  const said: string[] = [];
  const say = (_facts: unknown, text: string): void => void said.push(text);
  return { log: { info: say, warn: say } as unknown as Logger, said };
}

describe('the watch', () => {
  it('says once that a part is away, and once that it is back', async () => {
    const { log, said } = listen();
    let checks = well;
    watch = startWatch({ log, check: async () => checks, checkEveryMs: 5 });
    await delay(30);
    expect(said).toEqual([]);
    checks = { ...well, disk: 'full' };
    await expect.poll(() => said).toHaveLength(1);
    await delay(30);
    checks = well;
    await expect.poll(() => said).toHaveLength(2);
    expect(said).toEqual([
      'the disk of the state root is not well (full): requests that need it answer 503 until it is',
      'the disk of the state root is well again',
    ]);
  });

  it('says how far the clock was set, and nothing of small corrections', async () => {
    const { log, said } = listen();
    let ahead = 0;
    watch = startWatch({ log, check: async () => well, clockEveryMs: 5, clock: () => Date.now() + ahead });
    ahead = 500;
    await delay(30);
    expect(said).toEqual([]);
    ahead = -3_600_000;
    await expect.poll(() => said).toEqual([expect.stringMatching(/^the clock of this host jumped back by 360[01] s/)]);
  });
});
