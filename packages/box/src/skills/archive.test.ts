import { execFileSync } from 'node:child_process';
import { chmod, lstat, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ZipFile } from 'yazl';
import { digestOf, packArchive, readArchive, readFolder, type SkillFile, unpackTo } from './archive.ts';

const limits = { maxBytes: 1024 * 1024 };
let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'skill-archive-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

describe('readArchive', () => {
  it('finds SKILL.md at the top and one folder down, and drops what desktops leave', async () => {
    const junk = { '__MACOSX/._SKILL.md': 'x', '.DS_Store': 'x', 'scripts/Thumbs.db': 'x', 'scripts/__pycache__/a.pyc': 'x' };
    for (const prefix of ['', 'my-skill/']) {
      const names = Object.fromEntries(
        Object.entries({ 'SKILL.md': 'a', 'scripts/main.py': 'b', ...junk }).map(([k, v]) => [prefix + k, v]),
      );
      const files = await readArchive(await zipOf({ ...names, '__MACOSX/x': 'x' }), limits);
      expect(files.map(({ path }) => path)).toEqual(['SKILL.md', 'scripts/main.py']);
    }
  });

  it.each([
    [{ 'a/b/SKILL.md': '' }, /no SKILL\.md/],
    [{ 'skill.md': '' }, /no SKILL\.md/],
    [{ 'a/SKILL.md': '', 'b/SKILL.md': '' }, /several skills: a\/, b\//],
    [{ 'a/SKILL.md': '', 'README.md': '' }, /"README\.md" beside/],
    [{ 'a/SKILL.md': '', 'ab/x': '' }, /"ab\/x" beside/],
  ])('says what is wrong with %j', async (files, message) => {
    await expect(readArchive(await zipOf(files), limits)).rejects.toThrow(message);
  });

  it('reads what Info-ZIP-like packers write, with folders and a leading ./', async () => {
    const zip = new ZipFile();
    zip.addEmptyDirectory('s/');
    zip.addEmptyDirectory('s/assets/');
    zip.addBuffer(Buffer.from('x'), 's/SKILL.md');
    zip.end();
    expect((await readArchive(await bytesOf(zip), limits)).map(({ path }) => path)).toEqual(['SKILL.md']);
  });

  it('reads archives of Python', async () => {
    const source = join(dir, 'source');
    await mkdir(source);
    await writeFile(join(source, 'SKILL.md'), 'x');
    await writeFile(join(source, 'ünï.txt'), 'y');
    const out = join(dir, 'out');
    execFileSync('python3', ['-c', 'import shutil,sys; shutil.make_archive(sys.argv[1], "zip", sys.argv[2])', out, source]);
    const files = await readArchive(await readFile(`${out}.zip`), limits);
    expect(files.map(({ path }) => path)).toEqual(['SKILL.md', 'ünï.txt']);
  });
});

describe('packArchive and digestOf', () => {
  const path = fc.stringMatching(/^[a-z]{1,6}(\/[a-z]{1,6}){0,2}\.txt$/);
  const file = fc.record({
    path,
    mode: fc.constantFrom(0o644, 0o755),
    data: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from([7, ...bytes])),
  });
  const files = fc
    .uniqueArray(file, { selector: (item) => item.path, maxLength: 8 })
    .map((items) => [...items, { path: 'SKILL.md', mode: 0o644, data: Buffer.from('x') }])
    .filter((items) => !items.some((a) => items.some((b) => b.path.startsWith(`${a.path}/`))));

  it('give back what was packed, in the same bytes whatever the order', async () => {
    await fc.assert(
      fc.asyncProperty(files, async (given) => {
        const zip = await packArchive(given);
        expect(await packArchive([...given].reverse())).toEqual(zip);
        const read = await readArchive(zip, limits);
        expect(digestOf(read)).toBe(digestOf(given));
        expect(new Set(read.map((item) => item.path))).toEqual(new Set(given.map((item) => item.path)));
      }),
      { numRuns: 50 },
    );
  });

  it('name contents, not how they were packed', () => {
    const a: SkillFile = { path: 'a', mode: 0o644, data: Buffer.from('bc') };
    expect(digestOf([a])).not.toBe(digestOf([{ ...a, path: 'ab', data: Buffer.from('c') }]));
    expect(digestOf([a])).not.toBe(digestOf([{ ...a, mode: 0o755 }]));
    expect(digestOf([a])).toBe(digestOf([{ ...a, mode: 0o600 }]));
  });

  it('pack very regular files so that they can be pushed', async () => {
    const regular = { path: 'assets/blank.csv', mode: 0o644, data: Buffer.alloc(500_000, ',') };
    const zip = await packArchive([{ path: 'SKILL.md', mode: 0o644, data: Buffer.from('x') }, regular]);
    expect((await readArchive(zip, limits)).at(-1)?.data.equals(regular.data)).toBe(true);
  });

  it('do not depend on the time zone', async () => {
    const before = process.env.TZ;
    const one = [{ path: 'SKILL.md', mode: 0o644, data: Buffer.from('x') }];
    try {
      process.env.TZ = 'Pacific/Auckland';
      const far = await packArchive(one);
      process.env.TZ = 'America/Anchorage';
      expect(await packArchive(one)).toEqual(far);
    } finally {
      if (before === undefined) delete process.env.TZ;
      else process.env.TZ = before;
    }
  });
});

describe('readFolder', () => {
  it('reads files, keeps the executable bit, leaves out .git and caches', async () => {
    for (const sub of ['scripts', '.git', 'scripts/__pycache__']) await mkdir(join(dir, sub));
    for (const name of ['SKILL.md', 'scripts/main.sh', '.git/config', 'scripts/__pycache__/x.pyc', '.DS_Store', '.env.example'])
      await writeFile(join(dir, name), name);
    await chmod(join(dir, 'scripts/main.sh'), 0o700);
    const files = await readFolder(dir, limits);
    expect(files.map(({ path, mode, data }) => [path, mode, data.toString()])).toEqual([
      ['.env.example', 0o644, '.env.example'],
      ['SKILL.md', 0o644, 'SKILL.md'],
      ['scripts/main.sh', 0o755, 'scripts/main.sh'],
    ]);
  });

  it('refuses links, pipes, archives and too much', async () => {
    const categories = () => readFolder(dir, { maxBytes: 1000, maxEntries: 3 }).catch((error) => error.details.categories);
    await symlink('/etc/passwd', join(dir, 'link'));
    expect(await categories()).toEqual(['link']);
    await rm(join(dir, 'link'));
    await symlink('/etc', join(dir, 'link'));
    expect(await categories()).toEqual(['link']);
    await rm(join(dir, 'link'));
    execFileSync('mkfifo', [join(dir, 'pipe')]);
    expect(await categories()).toEqual(['special_file']);
    await rm(join(dir, 'pipe'));
    await writeFile(join(dir, 'a.zip'), 'x');
    expect(await categories()).toEqual(['nested_archive']);
    await rm(join(dir, 'a.zip'));
    await writeFile(join(dir, 'big'), Buffer.alloc(1001));
    expect(await categories()).toEqual(['too_large']);
    await rm(join(dir, 'big'));
    for (const name of ['a', 'b', 'c', 'd']) await writeFile(join(dir, name), '');
    expect(await categories()).toEqual(['too_many_entries']);
  });
});

describe('unpackTo', () => {
  const files = [
    { path: 'SKILL.md', mode: 0o644, data: Buffer.from('x') },
    { path: 'a/b/run.sh', mode: 0o755, data: Buffer.from('y') },
  ];

  it('writes files with plain modes, whatever the umask', async () => {
    const before = process.umask(0o077);
    try {
      await unpackTo(files, join(dir, 'out'));
    } finally {
      process.umask(before);
    }
    const modes = await Promise.all(
      ['', 'SKILL.md', 'a', 'a/b', 'a/b/run.sh'].map(async (path) => (await lstat(join(dir, 'out', path))).mode & 0o7777),
    );
    expect(modes).toEqual([0o755, 0o644, 0o755, 0o755, 0o755]);
    expect(digestOf(await readFolder(join(dir, 'out'), limits))).toBe(digestOf(files));
  });

  it('writes only into a folder of its own', async () => {
    await mkdir(join(dir, 'there'));
    await expect(unpackTo(files, join(dir, 'there'))).rejects.toMatchObject({ code: 'EEXIST' });
    await symlink(join(dir, 'there'), join(dir, 'link'));
    await expect(unpackTo(files, join(dir, 'link'))).rejects.toMatchObject({ code: 'EEXIST' });
  });

  it('refuses unsafe paths and leaves nothing of a failed write', async () => {
    const bad = { path: '../out', mode: 0o644, data: Buffer.from('x') };
    await expect(unpackTo([...files, bad], join(dir, 'out'))).rejects.toMatchObject({ code: 'security_scan_failed' });
    const clash = { path: 'SKILL.md/x', mode: 0o644, data: Buffer.from('x') };
    await expect(unpackTo([...files, clash], join(dir, 'out'))).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(lstat(join(dir, 'out'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

async function zipOf(files: Record<string, string>): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [path, text] of Object.entries(files)) zip.addBuffer(Buffer.from(text), path);
  zip.end();
  return bytesOf(zip);
}

async function bytesOf(zip: ZipFile): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of zip.outputStream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
