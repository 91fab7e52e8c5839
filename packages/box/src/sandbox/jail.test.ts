import { chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { diskUid } from './disk-owner.ts';
import { type JailFolder, type JailRun, runJailed } from './jail.ts';

let root: string;
const folder = (name: string): JailFolder => {
  const path = join(root, name);
  mkdirSync(path);
  if (process.getuid?.() === 0) chownSync(path, diskUid, diskUid);
  return { root, names: [name], at: `/${name}`, access: name === 'read' ? 'read' : 'write' };
};
const run = (script: string, more: Partial<JailRun> = {}) =>
  runJailed({
    folders: [],
    argv: ['/bin/sh', '-c', script],
    env: {},
    timeoutMs: 20_000,
    maxOutputBytes: 65_536,
    signal: new AbortController().signal,
    ...more,
  });

beforeEach(() => {
  // As the state root: nobody else may pass through it.
  root = mkdtempSync(join(tmpdir(), 'jail-'));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

it('writes in the folder that it was given, as its owner, and only reads the other', async () => {
  const write = folder('write');
  const read = folder('read');
  writeFileSync(join(root, 'read', 'text'), 'hello');
  const { exit, stderr, stdout } = await run('cat /read/text; echo made > /write/new; echo x > /read/new', {
    folders: [write, read],
  });
  expect(stdout.toString()).toBe('hello');
  expect(exit).not.toBe(0);
  expect(stderr).toContain('Read-only file system');
  expect(readdirSync(join(root, 'read'))).toEqual(['text']);
  expect(statSync(join(root, 'write', 'new')).uid).toBe(process.getuid?.() === 0 ? diskUid : process.getuid?.());
});

it('has no network, no file of the host beside /usr, no capability and no environment', async () => {
  const { stdout } = await run(
    'ls -1 /; cat /proc/net/dev | tail -n +3 | cut -d: -f1; grep -E "Cap(Eff|Bnd)|NoNewPrivs|Seccomp:" /proc/self/status; env',
  );
  const text = stdout.toString();
  expect(text).not.toMatch(/^(home|root|etc|var|work)$/m);
  expect(text.match(/^\s*\w+$/gm)?.map((line) => line.trim())).toContain('lo');
  expect(text).not.toMatch(/eth|ens|enp/);
  expect(text).toMatch(/CapEff:\s+0+$/m);
  expect(text).toMatch(/CapBnd:\s+0+$/m);
  expect(text).toMatch(/NoNewPrivs:\s+1/);
  expect(text).toMatch(/Seccomp:\s+2/);
  expect(text.match(/^\w+=.*$/gm)?.sort()).toEqual(['HOME=/tmp', 'PATH=/usr/local/bin:/usr/bin:/bin', 'PWD=/']);
});

it('ends at its time, with everything that it started', async () => {
  const started = performance.now();
  const { ended, exit } = await run('sleep 60 & sleep 60', { timeoutMs: 300 });
  expect(ended).toBe('timeout');
  expect(exit).toBeNull();
  expect(performance.now() - started).toBeLessThan(5000);
});

it('ends when it says too much, and when the caller goes away', async () => {
  expect((await run('yes', { maxOutputBytes: 1000 })).ended).toBe('too-much-output');
  const away = new AbortController();
  setTimeout(() => away.abort(new Error('gone')), 100);
  await expect(run('sleep 60', { signal: away.signal })).rejects.toThrow('gone');
});

it.each([[['link']], [['link', 'sub']], [['..', 'write']]])('hands over no folder whose way leads over %s', async (names) => {
  const write = folder('write');
  mkdirSync(join(root, 'write', 'sub'));
  symlinkSync(join(root, 'write'), join(root, 'link'));
  await expect(run('true', { folders: [{ ...write, names }] })).rejects.toMatchObject({ code: 'sandbox_unavailable' });
});
