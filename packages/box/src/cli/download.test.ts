import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { downloadArtifacts } from './download.ts';

let base = '';
let folder = '';
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'skillbox-download-'));
  folder = join(base, 'out');
});
afterEach(() => rmSync(base, { recursive: true }));

const artifact = (path: string, text = path) => ({
  path,
  size: Buffer.byteLength(text),
  sha256: createHash('sha256').update(text).digest('hex'),
});
async function* bytes(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text.slice(0, 2));
  yield Buffer.from(text.slice(2));
}
const download = (paths: string[], text?: string) =>
  downloadArtifacts(
    paths.map((path) => artifact(path)),
    folder,
    async ({ path }) => bytes(text ?? path),
  );

describe('downloadArtifacts', () => {
  it('writes files and folders, and replaces what was there', async () => {
    mkdirSync(folder);
    writeFileSync(join(folder, 'a.txt'), 'old');
    expect(await download(['a.txt', 'sub/deep/b c.txt'])).toEqual([join(folder, 'a.txt'), join(folder, 'sub/deep/b c.txt')]);
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('a.txt');
    expect(readFileSync(join(folder, 'sub/deep/b c.txt'), 'utf8')).toBe('sub/deep/b c.txt');
    expect(readdirSync(folder).sort()).toEqual(['a.txt', 'sub']);
  });

  it.each(['../evil', '/etc/evil', 'a/../../evil', './evil', 'a//evil', 'a/', 'evil\0', ''])(
    'refuses %j and writes nothing at all',
    async (path) => {
      await expect(download(['good.txt', path])).rejects.toMatchObject({ code: 'usage' });
      expect(existsSync(folder)).toBe(false);
      expect(readdirSync(base)).toEqual([]);
    },
  );

  it('does not follow a link on the way', async () => {
    mkdirSync(folder);
    mkdirSync(join(base, 'elsewhere'));
    symlinkSync(join(base, 'elsewhere'), join(folder, 'sub'));
    await expect(download(['sub/a.txt'])).rejects.toThrow('is a link');
    expect(readdirSync(join(base, 'elsewhere'))).toEqual([]);
  });

  it('replaces a link at the target instead of writing through it', async () => {
    mkdirSync(folder);
    writeFileSync(join(base, 'precious'), 'keep');
    symlinkSync(join(base, 'precious'), join(folder, 'a.txt'));
    await download(['a.txt']);
    expect(readFileSync(join(base, 'precious'), 'utf8')).toBe('keep');
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('a.txt');
  });

  it('leaves the old file when what arrives is not what was announced', async () => {
    mkdirSync(folder);
    writeFileSync(join(folder, 'a.txt'), 'old');
    for (const wrong of ['a.tx', 'b.txt', 'a.txt and more']) {
      await expect(download(['a.txt'], wrong)).rejects.toThrow('did not arrive whole');
    }
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('old');
    expect(readdirSync(folder)).toEqual(['a.txt']);
  });

  it('says so when a folder stands where a file should', async () => {
    mkdirSync(join(folder, 'a.txt'), { recursive: true });
    await expect(download(['a.txt'])).rejects.toThrow('is a folder');
    await expect(download(['b/c', 'b/c/d'])).rejects.toThrow('is not a folder');
  });
});
