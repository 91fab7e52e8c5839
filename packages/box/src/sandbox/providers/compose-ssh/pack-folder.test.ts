import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { packFolder } from './pack-folder.ts';

describe('a folder that is packed', () => {
  let folder: string;
  let root: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sb-pack-'));
    root = join(folder, 'project');
    mkdirSync(join(root, 'deep/er'), { recursive: true });
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('arrives whole, with modes and links, and without what is git’s own', async () => {
    writeFileSync(join(root, 'deep/er/large'), Buffer.alloc(3_000_000, 'x'));
    writeFileSync(join(root, 'empty'), '');
    writeFileSync(join(root, `${'n'.repeat(120)}ü`), 'long name');
    writeFileSync(join(root, 'run.sh'), 'echo');
    chmodSync(join(root, 'run.sh'), 0o755);
    symlinkSync('deep/er', join(root, 'link'));
    mkdirSync(join(root, '.git'));
    writeFileSync(join(root, '.git/config'), 'password');
    const out = join(folder, 'out');
    mkdirSync(out);
    execFileSync('tar', ['-x', '-C', out], { input: await buffer(packFolder(root)) });
    execFileSync('diff', ['-r', '--no-dereference', '--exclude=.git', root, out]);
    expect(statSync(join(out, 'run.sh')).mode & 0o777).toBe(0o755);
    expect(readlinkSync(join(out, 'link'))).toBe('deep/er');
    expect(() => readFileSync(join(out, '.git/config'))).toThrow('ENOENT');
  });

  it.each(['/etc/passwd', '../outside', 'deep/../../outside'])('is refused when a link in it leads to %s', async (target) => {
    symlinkSync(target, join(root, 'link'));
    await expect(buffer(packFolder(root))).rejects.toMatchObject({ code: 'forbidden', message: expect.stringContaining('link') });
  });

  it('is refused when it is too large, or has what is no file', async () => {
    writeFileSync(join(root, 'a'), 'xxxx');
    writeFileSync(join(root, 'b'), 'xxxx');
    await expect(buffer(packFolder(root, { bytes: 7, entries: 10 }))).rejects.toMatchObject({ code: 'too_large' });
    await expect(buffer(packFolder(root, { bytes: 100, entries: 3 }))).rejects.toMatchObject({ code: 'too_large' });
    execFileSync('mkfifo', [join(root, 'pipe')]);
    await expect(buffer(packFolder(root))).rejects.toMatchObject({ code: 'bad_request' });
  });
});
