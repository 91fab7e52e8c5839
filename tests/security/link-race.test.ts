/** Ten thousand swaps of folders and files for links, against everything that carries files: not one byte outside is read or touched. */

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { copy } from './copy.ts';
import { useInside } from './inside.ts';
import type { Living } from './living.ts';

const swaps = 10_000;
const canary = 'canary: this must not be read, moved or replaced';
const inside = useInside();
let folder: string;
let outside: string;
let living: Living;
/** What must stay as it is, on the host: a folder of its own, and the disk of a neighbour. */
let kept: string[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-race-'));
  outside = join(folder, 'outside');
  mkdirSync(join(outside, 'made'), { recursive: true });
  for (const name of ['file', 'moved', 'made/file']) writeFileSync(join(outside, name), canary);
  living = await inside.living.own();
  const neighbour = await inside.living.neighbour();
  await neighbour.request('/files?path=file', { method: 'PUT', body: canary });
  kept = [outside, join(inside.box.stateRoot, 'sandboxes/living', neighbour.id, 'upper')];
  expect(kept.map((path) => readFileSync(join(path, 'file'), 'utf8'))).toEqual([canary, canary]);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Names, owners, modes, times and content of everything in it. */
function fingerprint(path: string): string[] {
  const { mode, uid, gid, size, mtimeMs, ctimeMs, nlink } = lstatSync(path);
  const own = [path, mode, uid, gid, size, mtimeMs, ctimeMs, nlink].join(' ');
  if (lstatSync(path).isDirectory())
    return [
      own,
      ...readdirSync(path)
        .sort()
        .flatMap((name) => fingerprint(join(path, name))),
    ];
  return [`${own} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`];
}

/** `dir` is a folder, a link to each target in turn, and a folder again; `file` the same. One renames over the other, so that no moment is without. */
const swapper = (home: string, targets: readonly string[]): string => `
import itertools, os, shutil
os.makedirs('${home}/dir', exist_ok=True)
os.chdir('${home}')
targets = itertools.cycle(${JSON.stringify(targets)})
done = 0
while done < ${swaps}:
    target = next(targets)
    try:
        os.rename('dir', 'real'); os.symlink(target, 'dir'); os.unlink('dir'); os.rename('real', 'dir'); done += 1
        os.symlink(target + '/file', 'new'); os.rename('new', 'file'); done += 1
        with open('new', 'w') as file: file.write('plain')
        os.rename('new', 'file')
    except OSError:
        # Those who race put something in the way: begin again.
        for name in ('new', 'dir', 'file'):
            try: os.unlink(name)
            except OSError: pass
        shutil.rmtree('real', ignore_errors=True)
        try: os.makedirs('dir', exist_ok=True)
        except OSError: pass
print(done)
`;

it('the inside swaps while files are read, written, listed, looked at, made, moved, removed, watched and copied', {
  timeout: 120_000,
}, async () => {
  const before = kept.map(fingerprint);
  const targets = [...kept, ...kept.map((path) => `/proc/1/root${path}`), ...kept.map((path) => `../../../../..${path}`)];
  await living.request('/files?path=swap.py', { method: 'PUT', body: swapper('/home/user/race', targets) });
  const local = join(folder, 'local');
  mkdirSync(join(local, 'up'), { recursive: true });
  writeFileSync(join(local, 'up', 'file'), 'from the caller');
  const sandbox = await living.e2b();
  let over = false;
  let calls = 0;
  const read: string[] = [];
  const ask = async (path: string, options: Parameters<Living['request']>[1] = {}): Promise<void> => {
    read.push(await (await living.request(path, options)).text());
  };
  const quietly = (work: Promise<unknown>): Promise<void> =>
    work.then(
      (value) => void read.push(String(value)),
      () => undefined,
    );
  const at = (name: string): string => `/files?path=race/${name}`;
  const rounds: (() => Promise<unknown>)[] = [
    () => ask(at('dir/file')),
    () => ask(at('file')),
    () => ask(at('dir/file'), { method: 'PUT', body: 'from the box' }),
    () => ask(at('file'), { method: 'PUT', body: 'from the box' }),
    () => ask(`${at('dir/file')}&append=true`, { method: 'PUT', body: 'more' }),
    () => ask('/files/list?path=race/dir&depth=3'),
    () => ask('/files/stat?path=race/dir/file'),
    () => ask('/files/mkdir', { body: { path: 'race/dir/made' } }),
    () => ask('/files/move', { body: { from: 'race/dir/made', to: 'race/dir/moved' } }),
    () => ask('/files/move', { body: { from: 'race/dir/file', to: 'race/taken' } }),
    () => ask(at('dir/file'), { method: 'DELETE' }),
    () => ask(at('dir'), { method: 'DELETE' }),
    () => ask('/files/watch?path=race/dir&recursive=true', { signal: AbortSignal.timeout(100) }).catch(() => undefined),
    () => quietly(sandbox.files.read('race/dir/file')),
    () => quietly(sandbox.files.write('race/dir/file', 'from E2B')),
    () => quietly(sandbox.files.list('race/dir', { depth: 2 }).then((list) => JSON.stringify(list))),
    () => quietly(sandbox.files.rename('race/dir/file', 'race/dir/moved')),
    () => quietly(sandbox.files.remove('race/dir/moved')),
    () => copy(inside.box.url, living, `${living.id}:race`, join(local, 'down')),
    () => copy(inside.box.url, living, join(local, 'up'), `${living.id}:race/dir`),
  ];
  const work = async (round: () => Promise<unknown>): Promise<void> => {
    while (!over) {
      await round();
      calls += 1;
    }
  };
  const swapping = living.json<{ stdout: string; stderr: string }>('/programs', { body: { cmd: 'python3 swap.py' } });
  const all = Promise.all(rounds.map(work));
  const { body } = await swapping;
  over = true;
  await all;
  expect(body).toMatchObject({ stdout: expect.stringMatching(/^1000[01]\n$/), stderr: '' });
  expect(calls).toBeGreaterThan(200);
  expect(kept.map(fingerprint)).toEqual(before);
  expect(read.filter((text) => text.includes('canary'))).toEqual([]);
  expect(contents(join(local, 'down')).filter((text) => text.includes('canary'))).toEqual([]);
});

it('the caller’s side swaps while folders are copied in and out', { timeout: 120_000 }, async () => {
  const before = kept.map(fingerprint);
  const local = join(folder, 'swapped');
  mkdirSync(join(local, 'dir'), { recursive: true });
  await living.request('/files?path=tree/dir/file', { method: 'PUT', body: 'from the sandbox' });
  await living.request('/files?path=tree/file', { method: 'PUT', body: 'from the sandbox' });
  const child = spawn('python3', ['-c', swapper(local, kept)], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (bytes) => {
    said += bytes;
  });
  const ended = once(child, 'close');
  let over = false;
  void ended.then(() => {
    over = true;
  });
  let copies = 0;
  const work = async (from: string, to: string): Promise<void> => {
    while (!over) {
      await copy(inside.box.url, living, from, to);
      copies += 1;
    }
  };
  await Promise.all([work(local, `${living.id}:taken`), work(`${living.id}:tree`, local), work(join(local, 'file'), `${living.id}:one`)]);
  await ended;
  expect(said).toMatch(/^1000[01]\n$/);
  expect(copies).toBeGreaterThan(20);
  expect(kept.map(fingerprint)).toEqual(before);
  const { body } = await living.json<{ stdout: string }>('/programs', { body: { cmd: 'grep -rl canary taken one; true' } });
  expect(body.stdout).toBe('');
});

function contents(path: string): string[] {
  if (!lstatSync(path).isDirectory()) return [readFileSync(path, 'utf8')];
  return readdirSync(path).flatMap((name) => contents(join(path, name)));
}
