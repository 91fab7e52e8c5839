/**
 * Installed dependencies as a tar: what comes out of a build sandbox is hostile, so every entry is looked at before it is packed
 * again, and once more before it is written. Nothing here follows a link.
 */

import { constants } from 'node:fs';
import { chmod, mkdir, open, rm, symlink } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { BoxError } from '@skillbox/protocol';
import { extract, type Header, type Pack, pack } from 'tar-stream';
import { pathProblem } from '../path.ts';

export interface TreeLimits {
  readonly maxBytes: number;
  readonly maxEntries: number;
}

export interface TreeSize {
  readonly bytes: number;
  readonly files: number;
}

type Entry =
  | { readonly type: 'directory'; readonly path: string }
  | { readonly type: 'file'; readonly path: string; readonly mode: number; readonly size: number }
  | { readonly type: 'symlink'; readonly path: string; readonly target: string };

/** Compressing less takes a third of the time for a tenth more bytes. */
const compression = { level: 4 };

/** A tar of a folder, checked and packed anew: `stored` is called with a tar.gz of plain files, folders and links inside. */
export async function repackTree<T>(
  source: Readable,
  limits: TreeLimits,
  store: (packed: Readable) => Promise<T>,
): Promise<{ size: TreeSize; stored: T }> {
  const archive = pack();
  const gzip = createGzip(compression);
  const packing = pipeline(archive, gzip);
  const storing = store(gzip);
  // Who fails first is thrown below; the others must not count as unhandled until then.
  packing.catch(() => undefined);
  storing.catch((error: Error) => archive.destroy(error));
  try {
    const size = await readTree(source, limits, async (entry, content) => {
      const header = headerOf(entry);
      if (entry.type === 'file') await pipeline(content, archive.entry(header));
      else await addBare(archive, header);
    });
    archive.finalize();
    await packing;
    return { size, stored: await storing };
  } catch (error) {
    archive.destroy(error as Error);
    const trouble: unknown = await storing.catch((reason: unknown) => reason);
    // One of the two broke the other; what was thrown on purpose says why.
    throw !(error instanceof BoxError) && trouble instanceof BoxError ? trouble : error;
  }
}

/** Writes a packed tree into a folder that must not exist yet, and leaves none when it fails. */
export async function unpackTree(packed: Readable, folder: string, limits: TreeLimits): Promise<void> {
  await mkdir(folder);
  try {
    await chmod(folder, 0o755);
    const gunzip = createGunzip();
    const unpacking = pipeline(packed, gunzip);
    unpacking.catch(() => undefined);
    const made = new Set<string>(['.']);
    await readTree(gunzip, limits, async (entry, content) => {
      await makeParents(folder, entry.type === 'directory' ? entry.path : dirname(entry.path), made);
      const path = join(folder, entry.path);
      if (entry.type === 'symlink') await symlink(entry.target, path);
      if (entry.type === 'file') await writeNew(path, entry.mode, content);
    });
    await unpacking;
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

async function readTree(source: Readable, limits: TreeLimits, take: (entry: Entry, content: Readable) => Promise<void>): Promise<TreeSize> {
  const tar = extract();
  const reading = pipeline(source, tar);
  reading.catch(() => undefined);
  const seen = new Map<string, Entry['type']>([['.', 'directory']]);
  let bytes = 0;
  let files = 0;
  for await (const content of tar) {
    const entry = checkEntry(content.header, seen);
    if (entry) {
      if (seen.size > limits.maxEntries) throw refused(entry.path, `is one entry too many; at most ${limits.maxEntries} are allowed`);
      if (entry.type === 'file') {
        bytes += entry.size;
        files += 1;
      }
      if (bytes > limits.maxBytes) throw refused(entry.path, `brings the size above ${limits.maxBytes} bytes`);
      await take(entry, content as unknown as Readable);
    }
    content.resume();
  }
  await reading;
  return { bytes, files };
}

/** undefined for the folder itself and for folders that were there already. */
function checkEntry(header: Header, seen: Map<string, Entry['type']>): Entry | undefined {
  const path = header.name.replace(/^(\.\/)+/, '').replace(/\/+$/, '');
  if (path === '' || path === '.') return undefined;
  const problem = pathProblem(path);
  if (problem) throw refused(path, problem.message);
  for (let parent = dirname(path); parent !== '.'; parent = dirname(parent)) {
    const kind = seen.get(parent);
    if (kind !== undefined && kind !== 'directory') throw refused(path, `is below ${JSON.stringify(parent)}, which is no folder`);
    seen.set(parent, 'directory');
  }
  const entry = entryOf(path, header);
  const known = seen.get(path);
  if (known === 'directory' && entry.type === 'directory') return undefined;
  if (known !== undefined) throw refused(path, 'is there twice');
  seen.set(path, entry.type);
  return entry;
}

function entryOf(path: string, { type, mode, size, linkname }: Header): Entry {
  if (type === 'directory') return { type, path };
  if (type === 'file' || type === 'contiguous-file') return { type: 'file', path, mode: mode & 0o111 ? 0o755 : 0o644, size };
  if (type !== 'symlink') throw refused(path, `is a ${type ?? 'thing of no known kind'}`);
  const target = linkname ?? '';
  // Steps up only at the front: further back they would start from wherever a link before them leads.
  const plain =
    target !== '' &&
    !target.startsWith('/') &&
    !target.includes('\0') &&
    /^(\.\.\/)*(\.\.|(?!\.\.(\/|$))[^/]+(\/(?!\.\.(\/|$))[^/]+)*\/?)$/.test(target);
  if (!plain || posix.join(dirname(path), target).split('/')[0] === '..') throw refused(path, 'is a link that may lead out of the folder');
  return { type, path, target };
}

const addBare = (archive: Pack, header: HeaderFields): Promise<void> =>
  new Promise((resolve, reject) => archive.entry(header, (error) => (error ? reject(error) : resolve())));

type HeaderFields = Partial<Header> & Pick<Header, 'name'>;

function headerOf(entry: Entry): HeaderFields {
  const common = { name: entry.path, mtime: new Date(0), uid: 0, gid: 0 };
  if (entry.type === 'file') return { ...common, type: 'file', mode: entry.mode, size: entry.size };
  if (entry.type === 'symlink') return { ...common, type: 'symlink', mode: 0o777, linkname: entry.target, size: 0 };
  return { ...common, type: 'directory', mode: 0o755, size: 0 };
}

async function makeParents(folder: string, path: string, made: Set<string>): Promise<void> {
  if (made.has(path)) return;
  await makeParents(folder, dirname(path), made);
  await mkdir(join(folder, path));
  // The mode given to mkdir is cut by the umask.
  await chmod(join(folder, path), 0o755);
  made.add(path);
}

async function writeNew(path: string, mode: number, content: Readable): Promise<void> {
  const file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
  try {
    await file.chmod(mode);
    for await (const chunk of content) await file.write(chunk as Buffer);
  } finally {
    await file.close();
  }
}

function refused(path: string, why: string): BoxError {
  return new BoxError('dependencies_failed', `The installed ${JSON.stringify(path.slice(0, 200))} ${why}.`);
}
