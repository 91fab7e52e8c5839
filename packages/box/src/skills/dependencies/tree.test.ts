import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { type Header, pack } from 'tar-stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { repackTree, unpackTree } from './tree.ts';

const limits = { maxBytes: 10_000, maxEntries: 20 };
type Entry = Partial<Header> & { name: string; body?: string };

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tree-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function tarOf(entries: readonly Entry[]): Readable {
  const archive = pack();
  for (const { body = '', ...header } of entries) {
    if (header.type === undefined || header.type === 'file') archive.entry(header, body);
    else archive.entry(header);
  }
  archive.finalize();
  return Readable.from(archive);
}

async function throughBoth(entries: readonly Entry[], folder = 'out'): Promise<{ bytes: number; files: number }> {
  const { size, stored } = await repackTree(tarOf(entries), limits, async (stream) => Buffer.concat(await stream.toArray()));
  await unpackTree(Readable.from([stored]), join(root, folder), limits);
  return size;
}

describe('a tree of dependencies', () => {
  it('comes out as it went in: files, folders, links inside, and who may execute', async () => {
    const size = await throughBoth([
      { name: './', type: 'directory' },
      { name: './pkg/', type: 'directory' },
      { name: './pkg/main.js', body: 'x', mode: 0o4777 },
      { name: './pkg/data', body: 'yy', mode: 0o600 },
      { name: './.bin/', type: 'directory' },
      { name: './.bin/pkg', type: 'symlink', linkname: '../pkg/main.js' },
      { name: './deep/er/file', body: 'z' },
      { name: './same', type: 'symlink', linkname: 'pkg' },
    ]);
    expect(size).toEqual({ bytes: 4, files: 3 });
    const out = join(root, 'out');
    expect(readdirSync(out).sort()).toEqual(['.bin', 'deep', 'pkg', 'same']);
    expect(readFileSync(join(out, '.bin/pkg'), 'utf8')).toBe('x');
    expect(readlinkSync(join(out, 'same'))).toBe('pkg');
    expect(lstatSync(join(out, 'pkg/main.js')).mode & 0o7777).toBe(0o755);
    expect(lstatSync(join(out, 'pkg/data')).mode & 0o7777).toBe(0o644);
    expect(lstatSync(out).mode & 0o7777).toBe(0o755);
  });

  it.each<[string, Entry[]]>([
    ['a step up', [{ name: '../evil', body: 'x' }]],
    ['a step up further back', [{ name: 'a/../../evil', body: 'x' }]],
    ['an absolute path', [{ name: '/evil', body: 'x' }]],
    ['a link to an absolute path', [{ name: 'link', type: 'symlink', linkname: '/etc/passwd' }]],
    ['a link that leads out', [{ name: 'a/link', type: 'symlink', linkname: '../../evil' }]],
    ['a link whose steps up start from another link', [{ name: 'a/b/link', type: 'symlink', linkname: 'x/../../y' }]],
    ['a link to nothing', [{ name: 'link', type: 'symlink', linkname: '' }]],
    [
      'a file below a link',
      [
        { name: 'link', type: 'symlink', linkname: 'a' },
        { name: 'link/file', body: 'x' },
      ],
    ],
    [
      'a file below a file',
      [
        { name: 'a', body: 'x' },
        { name: 'a/b', body: 'x' },
      ],
    ],
    [
      'a name twice',
      [
        { name: 'a', body: 'x' },
        { name: 'a', body: 'y' },
      ],
    ],
    [
      'a link in place of a folder',
      [
        { name: 'a/b', body: 'x' },
        { name: 'a', type: 'symlink', linkname: 'b' },
      ],
    ],
    ['a hard link', [{ name: 'a', type: 'link', linkname: 'b' }]],
    ['a pipe', [{ name: 'a', type: 'fifo' }]],
    ['a device', [{ name: 'a', type: 'character-device', devmajor: 1, devminor: 3 }]],
    ['a name with a control character', [{ name: 'a\u0007b', body: 'x' }]],
    ['too many bytes', [{ name: 'a', body: 'x'.repeat(10_001) }]],
    ['too many entries', Array.from({ length: 21 }, (_, index) => ({ name: `f${index}`, body: '' }))],
    ['too many folders that nothing but a path names', [{ name: `${'d/'.repeat(30)}f`, body: '' }]],
  ])('is refused with %s, on the way in and on the way out, and leaves nothing', async (_what, entries) => {
    const failure = { code: 'dependencies_failed' };
    await expect(throughBoth(entries)).rejects.toMatchObject(failure);
    const packed = gzipSync(Buffer.concat(await tarOf(entries).toArray()));
    await expect(unpackTree(Readable.from([packed]), join(root, 'out'), limits)).rejects.toMatchObject(failure);
    expect(readdirSync(root)).toEqual([]);
  });

  it('ends with the reason of the store when that refuses', async () => {
    const store = async (stream: Readable): Promise<never> => {
      stream.destroy();
      throw Object.assign(new Error('full'), { code: 'too_large' });
    };
    await expect(repackTree(tarOf([{ name: 'a', body: 'x' }]), limits, store)).rejects.toThrow();
  });

  it('is refused when it is cut off', async () => {
    const whole = Buffer.concat(await tarOf([{ name: 'a', body: 'x'.repeat(2000) }]).toArray());
    const store = async (stream: Readable) => stream.toArray();
    await expect(repackTree(Readable.from([whole.subarray(0, 1000)]), limits, store)).rejects.toThrow();
  });
});
