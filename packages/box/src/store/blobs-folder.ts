import { createHash } from 'node:crypto';
import { closeSync, constants, fsyncSync, mkdirSync, openSync, renameSync, rmSync, utimesSync, writeSync } from 'node:fs';
import { access, mkdir, open, opendir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import { type BlobInfo, type Blobs, checkDigest, checkSize, digestPattern, type ListedBlob, missingBlob } from './blobs.ts';
import { spool, spoolName, sweepSpool } from './spool.ts';

/** Below this, writing at once is quicker than four trips through the thread pool, and too short to hold up others. */
const smallBytes = 256 * 1024;

/** Blobs under `root`/ab/cd/abcd…; `root`/tmp is on the same file system, so that a rename makes a blob appear whole or not at all. */
export async function openFolderBlobs(root: string): Promise<Blobs> {
  const tmp = join(root, 'tmp');
  await mkdir(tmp, { recursive: true, mode: 0o700 });
  await sweepSpool(tmp);
  const pathOf = (digest: string) => {
    checkDigest(digest);
    return join(root, digest.slice(0, 2), digest.slice(2, 4), digest);
  };

  async function putBuffer(content: Buffer, maxBytes: number | undefined, durable: boolean): Promise<BlobInfo> {
    checkSize(content.length, maxBytes);
    const info = { digest: createHash('sha256').update(content).digest('hex'), size: content.length };
    const path = pathOf(info.digest);
    // What lies there may have been put without being durable.
    if (!durable && touch(path)) return info;
    const temporary = join(tmp, spoolName());
    if (content.length <= smallBytes) writeSmall(content, temporary, path, durable);
    else await writeLarge(content, temporary, path, durable);
    return info;
  }

  return {
    async put(source, { maxBytes, durable = false } = {}) {
      try {
        if (Buffer.isBuffer(source)) return await putBuffer(source, maxBytes, durable);
        const { path, digest, size } = await spool(source, tmp, maxBytes);
        await moveInto(path, pathOf(digest), durable);
        return { digest, size };
      } catch (error) {
        throw isDiskTrouble(error) ? diskTrouble(`A blob cannot be written: ${(error as Error).message}.`, error) : error;
      }
    },

    async get(digest) {
      const file = await open(pathOf(digest)).catch((cause) => {
        throw failure(digest, cause);
      });
      return file.createReadStream();
    },

    async read(digest) {
      return readFile(pathOf(digest)).catch((cause) => {
        throw failure(digest, cause);
      });
    },

    async has(digest) {
      return stat(pathOf(digest)).then(
        () => true,
        (cause) => {
          if (isMissing(cause)) return false;
          throw failure(digest, cause);
        },
      );
    },

    async size(digest) {
      const { size } = await stat(pathOf(digest)).catch((cause) => {
        throw failure(digest, cause);
      });
      return size;
    },

    async delete(digest) {
      await rm(pathOf(digest), { force: true });
    },

    list: () => walk(root),

    async ping() {
      await access(root, constants.W_OK | constants.X_OK).catch((cause) => {
        throw diskTrouble(`The blob folder cannot be written: ${(cause as Error).message}.`, cause);
      });
    },
  };
}

function writeSmall(content: Buffer, temporary: string, path: string, durable: boolean): void {
  const file = openSync(temporary, 'wx', 0o600);
  try {
    try {
      for (let written = 0; written < content.length; ) written += writeSync(file, content, written);
      if (durable) fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameIntoSync(temporary, path);
    if (durable) syncFolderOf(path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

async function writeLarge(content: Buffer, temporary: string, path: string, durable: boolean): Promise<void> {
  try {
    const file = await open(temporary, 'wx', 0o600);
    await file.writeFile(content).finally(() => file.close());
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await moveInto(temporary, path, durable);
}

async function moveInto(temporary: string, path: string, durable: boolean): Promise<void> {
  try {
    if (durable) {
      const file = await open(temporary, 'r+');
      await file.sync().finally(() => file.close());
    }
    try {
      await rename(temporary, path);
    } catch (error) {
      if (!isMissing(error)) throw error;
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await rename(temporary, path);
    }
    if (durable) syncFolderOf(path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

function renameIntoSync(temporary: string, path: string): void {
  try {
    renameSync(temporary, path);
  } catch (error) {
    if (!isMissing(error)) throw error;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    renameSync(temporary, path);
  }
}

/** The name of a file is kept by its folder, and the fan-out folders may be new as well. */
function syncFolderOf(path: string): void {
  for (const folder of [dirname(path), dirname(dirname(path)), dirname(dirname(dirname(path)))]) {
    const handle = openSync(folder, 'r');
    try {
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
  }
}

/** False when there is nothing to touch. */
function touch(path: string): boolean {
  const now = new Date();
  try {
    utimesSync(path, now, now);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

async function* walk(root: string): AsyncIterable<ListedBlob> {
  for await (const entry of await opendir(root, { recursive: true })) {
    if (!entry.isFile() || !digestPattern.test(entry.name)) continue;
    try {
      const { size, mtime } = await stat(join(entry.parentPath, entry.name));
      yield { digest: entry.name, size, modifiedAt: mtime };
    } catch (error) {
      // Deleted while we walk.
      if (!isMissing(error)) throw error;
    }
  }
}

function failure(digest: string, cause: unknown): BoxError {
  if (isMissing(cause)) return missingBlob(digest, cause);
  return diskTrouble(`Blob ${digest} cannot be read: ${(cause as Error).message}.`, cause);
}

function diskTrouble(message: string, cause: unknown): BoxError {
  return new BoxError('unavailable', message, { cause, hint: 'Look at free space and permissions of blobs/ in the state root.' });
}

/** Errors of the disk, as opposed to those of the stream that is being stored. */
function isDiskTrouble(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EACCES', 'EPERM', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '');
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
