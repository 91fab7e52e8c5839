/**
 * Files at a place of the graph. On the host's own ground they are written as usual; what the workspace can write is never followed:
 * link by link from its root, refusing links, so that nothing inside can lead the host elsewhere.
 */

import { closeSync, constants, fstatSync, fsyncSync, mkdirSync, openSync, readSync, type Stats, statSync, writeSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import { draftName, draftOf, hasMaker } from './drafts.ts';
import type { Place } from './graph.ts';
import {
  createFileIn,
  entryIn,
  type Held,
  holdChild,
  holdFolder,
  isAbsent,
  makeChild,
  namesIn,
  openFileIn,
  removeIn,
  renameIn,
} from './held.ts';
import { insideOwner, type Owner } from './inside-owner.ts';

export interface WriteOptions {
  readonly mode: number;
}

/** What a file of settings may have; what is larger is not read into memory. */
const maxReadBytes = 16 * 2 ** 20;

/** On the host's own ground. */
export const hostFile = (path: string): Place => ({ path, hostPath: path, inside: false });

/** undefined when there is nothing or no file, or when the way there leads over a link inside. */
export function readAt(place: Place, maxBytes = maxReadBytes): Buffer | undefined {
  const fd = openAt(place);
  if (fd === undefined) return undefined;
  try {
    return readWhole(fd, place, maxBytes);
  } finally {
    closeSync(fd);
  }
}

/** Whole or not at all; makes the folders above. */
export function writeAt(place: Place, content: Buffer | string, options: WriteOptions): void {
  const draft = draftAt(place, options);
  try {
    let rest = Buffer.from(content);
    while (rest.length > 0) rest = rest.subarray(writeSync(draft.fd, rest));
    draft.commit();
  } catch (error) {
    draft.discard();
    throw error;
  }
}

/** Inside, a link counts as something that is there, and is not followed. */
export const existsAt = (place: Place): boolean => statAt(place) !== undefined;

/** Inside: of the name itself, never of what a link leads to. */
export function statAt(place: Place): Stats | undefined {
  if (!place.inside) return statOrNothing(place.hostPath);
  return inParent(place, (parent, name) => (name === undefined ? fstatSync(parent) : entryIn(parent, name)));
}

export function makeFolderAt(place: Place): void {
  if (!place.inside) {
    mkdirSync(place.hostPath, { recursive: true });
    return;
  }
  const { root, names } = wayTo(place);
  closeSync(makeWay(root, names, insideOwner()));
}

/** With everything below it. Whether there was something. */
export function removeAt(place: Place): boolean {
  return inParent(place, (parent, name) => name !== undefined && removeIn(parent, name)) ?? false;
}

/** undefined when there is no folder. */
export function namesAt(place: Place): string[] | undefined {
  const folder = holdAt(place);
  if (folder === undefined) return undefined;
  try {
    return namesIn(folder);
  } finally {
    closeSync(folder);
  }
}

/** The folder itself, held until it is closed; undefined when there is none. */
export function holdAt(place: Place): Held | undefined {
  if (place.inside) return inParent(place, (parent, name) => (name === undefined ? reopen(parent) : holdChild(parent, name)));
  try {
    return holdFolder(place.hostPath);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** A regular file, for reading; undefined when there is none. */
export function openAt(place: Place): number | undefined {
  if (place.inside) return inParent(place, (parent, name) => (name === undefined ? undefined : openFileIn(parent, name)));
  let fd: number;
  try {
    if (!statSync(place.hostPath, { throwIfNoEntry: false })) return undefined;
    fd = openSync(place.hostPath, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  return undefined;
}

/** Something new that is not in its place yet. */
export interface Draft {
  /** The file to write, or the folder to fill. */
  readonly fd: number;
  /** Where it lies on the host meanwhile. Inside, only for who resolves it link by link. */
  readonly path: string;
  /** To whom what is made in it belongs. */
  readonly owner: Owner | undefined;
  /** In the place of what is there, at once. Closes it. */
  commit(): void;
  /** As if it had never been. */
  discard(): void;
}

/** Beside its place, so that a rename brings it there; what a killed process left of the same is swept away. */
export function draftAt(place: Place, { mode }: WriteOptions): Draft {
  const owner = place.inside ? insideOwner() : undefined;
  return draft(place, owner, (parent, name) => createFileIn(parent, name, mode, owner), fsyncSync);
}

export function draftFolderAt(place: Place, mode = 0o755): Draft {
  const owner = place.inside ? insideOwner() : undefined;
  return draft(
    place,
    owner,
    (parent, name) => makeChild(parent, name, owner, mode),
    () => undefined,
  );
}

function draft(place: Place, owner: Owner | undefined, make: (parent: Held, name: string) => number, settle: (fd: number) => void): Draft {
  const name = basename(place.hostPath);
  const parent = makeParent(place, owner);
  const fresh = draftName(name, 'new');
  let fd: number;
  try {
    sweep(parent, name);
    fd = make(parent, fresh);
  } catch (error) {
    closeSync(parent);
    throw error;
  }
  let open = true;
  const close = (): void => {
    if (open) closeSync(fd);
    open = false;
  };
  return {
    fd,
    path: join(dirname(place.hostPath), fresh),
    owner,
    commit() {
      settle(fd);
      close();
      putInPlace(parent, fresh, name);
      closeSync(parent);
    },
    discard() {
      close();
      removeIn(parent, fresh);
      closeSync(parent);
    },
  };
}

/** A folder cannot be renamed over one that holds something: that one steps aside first. */
function putInPlace(parent: Held, fresh: string, name: string): void {
  const isFolder = entryIn(parent, fresh)?.isDirectory() ?? false;
  const old = entryIn(parent, name);
  if (!isFolder && !old?.isDirectory()) {
    renameIn(parent, fresh, name);
    return;
  }
  if (!isFolder) throw new BoxError('sync_failed', `There is a folder at ${name}, where a file should be.`, { hint: 'Move it away.' });
  const aside = draftName(name, 'old');
  if (old) renameIn(parent, name, aside);
  renameIn(parent, fresh, name);
  if (old) removeIn(parent, aside);
}

/** What processes that live no more began there, of one name. */
function sweep(parent: Held, name: string): void {
  sweepWhere(parent, (of) => of === name);
}

/** The same of every name in a folder: who was killed after the last step has nothing to do there again that would clear it. */
export function sweepAt(folder: Place): void {
  const held = holdAt(folder);
  if (held === undefined) return;
  try {
    sweepWhere(held, () => true);
  } finally {
    closeSync(held);
  }
}

function sweepWhere(parent: Held, isMeant: (name: string) => boolean): void {
  for (const entry of namesIn(parent)) {
    const left = draftOf(entry);
    if (left && isMeant(left.name) && (left.pid === process.pid || !hasMaker(left))) removeIn(parent, entry);
  }
}

function makeParent(place: Place, owner: Owner | undefined): Held {
  if (place.inside) {
    const { root, names } = wayTo(place);
    if (names.length === 0) throw new BoxError('sync_failed', `${place.path} is a root of the workspace, not something in it.`);
    return makeWay(root, names.slice(0, -1), owner);
  }
  const parent = dirname(place.hostPath);
  mkdirSync(parent, { recursive: true });
  return holdFolder(parent);
}

function makeWay(root: string, names: readonly string[], owner: Owner | undefined): Held {
  mkdirSync(root, { recursive: true });
  let folder = holdFolder(root);
  for (const name of names) {
    let next: Held;
    try {
      next = makeChild(folder, name, owner);
    } catch (error) {
      if (!isAbsent(error)) throw error;
      throw new BoxError('sync_failed', `${name} on the way there is a link or a file, and what the workspace can write is not followed.`, {
        hint: 'Make it a folder, or declare another path.',
        cause: error,
      });
    } finally {
      closeSync(folder);
    }
    folder = next;
  }
  return folder;
}

/** In the folder that holds it; undefined when the way there leads over a link or over nothing. Without a name: the root itself. */
function inParent<T>(place: Place, work: (parent: Held, name: string | undefined) => T): T | undefined {
  const { root, names } = place.inside ? wayTo(place) : { root: dirname(place.hostPath), names: [basename(place.hostPath)] };
  const last = names.at(-1);
  let folder: Held | undefined;
  try {
    if (!statSync(root, { throwIfNoEntry: false })) return undefined;
    folder = holdFolder(root);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
  try {
    for (const name of names.slice(0, -1)) {
      const next: Held | undefined = holdChild(folder, name);
      closeSync(folder);
      folder = next;
      if (folder === undefined) return undefined;
    }
    return work(folder, last);
  } finally {
    if (folder !== undefined) closeSync(folder);
  }
}

/**
 * The root is what the host named, the names after it are what the workspace calls the same: as many as both views share, so that it is
 * never too deep. One that is too high only refuses more links.
 */
export function wayTo({ path, hostPath }: Place): { readonly root: string; readonly names: readonly string[] } {
  const host = resolve(hostPath).split(sep).slice(1);
  const inside = resolve(path).split(sep).slice(1);
  let shared = 0;
  while (shared < host.length && shared < inside.length && host.at(-1 - shared) === inside.at(-1 - shared)) shared += 1;
  // A root that lies in another has the same name in both views, or the manifest is refused: paths.ts.
  const cut = host.length - shared;
  return { root: `${sep}${host.slice(0, cut).join(sep)}`, names: host.slice(cut).filter((name) => name !== '') };
}

function readWhole(fd: number, place: Place, maxBytes: number): Buffer {
  const tooLarge = (): BoxError =>
    new BoxError('sync_failed', `${place.path} has more than ${maxBytes} bytes and was not read.`, { hint: 'Make it smaller.' });
  const { size } = fstatSync(fd);
  if (size > maxBytes) throw tooLarge();
  const parts: Buffer[] = [];
  let total = 0;
  for (;;) {
    const part = Buffer.allocUnsafe(Math.min(64 * 1024, Math.max(size - total, 0) + 1));
    const read = readSync(fd, part, 0, part.length, null);
    if (read === 0) return Buffer.concat(parts);
    total += read;
    // It may grow while it is read.
    if (total > maxBytes) throw tooLarge();
    parts.push(part.subarray(0, read));
  }
}

const reopen = (folder: Held): Held => holdFolder(`/proc/self/fd/${folder}`);

function statOrNothing(path: string): Stats | undefined {
  try {
    // Without an error for what is simply not there: it costs ten times what the look does.
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}
