/** skillbox sandbox … as a process, against a real box. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { main } from './cli-process.ts';

let box: TestBox;
let id: string;
let folder: string;

beforeAll(async () => {
  box = await startTestBox();
  folder = mkdtempSync(join(tmpdir(), 'sb-cli-'));
  id = (await box.json<{ id: string }>('/v1/sandboxes', { body: { template: 'base' } })).body.id;
});
afterAll(async () => {
  await box.request(`/v1/sandboxes/${id}`, { method: 'DELETE' });
  await box.stop();
  rmSync(folder, { recursive: true });
});

const env = () => ({ SKILLBOX_SERVER_URL: box.url, SKILLBOX_API_KEY: box.key, SKILLBOX_STATE_ROOT: folder });
const cli = (words: string[], input?: string) => main(words, env(), input);

it('exec shows both streams and exits as the program does', { timeout: 180_000 }, async () => {
  expect(await cli(['sandbox', 'exec', id, '--', 'bash', '-c', 'echo out; echo err >&2; exit 9'])).toEqual({
    exit: 9,
    stdout: 'out\n',
    stderr: 'err\n',
  });
  expect(await cli(['sb', 'exec', id, '--env', 'A=b c', '--cwd', '/tmp', '--', 'sh', '-c', 'echo "$A"; pwd'])).toMatchObject({
    exit: 0,
    stdout: 'b c\n/tmp\n',
  });
  expect(await cli(['sandbox', 'exec', id, '--stdin', '--', 'wc', '-c'], 'x'.repeat(300_000))).toMatchObject({ stdout: '300000\n' });
  expect(await cli(['sandbox', 'exec', id, '--', 'sh', '-c', 'kill -TERM $$'])).toMatchObject({ exit: 143 });
  expect(await cli(['sandbox', 'exec', `i${'0'.repeat(19)}`, '--', 'true'])).toMatchObject({ exit: 4 });
});

it('exec --detach, ps, logs and kill', { timeout: 180_000 }, async () => {
  const { stdout } = await cli(['sandbox', 'exec', id, '--detach', '--', 'sh', '-c', 'echo begun; sleep 60']);
  const program = stdout.trim();
  expect((await cli(['sandbox', 'ps', id])).stdout).toContain('sleep 60');
  expect((await cli(['sandbox', 'logs', id, program])).stdout).toBe('begun\n');
  expect(await cli(['sandbox', 'kill', id, program, '--signal', 'KILL'])).toMatchObject({ exit: 0 });
  expect((await cli(['sandbox', 'logs', id, program, '--follow'])).stdout).toBe('begun\n');
});

it('mkdir, ls, cat, mv, rm, metrics and preview', { timeout: 180_000 }, async () => {
  await box.request(`/v1/sandboxes/${id}/files?path=d/a.bin`, { method: 'PUT', body: new Uint8Array([0x61, 0x0a]) });
  expect(await cli(['sandbox', 'mkdir', id, 'd/e'])).toMatchObject({ exit: 0 });
  const listed = await cli(['sandbox', 'ls', id, 'd', '--json']);
  expect(JSON.parse(listed.stdout).items).toHaveLength(2);
  expect((await cli(['sandbox', 'cat', id, 'd/a.bin'])).stdout).toBe('a\n');
  expect(await cli(['sandbox', 'mv', id, 'd/a.bin', 'd/b.bin'])).toMatchObject({ exit: 0 });
  expect(await cli(['sandbox', 'rm', id, 'd'])).toMatchObject({ exit: 0 });
  expect(await cli(['sandbox', 'ls', id, 'd'])).toMatchObject({ exit: 4 });
  expect(JSON.parse((await cli(['sandbox', 'metrics', id, '--json'])).stdout)).toMatchObject({ now: { processes: expect.any(Number) } });
  expect((await cli(['sandbox', 'preview', id, '8000'])).stdout).toContain(`/preview/${id}/8000/?token=`);
});

it('shell types into a terminal and exits as the shell does', { timeout: 180_000 }, async () => {
  const { exit, stdout } = await cli(['sandbox', 'shell', id], 'echo $((6 * 7)) $TERM\nexit 6\n');
  expect(stdout).toContain('42 xterm-256color');
  expect(exit).toBe(6);
  expect(await cli(['sandbox', 'shell', `i${'0'.repeat(19)}`])).toMatchObject({ exit: 4 });
});
