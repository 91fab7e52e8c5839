/**
 * Folders that are held open while they are worked in, so that only single names are ever looked up: whoever can write there may plant
 * or swap links as fast as they like, and still nothing leads the host elsewhere.
 */

import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  type Stats,
  unlinkSync,
} from 'node:fs';
import { BoxError } from '@skillbox/protocol';
import type { Owner } from './inside-owner.ts';

/** A descriptor of a folder. */
export type Held = number;

const asFolder = constants.O_RDONLY | constants.O_DIRECTORY;
/** Deeper than any tree that means well; each level holds a descriptor. */
const maxDepth = 200;

/** Follows links: only for folders that the host itself named. */
export const holdFolder = (path: string): Held => openSync(path, asFolder);

/** The path of a name in it, for any call that takes paths. */
export function within(folder: Held, name: string): string {
  if (name === '' || name === '.' || name === '..' || name.includes('/') || name.includes('\0'))
    throw new BoxError('bad_request', `${JSON.stringify(name)} is no name of a file.`);
  return `/proc/self/fd/${folder}/${name}`;
}

/** undefined when there is no folder of that name, or a link or something else in its place. */
export function holdChild(folder: Held, name: string): Held | undefined {
  const path = within(folder, name);
  try {
    // An error for each of thousands that are not there would cost ten times what the look does.
    if (!lstatSync(path, { throwIfNoEntry: false })) return undefined;
    return openSync(path, asFolder | constants.O_NOFOLLOW);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** The same, made when it is not there; throws when something else is in its place. */
export function makeChild(folder: Held, name: string, owner: Owner | undefined, mode = 0o755): Held {
  const there = holdChild(folder, name);
  if (there !== undefined) return there;
  let made = false;
  try {
    mkdirSync(within(folder, name), { mode });
    made = true;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    // Made by somebody else meanwhile, or no folder: what it is shows next.
  }
  const child = openSync(within(folder, name), asFolder | constants.O_NOFOLLOW);
  if (made) {
    try {
      fchmodSync(child, mode);
      if (owner) fchownSync(child, owner.uid, owner.gid);
    } catch (error) {
      closeSync(child);
      throw error;
    }
  }
  return child;
}

/** Of the name itself, never of what a link leads to. */
export function entryIn(folder: Held, name: string): Stats | undefined {
  try {
    return lstatSync(within(folder, name), { throwIfNoEntry: false });
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

export const namesIn = (folder: Held): string[] => readdirSync(`/proc/self/fd/${folder}`);

/** For reading; undefined when there is no regular file of that name. A FIFO in its place makes nobody wait. */
export function openFileIn(folder: Held, name: string): number | undefined {
  let fd: number;
  try {
    fd = openSync(within(folder, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (isAbsent(error) || codeOf(error) === 'ENXIO') return undefined;
    throw error;
  }
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  return undefined;
}

/** A new file; whatever had the name makes it fail. */
export function createFileIn(folder: Held, name: string, mode: number, owner: Owner | undefined): number {
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
  const fd = openSync(within(folder, name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    if (owner) fchownSync(fd, owner.uid, owner.gid);
    fchmodSync(fd, mode);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

export const renameIn = (folder: Held, from: string, to: string): void => renameSync(within(folder, from), within(folder, to));

/** With everything below it; links are removed, not followed. Whether there was something. */
export function removeIn(folder: Held, name: string, depth = 0): boolean {
  try {
    unlinkSync(within(folder, name));
    return true;
  } catch (error) {
    if (isAbsent(error)) return false;
    if (codeOf(error) !== 'EISDIR' && codeOf(error) !== 'EPERM') throw error;
  }
  if (depth === maxDepth) throw new BoxError('sync_failed', `${name} has more than ${maxDepth} folders in each other; it was not removed.`);
  const child = holdChild(folder, name);
  if (child === undefined) return false;
  try {
    for (const inner of namesIn(child)) removeIn(child, inner, depth + 1);
  } finally {
    closeSync(child);
  }
  rmdirSync(within(folder, name));
  return true;
}

export const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

/** Nothing there, or a link or a file where a folder should be. */
export const isAbsent = (error: unknown): boolean => ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(codeOf(error) ?? '');
