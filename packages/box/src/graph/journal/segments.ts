/**
 * A journal that several processes append to at once, bounded, without a lock that a dead process could hold: numbered files,
 * the newest of which is written. Who finds it full goes on with the next number; whoever does so at the same time means the
 * same file. Nothing is renamed under a writer, and a number is one content for ever, so that a reader can say how far it is.
 */

import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

export interface Journal {
  readonly folder: string;
  /** `runtime` for runtime.log, which leads to the newest of runtime-000001.log and so on. */
  readonly name: string;
  /** Of one file. */
  readonly bytes: number;
  /** How many files stay. */
  readonly keep: number;
}

export interface Segment {
  readonly number: number;
  readonly path: string;
}

const newline = 0x0a;

/** The oldest first; empty when nothing was written yet. */
export function segmentsOf({ folder, name }: Pick<Journal, 'folder' | 'name'>): Segment[] {
  let files: string[];
  try {
    files = readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  const pattern = new RegExp(`^${name}-(\\d{6,15})\\.log$`);
  return files
    .flatMap((file) => {
      const number = pattern.exec(file)?.[1];
      return number === undefined ? [] : [{ number: Number(number), path: join(folder, file) }];
    })
    .sort((one, other) => one.number - other.number);
}

/** One write for one line: with O_APPEND the kernel puts it in one piece behind all others. */
export function appendLine(journal: Journal, line: string): void {
  const text = Buffer.from(`${line}\n`);
  mkdirSync(journal.folder, { recursive: true, mode: 0o700 });
  for (let from = segmentsOf(journal).at(-1)?.number ?? 1; ; ) {
    const done = appendTo(journal, from, text);
    if (done === 'written') return;
    from = done === 'full' ? from + 1 : Math.max(from, segmentsOf(journal).at(-1)?.number ?? from) + 1;
  }
}

function appendTo(journal: Journal, number: number, text: Buffer): 'written' | 'full' | 'removed' {
  const appendFlags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
  const file = fileOf(journal, number);
  const fd = openSync(join(journal.folder, file), appendFlags, 0o600);
  try {
    const { size } = fstatSync(fd);
    if (size > 0 && size + text.length > journal.bytes) return 'full';
    pointTo(journal, file);
    if (size === 0) removeOld(journal, number);
    // A full disk or a crash of the machine can leave half a line; it must not take this one with it.
    // (The line of another that is just being written looks the same: then there is an empty line, which says nothing.)
    writeSync(fd, endsWhole(fd, size) ? text : Buffer.concat([Buffer.of(newline), text]));
    // So much was written by others meanwhile that this file is gone: the line would be lost with it.
    return fstatSync(fd).nlink > 0 ? 'written' : 'removed';
  } finally {
    closeSync(fd);
  }
}

function endsWhole(fd: number, size: number): boolean {
  if (size === 0) return true;
  const last = Buffer.alloc(1);
  return readSync(fd, last, 0, 1, size - 1) === 0 || last[0] === newline;
}

function fileOf({ name }: Journal, number: number): string {
  return `${name}-${String(number).padStart(6, '0')}.log`;
}

/** For people and their tools, who know it as runtime.log; nobody here reads through it. */
function pointTo({ folder, name }: Journal, file: string): void {
  const link = join(folder, `${name}.log`);
  if (linkTarget(link) === file) return;
  const temporary = `${link}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`;
  symlinkSync(file, temporary);
  renameSync(temporary, link);
}

function linkTarget(link: string): string | undefined {
  try {
    return readlinkSync(link);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EINVAL') return undefined;
    throw error;
  }
}

function removeOld(journal: Journal, newest: number): void {
  for (const { number, path } of segmentsOf(journal)) if (number <= newest - journal.keep) rmSync(path, { force: true });
}
