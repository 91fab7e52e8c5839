import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { writeArtifacts } from './folders.ts';

let root: string;
let out: string;
let outside: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'skillbox-folders-'));
  [out, outside] = [join(root, 'out'), join(root, 'outside')];
  mkdirSync(outside);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const artifact = (path: string) => ({ path, size: 4, sha256: createHash('sha256').update('data').digest('hex') });
const says = (text: string, before = (): void => undefined) =>
  new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        before();
        controller.enqueue(Buffer.from(text));
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );

/** What a program beside the download does to a folder of it. */
function swap(name: string): void {
  renameSync(join(out, name), join(out, 'moved'));
  symlinkSync(outside, join(out, name));
}

it('writes below the folder, also when that is a link of the caller', async () => {
  mkdirSync(join(root, 'real'));
  symlinkSync(join(root, 'real'), out);
  expect(await writeArtifacts([artifact('a/b/c.txt'), artifact('d.txt')], out, async () => says('data'))).toEqual([
    join(out, 'a/b/c.txt'),
    join(out, 'd.txt'),
  ]);
  expect(readFileSync(join(root, 'real/a/b/c.txt'), 'utf8')).toBe('data');
  expect(readdirSync(join(root, 'real/a/b'))).toEqual(['c.txt']);
});

it.each(['../a', '/etc/a', 'a/../../b', 'a//b', './a', 'a\\b', 'C:a', 'a\0b', ''])('refuses %j before anything is written', async (bad) => {
  await expect(writeArtifacts([artifact('fine.txt'), artifact(bad)], out, async () => says('data'))).rejects.toThrow('could lead out');
  expect(readdirSync(root)).toEqual(['outside']);
});

it('does not follow links that are there', async () => {
  mkdirSync(out);
  writeFileSync(join(outside, 'kept.txt'), 'kept');
  symlinkSync(outside, join(out, 'link'));
  symlinkSync(join(outside, 'kept.txt'), join(out, 'b.txt'));
  await expect(writeArtifacts([artifact('link/a.txt')], out, async () => says('data'))).rejects.toThrow('link is a link');
  await writeArtifacts([artifact('b.txt')], out, async () => says('data'));
  expect(readFileSync(join(outside, 'kept.txt'), 'utf8')).toBe('kept');
  expect(readFileSync(join(out, 'b.txt'), 'utf8')).toBe('data');
  expect(readdirSync(outside)).toEqual(['kept.txt']);
});

it.each(['before its first byte', 'before its last'])('does not follow one that takes the place of a folder %s', async (when) => {
  const read = async () => {
    if (when === 'before its first byte') swap('sub');
    return says('data', () => when === 'before its last' && swap('sub'));
  };
  await expect(writeArtifacts([artifact('sub/a.txt')], out, read)).rejects.toThrow('was replaced while it was written');
  expect(readdirSync(outside)).toEqual([]);
});

it('does not follow one that takes the place of the whole folder', async () => {
  const read = async () => {
    renameSync(out, join(root, 'moved'));
    symlinkSync(outside, out);
    return says('data');
  };
  await expect(writeArtifacts([artifact('sub/a.txt')], out, read)).rejects.toThrow('was replaced while it was written');
  expect(readdirSync(outside)).toEqual([]);
});

it('leaves the old file when it arrives otherwise than sent', async () => {
  mkdirSync(out);
  writeFileSync(join(out, 'a.txt'), 'old');
  await expect(writeArtifacts([artifact('a.txt')], out, async () => says('dat!'))).rejects.toThrow('did not arrive');
  expect(readdirSync(out)).toEqual(['a.txt']);
  expect(readFileSync(join(out, 'a.txt'), 'utf8')).toBe('old');
});

it('keeps no folder open', async () => {
  await writeArtifacts([artifact('a/b/c.txt'), artifact('d/e.txt')], out, async () => says('data'));
  await expect(writeArtifacts([artifact('a/b/x.txt')], out, async () => says('bad!'))).rejects.toThrow('did not arrive');
  const held = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      // The one that listed them is closed.
      return '';
    }
  });
  expect(held.filter((path) => path.startsWith(out))).toEqual([]);
});
