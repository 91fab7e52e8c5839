import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { built } from '../e2e/cli-process.ts';
import { manyItems } from '../support/many-items.ts';

const turns = 5;

/**
 * By the clock, from the shell. The same command for a box without items, in turns with it, tells how busy the machine is: where the
 * second cannot be asked for, the ratio of the two still can.
 */
it.each([
  ['render', 0],
  ['status', 2],
])(
  '%s takes less than a second for 500 services and 2,000 items',
  async (word, exit) => {
    const folder = mkdtempSync(join(tmpdir(), 'graph-speed-'));
    writeFileSync(join(folder, 'many.yaml'), manyItems);
    writeFileSync(join(folder, 'none.yaml'), 'version: 1\n');
    const timed = async (manifest: string): Promise<number> => {
      const env = { HOME: folder, SKILLBOX_MANIFEST: join(folder, manifest), SKILLBOX_STATE_ROOT: join(folder, 'state') };
      const since = performance.now();
      const { exit: ended, stderr } = await built([word, '--json'], env);
      expect(ended, stderr).toBe(exit);
      return Math.round(performance.now() - since);
    };
    try {
      const bare: number[] = [];
      const times: number[] = [];
      for (let turn = 0; turn < turns; turn += 1) {
        bare.push(await timed('none.yaml'));
        times.push(await timed('many.yaml'));
      }
      console.log(`2,000 items: ${word} ${times.join(', ')} ms; without items ${bare.join(', ')} ms`);
      expect(Math.min(...times)).toBeLessThan(Math.max(1000, 4 * Math.min(...bare)));
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  120_000,
);
