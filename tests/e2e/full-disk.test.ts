/** A state root on a file system that fills up: /ready says so, and takes it back when there is room again. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';

const mayMount = process.getuid?.() === 0;
if (!mayMount) console.warn('SKIPPED: only root can mount the small file system that this test fills.');

describe.skipIf(!mayMount)('a full disk', () => {
  const folder = mkdtempSync(join(tmpdir(), 'skillbox-full-'));
  let box: TestBox;
  beforeAll(async () => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=48m', 'tmpfs', folder]);
    box = await startTestBox({ SKILLBOX_STATE_ROOT: join(folder, 'state'), SKILLBOX_MIN_FREE_DISK: '16Mi' });
  });
  afterAll(async () => {
    await box.stop();
    execFileSync('umount', [folder]);
    rmSync(folder, { recursive: true });
  });

  it('makes the box not ready, and only as long as it is full', async () => {
    expect(await box.json('/ready', { key: null })).toMatchObject({ status: 200, body: { checks: { disk: 'ok' } } });
    const ballast = join(folder, 'ballast');
    writeFileSync(ballast, Buffer.alloc(36 * 2 ** 20));
    expect(await box.json('/ready', { key: null })).toMatchObject({
      status: 503,
      body: { status: 'unavailable', checks: { disk: 'full', database: 'ok' } },
    });
    expect((await box.request('/livez')).status).toBe(200);
    rmSync(ballast);
    expect((await box.request('/ready')).status).toBe(200);
  });
});
