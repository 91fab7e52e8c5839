/** skillbox shell as a process, against a real box. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page, Sandbox } from '@skillbox/protocol';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { main } from './cli-process.ts';

let folder: string;
let box: TestBox;
const env = (): Record<string, string> => ({
  SKILLBOX_STATE_ROOT: join(folder, 'state'),
  SKILLBOX_MANIFEST: join(folder, 'skillbox.yaml'),
});
const shell = (words: readonly string[], input?: string) => main(['shell', ...words], env(), input);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-shell-'));
  writeFileSync(join(folder, 'skillbox.yaml'), 'version: 1\n');
  mkdirSync(join(folder, 'state', 'clients', 'acme'), { recursive: true });
  const overlay = 'version: 1\nclient:\n  id: acme\n  default_cwd: /workspace/repos/acme\n';
  writeFileSync(join(folder, 'state', 'clients', 'acme', 'overlay.yaml'), overlay);
  box = await startTestBox(env());
});
afterAll(async () => {
  await box?.stop();
  rmSync(folder, { recursive: true, force: true });
});

it('says how to start the box when none runs', { timeout: 120_000 }, async () => {
  const { exit, stderr } = await main(['shell', '--', 'true'], { ...env(), SKILLBOX_STATE_ROOT: join(folder, 'other') });
  expect(exit).toBe(7);
  expect(stderr).toContain('skillbox up');
});

it('runs a command in the one workspace: both streams, stdin and the exit code are true', { timeout: 300_000 }, async () => {
  expect(await shell(['--', 'sh', '-c', 'pwd; echo err >&2; exit 9'])).toEqual({ exit: 9, stdout: '/workspace\n', stderr: 'err\n' });
  expect(await shell(['--', 'tee', '/workspace/typed'], 'what was typed\n')).toMatchObject({ exit: 0, stdout: 'what was typed\n' });
  expect(readFileSync(join(folder, 'state/workspace/typed'), 'utf8')).toBe('what was typed\n');
  expect(await shell(['--', 'no-such-program'])).toMatchObject({ exit: 127 });
  const { body } = await box.json<Page<Sandbox>>('/v1/sandboxes');
  expect(body.items.map(({ template, tenant }) => [template, tenant])).toEqual([['workspace@1', 'default']]);
});

it('runs skillbox in it, which asks this box, with a true exit code', { timeout: 300_000 }, async () => {
  expect(await shell(['--', 'skillbox', 'session', 'start', 'acme', '--label', 'from inside'])).toMatchObject({ exit: 0, stderr: '' });
  expect((await shell(['--', 'skillbox', 'session', 'status', '--client-id', 'acme'])).stdout).toContain('from inside');
  expect(await shell(['--', 'skillbox', 'status', '--client', 'nobody'])).toMatchObject({ exit: 1, stdout: '' });
  expect(await shell(['--', 'skillbox', 'shell'])).toMatchObject({ exit: 2, stderr: expect.stringContaining('workspace already') });
});

it('is one workspace however many ask for it at once', { timeout: 300_000 }, async () => {
  const { body } = await box.json<Page<Sandbox>>('/v1/sandboxes');
  for (const { id } of body.items) await box.request(`/v1/sandboxes/${id}`, { method: 'DELETE' });
  const ran = await Promise.all([1, 2, 3].map((number) => shell(['--', 'echo', String(number)])));
  expect(ran.map(({ stdout }) => stdout).sort()).toEqual(['1\n', '2\n', '3\n']);
  const { body: after } = await box.json<Page<Sandbox>>('/v1/sandboxes?state=ready');
  expect(after.items).toHaveLength(1);
});

it('starts where the client works, and knows no client that there is none of', { timeout: 300_000 }, async () => {
  await shell(['--', 'mkdir', '-p', '/workspace/repos/acme']);
  expect(await shell(['--client', 'acme', '--', 'pwd'])).toMatchObject({ exit: 0, stdout: '/workspace/repos/acme\n' });
  const unknown = await shell(['--client', 'nobody', '--', 'pwd']);
  expect(unknown).toMatchObject({ exit: 1, stdout: '' });
  expect(unknown.stderr).toContain('nobody');
});

it('is a terminal, and exits as its shell does', { timeout: 300_000 }, async () => {
  const typed = 'pwd; tty; exit 6\n';
  const { exit, stdout, stderr } = await shell(['--client', 'acme'], typed);
  expect(stderr).toBe('');
  expect(stdout).toContain('/workspace/repos/acme');
  expect(stdout).toContain('/dev/pts/');
  expect(exit).toBe(6);
});
