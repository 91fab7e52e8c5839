/**
 * SHA-256 of files. Of large ones it is remembered together with what the file system says of the file, so that looking at a box costs no
 * reading of gigabytes; sync keeps what it knows for the next process.
 */

import { createHash } from 'node:crypto';
import { type BigIntStats, closeSync, fstatSync, mkdirSync, read } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readJsonFile, writePrivateFile } from '../../private-file.ts';
import type { Place } from '../graph.ts';
import { openAt } from '../place.ts';
import { graphFolder } from '../runtime.ts';

const readSome = promisify(read);
const largeBytes = 1n * 2n ** 20n;
const mostKept = 5000;

export interface Digests {
  /** undefined when there is no file. */
  of(place: Place): Promise<string | undefined>;
  /** Of a descriptor, from where it stands. */
  ofOpen(fd: number): Promise<string>;
  /** What was just written there. */
  learn(place: Place, digest: string): void;
  /** For the next process; only sync does it. */
  keep(): void;
}

export function openDigests(stateRoot: string): Digests {
  const file = join(graphFolder(stateRoot), 'digests.json');
  let known: Map<string, string> | undefined;
  let news = false;
  const all = (): Map<string, string> => {
    known ??= new Map(
      Object.entries(readJsonFile<Record<string, string>>(file) ?? {}).filter(([, digest]) => /^[0-9a-f]{64}$/.test(digest)),
    );
    return known;
  };
  const remember = (stats: BigIntStats, digest: string): void => {
    if (stats.size < largeBytes || all().get(nameOf(stats)) === digest) return;
    all().set(nameOf(stats), digest);
    news = true;
  };
  const ofOpen = async (fd: number): Promise<string> => {
    const stats = fstatSync(fd, { bigint: true });
    const remembered = stats.size < largeBytes ? undefined : all().get(nameOf(stats));
    if (remembered !== undefined) return remembered;
    const digest = await hash(fd);
    // It may have been written while it was read.
    if (nameOf(fstatSync(fd, { bigint: true })) === nameOf(stats)) remember(stats, digest);
    return digest;
  };
  return {
    ofOpen,
    async of(place) {
      const fd = openAt(place);
      if (fd === undefined) return undefined;
      try {
        return await ofOpen(fd);
      } finally {
        closeSync(fd);
      }
    },
    learn(place, digest) {
      const fd = openAt(place);
      if (fd === undefined) return;
      try {
        remember(fstatSync(fd, { bigint: true }), digest);
      } finally {
        closeSync(fd);
      }
    },
    keep() {
      if (!news) return;
      news = false;
      mkdirSync(graphFolder(stateRoot), { recursive: true, mode: 0o700 });
      writePrivateFile(file, JSON.stringify(Object.fromEntries([...all()].slice(-mostKept))));
    },
  };
}

/** A file that was changed has another time of change, which nobody can set. */
const nameOf = ({ ctimeNs, dev, ino, mtimeNs, size }: BigIntStats): string => [dev, ino, size, mtimeNs, ctimeNs].join(':');

async function hash(fd: number): Promise<string> {
  const digest = createHash('sha256');
  const part = Buffer.allocUnsafe(256 * 1024);
  for (let position = 0; ; ) {
    const { bytesRead } = await readSome(fd, part, 0, part.length, position);
    if (bytesRead === 0) return digest.digest('hex');
    digest.update(part.subarray(0, bytesRead));
    position += bytesRead;
  }
}
