/** A skill as a list of files: read from an untrusted zip or a folder, packed, named by its contents, written out. */

import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, lstat, mkdir, open, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { deflateRaw } from 'node:zlib';
import { BoxError } from '@skillbox/protocol';
import { ZipFile } from 'yazl';
import { nestedArchiveKind } from './nested-archive.ts';
import { isJunk, NameSet, pathProblem } from './path.ts';
import { Scan } from './scan.ts';
import { readZip } from './zip.ts';

export interface SkillFile {
  /** Relative to the skill's root, with forward slashes. */
  readonly path: string;
  /** 0o755 when it was executable, else 0o644. */
  readonly mode: number;
  readonly data: Buffer;
}

/** Sorted by path. */
export type SkillFiles = readonly SkillFile[];

export interface ArchiveLimits {
  /** Most bytes, packed and unpacked. */
  readonly maxBytes: number;
  readonly maxEntries?: number;
}

export const maxEntries = 500;
export const maxRatio = 100;
/** Below this size the ratio says nothing: 50 KB of spaces are no bomb. */
export const ratioFloor = 64 * 1024;

/** Checks and unpacks an upload in memory; nothing of it touches the disk. */
export async function readArchive(zip: Buffer, limits: ArchiveLimits): Promise<SkillFiles> {
  if (zip.length > limits.maxBytes) {
    throw new BoxError('too_large', `The archive has ${zip.length} bytes; at most ${limits.maxBytes} are allowed.`);
  }
  const scan = new Scan();
  const entries = await readZip(
    zip,
    { maxBytes: limits.maxBytes, maxEntries: limits.maxEntries ?? maxEntries, maxRatio, ratioFloor },
    scan,
  );
  await checkNested(entries, scan);
  return stripRoot(entries.map(({ path, executable, data }) => ({ path, mode: executable ? 0o755 : 0o644, data })));
}

/** The folder's files under the same rules as an upload. Leftovers such as .git and __pycache__ are left out. */
export async function readFolder(dir: string, limits: ArchiveLimits): Promise<SkillFiles> {
  const scan = new Scan();
  const files: SkillFile[] = [];
  const names = new NameSet();
  const most = limits.maxEntries ?? maxEntries;
  let bytes = 0;
  for await (const { path, mode, size } of walk(dir, '', scan)) {
    if (files.length >= most) scan.fail('too_many_entries', path, `is one file too many; at most ${most} are allowed`);
    bytes += size;
    if (bytes > limits.maxBytes) scan.fail('too_large', path, `brings the size above ${limits.maxBytes} bytes`);
    const problem = pathProblem(path);
    if (problem) scan.add(problem.category, path, problem.message);
    const twin = names.add(path);
    if (twin !== undefined) scan.add('duplicate', path, `has the same name as ${JSON.stringify(twin)}, or differs only in case`);
    files.push({ path, mode: mode & 0o111 ? 0o755 : 0o644, data: await readPlainFile(join(dir, path), size) });
  }
  await checkNested(files, scan);
  return sorted(files);
}

/** The same bytes for the same files, whatever they were read from. */
export async function packArchive(files: SkillFiles): Promise<Buffer> {
  const zip = new ZipFile();
  for (const { path, mode, data } of sorted(files)) {
    zip.addBuffer(data, path, {
      mode: mode | constants.S_IFREG,
      // yazl writes local time: a date made of local parts gives the same bytes in every time zone.
      mtime: new Date(2000, 0, 1),
      forceDosTimestamp: true,
      compress: await isWorthCompressing(data),
    });
  }
  zip.end();
  const chunks: Buffer[] = [];
  for await (const chunk of zip.outputStream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** SHA-256 over paths, executable or not, and contents. */
export function digestOf(files: SkillFiles): string {
  const hash = createHash('sha256');
  for (const { path, mode, data } of sorted(files)) {
    // Lengths first: without them two lists of files could be read as one.
    hash.update(`${Buffer.byteLength(path)} ${mode & 0o111 ? 'x' : '-'} ${data.length}\n${path}`).update(data);
  }
  return hash.digest('hex');
}

/** Writes the files into a folder that must not exist yet, and leaves none when it fails. */
export async function unpackTo(files: SkillFiles, dir: string): Promise<void> {
  for (const { path } of files) {
    const problem = pathProblem(path);
    if (problem) new Scan().fail(problem.category, path, problem.message);
  }
  await makeFolder(dir);
  try {
    const made = new Set(['.']);
    for (const { path, mode, data } of sorted(files)) {
      await makeParents(dir, dirname(path), made);
      const file = await open(join(dir, path), constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
      try {
        await file.writeFile(data);
        await file.chmod(mode & 0o111 ? 0o755 : 0o644);
      } finally {
        await file.close();
      }
    }
  } catch (error) {
    await rm(dir, { recursive: true, force: true });
    throw error;
  }
}

const deflate = promisify(deflateRaw) as (data: Buffer) => Promise<Buffer>;

const sorted = (files: SkillFiles): SkillFile[] => [...files].sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));

async function checkNested(files: readonly { path: string; data: Buffer }[], scan: Scan): Promise<void> {
  for (const { path, data } of files) {
    const kind = await nestedArchiveKind(path, data);
    if (kind) scan.add('nested_archive', path, `is an archive inside the skill (${kind}); ship the files themselves`);
  }
  scan.settle();
}

/** Files relative to where SKILL.md is: the top, or the single folder there. */
function stripRoot(files: readonly SkillFile[]): SkillFiles {
  if (files.some(({ path }) => path === 'SKILL.md')) return sorted(files);
  const roots = files.filter(({ path }) => /^[^/]+\/SKILL\.md$/.test(path)).map(({ path }) => path.slice(0, -'SKILL.md'.length));
  const [root] = roots;
  if (root === undefined) {
    throw new BoxError('invalid_skill', 'The archive has no SKILL.md at its top or one folder down.', {
      hint: 'Pack the folder that has SKILL.md in it; the name is in capitals.',
    });
  }
  if (roots.length > 1) {
    throw new BoxError('invalid_skill', `The archive has several skills: ${roots.join(', ')}`, { hint: 'Push them one by one.' });
  }
  const stray = files.find(({ path }) => !path.startsWith(root));
  if (stray) {
    throw new BoxError('invalid_skill', `The archive has ${JSON.stringify(stray.path)} beside the skill's folder ${root}`, {
      hint: 'Pack only the folder of the skill.',
    });
  }
  return sorted(files.map((file) => ({ ...file, path: file.path.slice(root.length) })));
}

interface FolderEntry {
  readonly path: string;
  readonly mode: number;
  readonly size: number;
}

async function* walk(dir: string, prefix: string, scan: Scan): AsyncGenerator<FolderEntry> {
  for (const name of (await readdir(join(dir, prefix))).sort()) {
    const path = prefix ? `${prefix}/${name}` : name;
    if (isJunk(path)) continue;
    const stats = await lstat(join(dir, path));
    if (stats.isDirectory()) yield* walk(dir, path, scan);
    else if (stats.isFile()) yield { path, mode: stats.mode, size: stats.size };
    else if (stats.isSymbolicLink()) scan.fail('link', path, 'is a symbolic link');
    else scan.fail('special_file', path, 'is a device, pipe or socket');
  }
}

/** Reads no more than was counted, and nothing but the file that was looked at. */
async function readPlainFile(path: string, size: number): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const data = Buffer.alloc(size);
    let length = 0;
    while (length < size) {
      const { bytesRead } = await file.read(data, length, size - length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return data.subarray(0, length);
  } finally {
    await file.close();
  }
}

/** What compresses beyond the ratio that readArchive accepts is stored, so that every honest folder can be pushed. */
async function isWorthCompressing(data: Buffer): Promise<boolean> {
  if (data.length <= ratioFloor) return data.length > 0;
  return (await deflate(data)).length * maxRatio > data.length;
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(path);
  // The mode given to mkdir is cut by the umask.
  await chmod(path, 0o755);
}

async function makeParents(dir: string, parent: string, made: Set<string>): Promise<void> {
  if (made.has(parent)) return;
  await makeParents(dir, dirname(parent), made);
  await makeFolder(join(dir, parent));
  made.add(parent);
}
