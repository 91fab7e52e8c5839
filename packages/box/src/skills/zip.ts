/** Reads a zip that may be hostile. Names, kinds and declared sizes are checked before a byte is inflated, and inflating stops at the declared size. */

import { promisify } from 'node:util';
import { crc32, inflateRaw } from 'node:zlib';
import { BoxError } from '@skillbox/protocol';
import { type Entry, fromBufferPromise, type ZipFile } from 'yauzl';
import { isJunk, NameSet, pathProblem } from './path.ts';
import type { Scan } from './scan.ts';

export interface ZipLimits {
  /** Unpacked, all files together. */
  readonly maxBytes: number;
  readonly maxEntries: number;
  /** Unpacked to packed, from `ratioFloor` bytes on: small files of one character are no bombs. */
  readonly maxRatio: number;
  readonly ratioFloor: number;
}

export interface ZipFileEntry {
  readonly path: string;
  readonly executable: boolean;
  readonly data: Buffer;
}

/** Every regular file, without junk. Throws security_scan_failed, or invalid_skill for what is no zip at all. */
export async function readZip(zip: Buffer, limits: ZipLimits, scan: Scan): Promise<ZipFileEntry[]> {
  const archive = await openZip(zip);
  if (archive.entryCount > limits.maxEntries) {
    scan.fail('too_many_entries', null, `has ${archive.entryCount} entries; at most ${limits.maxEntries} are allowed`);
  }
  const planned = await planEntries(archive, limits, scan);
  const total = planned.reduce((sum, { entry }) => sum + entry.uncompressedSize, 0);
  if (total > limits.ratioFloor && total > limits.maxRatio * zip.length) {
    scan.add('compression_ratio', null, `would unpack to more than ${limits.maxRatio} times its size`);
  }
  checkOverlap(planned, scan);
  scan.settle();

  const files: ZipFileEntry[] = [];
  for (const item of planned) {
    if (item.folder || isJunk(item.path)) continue;
    files.push({ path: item.path, executable: item.executable, data: await extract(zip, item, scan) });
  }
  return files;
}

/** Names in the central directory; throws when it is no readable zip. */
export async function listZipNames(zip: Buffer, maxNames: number): Promise<string[]> {
  const archive = await fromBufferPromise(zip, { decodeStrings: false });
  const names: string[] = [];
  for await (const entry of archive.eachEntry()) {
    names.push(entry.fileNameRaw.toString('utf8'));
    if (names.length > maxNames) throw new RangeError(`more than ${maxNames} entries`);
  }
  return names;
}

interface Planned {
  readonly path: string;
  readonly folder: boolean;
  readonly executable: boolean;
  readonly entry: Entry;
  /** Where the entry lies in the zip: header, data, end. */
  readonly start: number;
  readonly dataStart: number;
  readonly end: number;
}

const inflate = promisify(inflateRaw) as (data: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const methodStored = 0;
const methodDeflated = 8;
const flagEncrypted = 0x1;
const typeMask = 0o170000;
const types = { regular: 0o100000, folder: 0o040000, link: 0o120000 } as const;

async function openZip(zip: Buffer): Promise<ZipFile> {
  try {
    return await fromBufferPromise(zip, { decodeStrings: false });
  } catch (error) {
    throw new BoxError('invalid_skill', `The upload is not a readable zip archive: ${reasonOf(error)}`, {
      hint: 'Make it with skillbox skill package, or zip -r skill.zip FOLDER.',
      cause: error,
    });
  }
}

/** One pass over the central directory that collects every problem it can see. */
async function planEntries(archive: ZipFile, limits: ZipLimits, scan: Scan): Promise<Planned[]> {
  const planned: Planned[] = [];
  const names = new NameSet();
  let declared = 0;
  try {
    for await (const entry of archive.eachEntry()) {
      const item = await planEntry(archive, entry, limits, scan);
      if (!item) continue;
      declared += entry.uncompressedSize;
      if (declared > limits.maxBytes) scan.fail('too_large', item.path, `brings the unpacked size above ${limits.maxBytes} bytes`);
      const twin = item.folder || isJunk(item.path) ? undefined : names.add(item.path);
      if (twin !== undefined) scan.add('duplicate', item.path, `has the same name as ${JSON.stringify(twin)}, or differs only in case`);
      planned.push(item);
    }
  } catch (error) {
    if (error instanceof BoxError) throw error;
    const reason = reasonOf(error);
    scan.fail(reason.includes('encryption') ? 'encrypted' : 'malformed', null, `is damaged or forged: ${reason}`);
  }
  return planned;
}

async function planEntry(archive: ZipFile, entry: Entry, limits: ZipLimits, scan: Scan): Promise<Planned | undefined> {
  const name = decodeName(entry.fileNameRaw);
  if (name === undefined) {
    scan.add('bad_name', entry.fileNameRaw.toString('latin1'), 'has a name that is not UTF-8');
    return undefined;
  }
  const folder = name.endsWith('/');
  const path = name.replace(/^(\.\/)+/, '').replace(/\/$/, '');
  if (path === '' && folder && name.startsWith('.')) return undefined;
  const problem = pathProblem(path);
  if (problem) scan.add(problem.category, name, problem.message);
  checkKind(entry, name, folder, scan);
  checkRatio(entry, name, limits, scan);

  const header = await archive.readLocalFileHeaderPromise(entry);
  if (!header.fileName.equals(entry.fileNameRaw)) scan.add('malformed', name, 'has another name in its own header than in the directory');
  if (header.generalPurposeBitFlag & flagEncrypted) scan.add('encrypted', name, 'is encrypted');
  return {
    path,
    folder,
    entry,
    executable: ((entry.externalFileAttributes >>> 16) & 0o111) !== 0,
    start: entry.relativeOffsetOfLocalHeader,
    dataStart: header.fileDataStart,
    end: header.fileDataStart + entry.compressedSize,
  };
}

/** The kind is taken from the Unix mode whatever system the entry claims to come from, as some unpackers do. */
function checkKind(entry: Entry, name: string, folder: boolean, scan: Scan): void {
  const type = (entry.externalFileAttributes >>> 16) & typeMask;
  if (type === types.link) scan.add('link', name, 'is a symbolic link');
  else if (type !== 0 && type !== types.regular && type !== types.folder) scan.add('special_file', name, 'is a device, pipe or socket');
  else if (type === types.folder && !folder) scan.add('malformed', name, 'claims to be a folder but has the name of a file');
  if (folder && entry.uncompressedSize > 0) scan.add('malformed', name, 'is a folder with contents');
  if (entry.generalPurposeBitFlag & flagEncrypted) scan.add('encrypted', name, 'is encrypted');
  if (entry.compressionMethod !== methodStored && entry.compressionMethod !== methodDeflated) {
    scan.add('malformed', name, `uses compression method ${entry.compressionMethod}; only stored and deflated are read`);
  }
}

function checkRatio(entry: Entry, name: string, limits: ZipLimits, scan: Scan): void {
  if (entry.uncompressedSize > limits.ratioFloor && entry.uncompressedSize > limits.maxRatio * entry.compressedSize) {
    scan.add('compression_ratio', name, `would unpack to more than ${limits.maxRatio} times its size`);
  }
}

/** Entries that share bytes make small archives unpack to much: no honest packer writes them. */
function checkOverlap(planned: readonly Planned[], scan: Scan): void {
  let end = 0;
  for (const item of [...planned].sort((a, b) => a.start - b.start)) {
    if (item.start < end) scan.add('overlap', item.path, 'shares bytes of the archive with another entry');
    end = Math.max(end, item.end);
  }
}

/** Inflates to no more than the declared size: what lies about it is refused, not cut. */
async function extract(zip: Buffer, { path, entry, dataStart, end }: Planned, scan: Scan): Promise<Buffer> {
  const packed = zip.subarray(dataStart, end);
  const data = entry.compressionMethod === methodStored ? Buffer.from(packed) : await inflateEntry(packed, path, entry, scan);
  if (data.length !== entry.uncompressedSize) scan.fail('malformed', path, 'does not have the size that the archive declares');
  if (crc32(data) !== entry.crc32) scan.fail('malformed', path, 'does not have the checksum that the archive declares');
  return data;
}

async function inflateEntry(packed: Buffer, path: string, entry: Entry, scan: Scan): Promise<Buffer> {
  try {
    return await inflate(packed, { maxOutputLength: Math.max(1, entry.uncompressedSize) });
  } catch (error) {
    if (error instanceof RangeError) scan.fail('compression_ratio', path, 'unpacks to more bytes than the archive declares');
    scan.fail('malformed', path, `cannot be unpacked: ${reasonOf(error)}`);
  }
}

function decodeName(raw: Buffer): string | undefined {
  try {
    return utf8.decode(raw);
  } catch {
    // Not UTF-8: the caller records it, with the raw bytes.
    return undefined;
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
