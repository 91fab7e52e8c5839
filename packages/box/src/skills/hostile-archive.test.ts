/** Archives that no packer writes, made byte by byte. Each must be refused before anything of it could land on a disk. */

import { crc32, deflateRawSync, gzipSync } from 'node:zlib';
import { BoxError } from '@skillbox/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxEntries, readArchive } from './archive.ts';

const limits = { maxBytes: 5 * 1024 * 1024 };
const skillMd: Forged = { name: 'SKILL.md', data: '---\nname: x\ndescription: y\n---\n' };

describe('names', () => {
  it.each([
    ['../evil', 'path_traversal'],
    ['a/../../evil', 'path_traversal'],
    ['a\\..\\..\\evil', 'path_traversal'],
    ['..', 'path_traversal'],
    ['../', 'path_traversal'],
    ['__MACOSX/../../evil', 'path_traversal'],
    ['/etc/passwd', 'absolute_path'],
    ['.//etc/passwd', 'absolute_path'],
    ['C:/windows', 'absolute_path'],
    ['c:evil', 'absolute_path'],
    ['a\\b', 'bad_name'],
    ['a//b', 'bad_name'],
    ['a/./b', 'bad_name'],
    ['', 'bad_name'],
    ['a\0.py', 'bad_name'],
    ['a\nb', 'bad_name'],
    ['a\x1b[2Jb', 'bad_name'],
    ['a\u202Egpj.py', 'bad_name'],
    [`${'d/'.repeat(300)}x`, 'bad_name'],
    ['x'.repeat(256), 'bad_name'],
  ])('refuses %j as %s', async (name, category) => {
    expect(await categoriesOf([skillMd, { name }])).toContain(category);
  });

  it('refuses names that are not UTF-8', async () => {
    expect(await categoriesOf([skillMd, { name: Buffer.from([0x61, 0xff, 0xfe]) }])).toEqual(['bad_name']);
  });

  it('refuses a name twice, in another case, in another composition, and a file that is also a folder', async () => {
    expect(await categoriesOf([skillMd, { name: 'a' }, { name: 'a' }])).toEqual(['duplicate']);
    expect(await categoriesOf([skillMd, { name: 'skill.md' }])).toEqual(['duplicate']);
    expect(await categoriesOf([skillMd, { name: 'b/x' }, { name: 'B/y' }])).toEqual(['duplicate']);
    expect(await categoriesOf([skillMd, { name: 'caf\u00e9' }, { name: 'cafe\u0301' }])).toEqual(['duplicate']);
    expect(await categoriesOf([skillMd, { name: 'a' }, { name: 'a/b' }])).toEqual(['duplicate']);
    expect(await categoriesOf([skillMd, { name: 'a/b' }, { name: 'a' }])).toEqual(['duplicate']);
  });

  it('refuses a name that differs between header and directory', async () => {
    expect(await categoriesOf([skillMd, { name: 'good.py', localName: '../../x' }])).toEqual(['malformed']);
  });

  it('never lets an unsafe path through, whatever the name', async () => {
    const part = fc.constantFrom('..', '.', '', 'a', 'SKILL.md', '\\', 'C:', '\0', '~', ' ', 'é');
    await fc.assert(
      fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 6 }), async (parts) => {
        const zip = forge([skillMd, { name: parts.join('/') }]);
        const files = await readArchive(zip, limits).catch((error: unknown) => (error instanceof BoxError ? [] : Promise.reject(error)));
        for (const { path } of files) expect(path).not.toMatch(/^\/|\\|\0|(^|\/)\.{1,2}(\/|$)|^[A-Za-z]:/);
      }),
    );
  });
});

describe('kinds', () => {
  it.each([
    ['a symbolic link', 0o120777, 'link'],
    ['a character device', 0o020666, 'special_file'],
    ['a block device', 0o060666, 'special_file'],
    ['a pipe', 0o010666, 'special_file'],
    ['a socket', 0o140666, 'special_file'],
    ['a folder without a slash', 0o040755, 'malformed'],
  ])('refuses %s, whatever system it claims to come from', async (_, mode, category) => {
    for (const madeBy of [3, 0, 19])
      expect(await categoriesOf([skillMd, { name: 'x', data: '/etc/passwd', mode, madeBy }])).toEqual([category]);
  });

  it('refuses encrypted entries, by either header', async () => {
    expect(await categoriesOf([skillMd, { name: 'x', data: 'y'.repeat(40), flags: 1, method: 8 }])).toEqual(['encrypted']);
    expect(await categoriesOf([skillMd, { name: 'x', data: 'y', localFlags: 1 }])).toEqual(['encrypted']);
    expect(await categoriesOf([skillMd, { name: 'x', data: 'y', flags: 0x41 }])).toEqual(['encrypted']);
  });

  it('refuses unknown compression and folders with contents', async () => {
    expect(await categoriesOf([skillMd, { name: 'x', data: 'y', method: 14 }])).toEqual(['malformed']);
    expect(await categoriesOf([skillMd, { name: 'x/', data: 'y' }])).toEqual(['malformed']);
  });

  it('drops setuid and unknown mode bits', async () => {
    const files = await readArchive(
      forge([skillMd, { name: 'a', mode: 0o106755 }, { name: 'b', mode: 0o100666 }, { name: 'c', mode: 0 }]),
      limits,
    );
    expect(files.map(({ path, mode }) => [path, mode])).toEqual([
      ['SKILL.md', 0o644],
      ['a', 0o755],
      ['b', 0o644],
      ['c', 0o644],
    ]);
  });
});

describe('bombs', () => {
  const zeros = Buffer.alloc(4 * 1024 * 1024);

  it('refuses what is honest about unpacking to too much', async () => {
    expect(await categoriesOf([skillMd, { name: 'x', data: zeros, method: 8 }])).toContain('compression_ratio');
    expect(await categoriesOf([skillMd, { name: 'x', data: zeros }, { name: 'y', data: zeros }], { maxBytes: 9 * 1024 * 1024 })).toEqual(
      [],
    );
    expect(await categoriesOf([skillMd, { name: 'x', declaredSize: 6 * 1024 * 1024, method: 8 }])).toContain('too_large');
  });

  it('refuses many entries that are each within bounds but not together', async () => {
    const part = deflateRawSync(Buffer.alloc(1024 * 1024, 'abcdefgh'));
    const entries = Array.from({ length: 6 }, (_, i) => ({
      name: `f${i}`,
      packed: part,
      data: Buffer.alloc(1024 * 1024, 'abcdefgh'),
      method: 8,
    }));
    expect(await categoriesOf([skillMd, ...entries])).toContain('too_large');
  });

  it('stops inflating at the declared size, so that a lie gains nothing', async () => {
    const before = process.memoryUsage().arrayBuffers;
    const bomb = deflateRawSync(Buffer.alloc(256 * 1024 * 1024));
    expect(await categoriesOf([skillMd, { name: 'x', packed: bomb, declaredSize: 1000, method: 8 }])).toEqual(['compression_ratio']);
    expect(await categoriesOf([skillMd, { name: 'x', packed: bomb, declaredSize: 0, method: 8 }])).toEqual(['compression_ratio']);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(300 * 1024 * 1024);
  });

  it('refuses sizes and checksums that do not match', async () => {
    expect(await categoriesOf([skillMd, { name: 'x', data: 'abc', declaredSize: 5, method: 8 }])).toEqual(['malformed']);
    expect(await categoriesOf([skillMd, { name: 'x', data: 'abc', declaredSize: 2 }])).toEqual(['malformed']);
    expect(await categoriesOf([skillMd, { name: 'x', data: 'abc', crc: 1 }])).toEqual(['malformed']);
    expect(await categoriesOf([skillMd, { name: 'x', packed: Buffer.from('not deflate'), declaredSize: 9, method: 8 }])).toEqual([
      'malformed',
    ]);
  });

  it('refuses entries that share their bytes', async () => {
    const data = Buffer.alloc(60_000, 'x');
    const shared: Forged = { name: 'aaaa', data, method: 8 };
    expect(await categoriesOf([skillMd, shared, { name: 'aaaa', data, method: 8, sameBytesAs: 1 }])).toContain('overlap');
    expect(await categoriesOf([skillMd, shared, { name: 'bbbb', localName: 'aaaa', data, method: 8, sameBytesAs: 1 }])).toContain(
      'overlap',
    );
  });

  it('refuses too many entries, counted or claimed', async () => {
    const many = Array.from({ length: maxEntries }, (_, i) => ({ name: `f${i}` }));
    expect(await categoriesOf(many.slice(1).concat(skillMd as { name: string }))).toEqual([]);
    expect(await categoriesOf([skillMd, ...many])).toEqual(['too_many_entries']);
    expect(await categoriesOfZip(forge([skillMd], { entryCount: 60_000 }))).toEqual(['too_many_entries']);
  });

  it('refuses a compression ratio above 100 even when noise pads the archive', async () => {
    const noise = Buffer.from(Array.from({ length: 500_000 }, (_, i) => (i * 2654435761) >>> 13));
    expect(
      await categoriesOf([skillMd, { name: 'noise', data: noise }, { name: 'zeros', data: zeros.subarray(0, 1 << 20), method: 8 }]),
    ).toEqual(['compression_ratio']);
  });

  it('lets small files of one character through', async () => {
    expect(await categoriesOf([skillMd, { name: 'x', data: Buffer.alloc(60 * 1024), method: 8 }])).toEqual([]);
  });
});

describe('zip64', () => {
  it('believes no size it has not seen', async () => {
    const huge = zip64Extra(2n ** 52n);
    expect(await categoriesOf([skillMd, { name: 'x', data: 'abc', method: 8, declaredSize: 0xffffffff, extra: huge }])).toContain(
      'too_large',
    );
    const small = zip64Extra(10n);
    const bomb = deflateRawSync(Buffer.alloc(1024 * 1024));
    expect(await categoriesOf([skillMd, { name: 'x', packed: bomb, method: 8, declaredSize: 0xffffffff, extra: small }])).toEqual([
      'compression_ratio',
    ]);
    expect(
      await categoriesOf([skillMd, { name: 'x', data: 'abc', method: 8, declaredSize: 0xffffffff, extra: zip64Extra(2n ** 63n) }]),
    ).not.toEqual([]);
    expect(await categoriesOf([skillMd, { name: 'x', data: 'abc', method: 8, declaredSize: 0xffffffff }])).toContain('too_large');
  });
});

describe('nested archives', () => {
  const inner = forge([{ name: 'a' }]);
  const tar = Buffer.concat([Buffer.alloc(257), Buffer.from('ustar\x0000'), Buffer.alloc(248)]);

  it.each<[string, Buffer]>([
    ['a.zip', Buffer.from('only called so')],
    ['lib.TAR.GZ', Buffer.from('x')],
    ['tool.jar', Buffer.from('x')],
    ['pkg.whl', Buffer.from('x')],
    ['picture.png', inner],
    ['empty.bin', forge([])],
    ['data.txt', gzipSync('x')],
    ['data.bin', tar],
    ['main.py', Buffer.concat([Buffer.from('#!/usr/bin/env python3\n'), inner])],
    ['a', Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0])],
    ['b', Buffer.from([0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c, 0])],
    ['c', Buffer.from('Rar!\x1a\x07\x01\0', 'latin1')],
    ['d', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0])],
    ['e', Buffer.concat([Buffer.from('BZh9'), Buffer.from([0x31, 0x41, 0x59, 0x26, 0x53, 0x59, 0])])],
    ['fake.docx', inner],
    ['broken.xlsx', Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(50)])],
    ['carrier.docx', forge([{ name: '[Content_Types].xml' }, { name: 'word/payload.zip' }])],
    ['macros.docm', forge([{ name: '[Content_Types].xml' }])],
  ])('refuses %s', async (name, data) => {
    expect(await categoriesOf([skillMd, { name, data }])).toEqual(['nested_archive']);
  });

  it.each<[string, Buffer]>([
    ['template.docx', forge([{ name: '[Content_Types].xml' }, { name: 'word/document.xml' }])],
    ['sheet.xlsx', forge([{ name: '[Content_Types].xml' }, { name: 'xl/workbook.xml' }])],
    ['deck.pptx', forge([{ name: '[Content_Types].xml' }, { name: 'ppt/embeddings/sheet.xlsx' }])],
    ['letter.odt', forge([{ name: 'mimetype' }, { name: 'content.xml' }])],
    ['notes.md', Buffer.from('PK is a signature; so is PK\x05\x06 in a text.')],
  ])('lets %s through', async (name, data) => {
    expect(await categoriesOf([skillMd, { name, data }])).toEqual([]);
  });
});

describe('what is no archive', () => {
  it.each<[string, Buffer]>([
    ['nothing', Buffer.alloc(0)],
    ['text', Buffer.from('hello')],
    ['a cut archive', forge([skillMd]).subarray(0, 60)],
    ['trailing bytes', Buffer.concat([forge([skillMd]), Buffer.from('x')])],
  ])('answers invalid_skill for %s', async (_, zip) => {
    await expect(readArchive(zip, limits)).rejects.toMatchObject({ code: 'invalid_skill' });
  });

  it('answers too_large before it looks inside', async () => {
    await expect(readArchive(Buffer.alloc(100), { maxBytes: 99 })).rejects.toMatchObject({ code: 'too_large' });
  });

  it('throws nothing but a BoxError for damaged archives', async () => {
    const zip = forge([skillMd, { name: 'scripts/main.py', data: 'print(1)'.repeat(20), method: 8 }]);
    await fc.assert(
      fc.asyncProperty(fc.nat(zip.length - 1), fc.nat(255), async (at, value) => {
        const damaged = Buffer.from(zip);
        damaged[at] = value;
        await readArchive(damaged, limits).catch((error: unknown) => expect(error).toBeInstanceOf(BoxError));
      }),
      { numRuns: 500 },
    );
  });
});

describe('the answer', () => {
  it('names scan, categories and entry', async () => {
    const error = await refusal(forge([skillMd, { name: '../a' }, { name: 'l', mode: 0o120777 }]));
    expect(error).toMatchObject({ code: 'security_scan_failed', status: 422 });
    expect(error?.details).toEqual({
      scan_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      categories: ['path_traversal', 'link'],
      entry: '../a',
    });
    expect(error?.message).toBe('"../a" leads out of the skill with .. (and 1 more).');
  });
});

interface Forged {
  readonly name: string | Buffer;
  readonly data?: string | Buffer;
  /** Compressed bytes, when they are not those of `data`. */
  readonly packed?: Buffer;
  readonly method?: number;
  readonly mode?: number;
  readonly madeBy?: number;
  readonly flags?: number;
  readonly localFlags?: number;
  readonly localName?: string;
  readonly declaredSize?: number;
  readonly crc?: number;
  readonly extra?: Buffer;
  /** Index of the entry whose local header this one points at. */
  readonly sameBytesAs?: number;
}

function forge(entries: readonly Forged[], end: { entryCount?: number } = {}): Buffer {
  const body: Buffer[] = [];
  const directory: Buffer[] = [];
  const offsets: number[] = [];
  let offset = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.name as string);
    const localName = Buffer.from(entry.localName ?? name);
    const data = Buffer.from((entry.data ?? '') as string);
    const method = entry.method ?? 0;
    const packed = entry.packed ?? (method === 8 ? deflateRawSync(data) : data);
    const shared = [entry.flags ?? 0, method, 0, 0x21] as const;
    const sizes = [entry.crc ?? crc32(data), packed.length, entry.declaredSize ?? data.length] as const;
    const at = entry.sameBytesAs === undefined ? offset : (offsets[entry.sameBytesAs] ?? 0);
    offsets.push(at);
    if (entry.sameBytesAs === undefined) {
      const local = Buffer.concat([
        u32(0x04034b50),
        u16(20, entry.localFlags ?? shared[0], shared[1], shared[2], shared[3]),
        u32(...sizes),
        u16(localName.length, 0),
        localName,
        packed,
      ]);
      body.push(local);
      offset += local.length;
    }
    const extra = entry.extra ?? Buffer.alloc(0);
    directory.push(
      Buffer.concat([
        u32(0x02014b50),
        u16(((entry.madeBy ?? 3) << 8) | 20, 20, ...shared),
        u32(...sizes),
        u16(name.length, extra.length, 0, 0, 0),
        u32(((entry.mode ?? 0o100644) << 16) >>> 0, at),
        name,
        extra,
      ]),
    );
  }
  const index = Buffer.concat(directory);
  const count = end.entryCount ?? entries.length;
  return Buffer.concat([...body, index, u32(0x06054b50), u16(0, 0, count, count), u32(index.length, offset), u16(0)]);
}

function zip64Extra(size: bigint): Buffer {
  const value = Buffer.alloc(8);
  value.writeBigUInt64LE(size);
  return Buffer.concat([u16(1, 8), value]);
}

function u16(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  values.forEach((value, i) => {
    bytes.writeUInt16LE(value, i * 2);
  });
  return bytes;
}

function u32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, i) => {
    bytes.writeUInt32LE(value >>> 0, i * 4);
  });
  return bytes;
}

const categoriesOf = (entries: readonly Forged[], with_ = limits) => categoriesOfZip(forge(entries), with_);

async function categoriesOfZip(zip: Buffer, with_ = limits): Promise<unknown[]> {
  const error = await refusal(zip, with_);
  if (error && error.code !== 'security_scan_failed') throw error;
  return error ? (error.details as { categories: unknown[] }).categories : [];
}

async function refusal(zip: Buffer, with_ = limits): Promise<BoxError | undefined> {
  try {
    await readArchive(zip, with_);
    return undefined;
  } catch (error) {
    if (error instanceof BoxError) return error;
    throw error;
  }
}
