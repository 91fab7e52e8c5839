/** A folder as a tar stream. Links are packed as links and never followed, also when somebody changes the folder meanwhile. */

import { once } from 'node:events';
import { constants, type Dirent } from 'node:fs';
import { type FileHandle, lstat, open, readdir, readlink } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { Readable } from 'node:stream';
import { BoxError } from '@skillbox/protocol';
import { type Pack, pack } from 'tar-stream';

export const packLimits = { bytes: 2 ** 30, entries: 100_000 };

/** Of git's own folder nothing is wanted there, and it may hold credentials. */
const leftOut = new Set(['.git']);
const chunkBytes = 256 * 1024;

export function packFolder(root: string, limits = packLimits): Readable {
  const archive = pack();
  const room = { ...limits };
  addFolder(archive, root, root, room).then(
    () => archive.finalize(),
    (error: Error) => archive.destroy(error),
  );
  // tar-stream brings streams of its own kind, which pipelines of Node do not take for what they are.
  return Readable.from(archive as AsyncIterable<Buffer>, { objectMode: false });
}

async function addFolder(archive: Pack, root: string, folder: string, room: { bytes: number; entries: number }): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (leftOut.has(entry.name)) continue;
    room.entries -= 1;
    if (room.entries < 0) throw tooLarge(root);
    await addEntry(archive, root, join(folder, entry.name), entry, room);
  }
}

async function addEntry(archive: Pack, root: string, path: string, entry: Dirent, room: { bytes: number; entries: number }): Promise<void> {
  const name = relative(root, path);
  if (entry.isDirectory()) {
    const { mode } = await lstat(path);
    await added(archive, { name, type: 'directory', mode: (mode & 0o777) | 0o700 });
    return addFolder(archive, root, path, room);
  }
  if (entry.isSymbolicLink()) {
    const target = await readlink(path);
    if (!isInside(root, resolve(path, '..', target)))
      throw new BoxError('forbidden', `The policy refuses this project: the link ${name} leads out of it.`);
    return added(archive, { name, type: 'symlink', linkname: target });
  }
  if (!entry.isFile()) throw new BoxError('bad_request', `${name} is neither a file nor a folder nor a link.`);
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    await addFile(archive, root, name, file, room);
  } finally {
    await file.close();
  }
}

async function addFile(archive: Pack, root: string, name: string, file: FileHandle, room: { bytes: number }): Promise<void> {
  // A folder above it may have become a link since it was listed: what counts is what was opened.
  const where = await readlink(`/proc/self/fd/${file.fd}`);
  const { size, mode } = await file.stat();
  if (!isInside(root, where)) throw new BoxError('forbidden', `${name} is not in the folder any more.`);
  room.bytes -= size;
  if (room.bytes < 0) throw tooLarge(root);
  await added(archive, { name, size, mode: mode & 0o777 }, contentOf(file, size));
}

/** Just as much as the header says: a file that grows meanwhile would end up in the next one's name. */
async function* contentOf(file: FileHandle, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < size; ) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(Math.min(chunkBytes, size - at)), 0, undefined, at);
    if (bytesRead === 0) throw new BoxError('bad_request', 'A file became shorter while it was copied.');
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

function added(archive: Pack, header: Parameters<Pack['entry']>[0], content?: AsyncIterable<Buffer>): Promise<void> {
  return new Promise((resolve, reject) => {
    const entry = archive.entry(header, (error) => (error ? reject(error) : resolve()));
    const closed = new Promise<never>((_, stop) => entry.once('close', () => stop(new Error('nobody reads any more'))));
    // Only those who wait for room need to hear of it.
    closed.catch(() => undefined);
    const fill = async (): Promise<void> => {
      for await (const chunk of content ?? []) if (!entry.write(chunk)) await Promise.race([once(entry, 'drain'), closed]);
      entry.end(undefined);
    };
    fill().catch(reject);
  });
}

const isInside = (root: string, path: string): boolean => path === root || path.startsWith(root + sep);

const tooLarge = (root: string): BoxError =>
  new BoxError(
    'too_large',
    `The folder ${root} is too large to copy: at most ${packLimits.entries} files and ${packLimits.bytes / 2 ** 30} GiB.`,
    {
      hint: 'Name the address of a repository instead, which the host clones.',
    },
  );
