/** Streams go to a temporary file first: only at their end are the digest and the size known. */

import { createHash, randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type BlobInfo, checkSize } from './blobs.ts';

/** A stream that is alive writes more often than this. */
const abandonedMs = 60 * 60 * 1000;

export interface Spooled extends BlobInfo {
  readonly path: string;
}

/** The caller moves or removes the file; when this throws, it has been removed. */
export async function spool(source: Readable, folder: string, maxBytes: number | undefined): Promise<Spooled> {
  const path = join(folder, spoolName());
  const hash = createHash('sha256');
  let size = 0;
  const measure = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      try {
        checkSize(size, maxBytes);
      } catch (error) {
        return done(error as Error);
      }
      hash.update(chunk);
      done(null, chunk);
    },
  });
  try {
    await pipeline(source, measure, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
  return { path, digest: hash.digest('hex'), size };
}

export const spoolName = (): string => randomBytes(12).toString('hex');

/** Removes what a crash left behind. Goes by age, since another server may be writing into the same folder. */
export async function sweepSpool(folder: string, olderThanMs = abandonedMs): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const modified = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      // Moved to its place by its writer between readdir and stat.
      () => Number.POSITIVE_INFINITY,
    );
    if (modified < Date.now() - olderThanMs) await rm(path, { force: true });
  }
}
