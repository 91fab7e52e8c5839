/** Log files that programs write themselves: opened to append, bounded, and read from their end. */

import { spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';

export interface RotateOptions {
  readonly maxBytes: number;
  /** Older files beside it: .1 is the newest. */
  readonly keep: number;
}

export const logBounds: RotateOptions = { maxBytes: 10 * 1024 * 1024, keep: 3 };

const chunkBytes = 64 * 1024;
/** File systems take out whole blocks; none of theirs is larger. */
const blockBytes = 64 * 1024;
/** A line longer than this is shown from its end. */
const maxTailBytes = 4 * 1024 * 1024;

/** For a program's stdout and stderr. Whoever has it open goes on at the end, even when the file was cut in the meantime. */
export function openLogFile(path: string): number {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  return openSync(path, 'a', 0o600);
}

/**
 * Moves what a log has into older files when it has grown too large, and shortens it in place, since its writer keeps its descriptor.
 * Where the file system can take a piece out of a file, not a byte is lost that is written meanwhile; the last few kilobytes then stay.
 * For who holds the lock of the graph: two at once would both copy. `true` when it was done.
 */
export function rotateLog(path: string, { maxBytes, keep }: RotateOptions = logBounds): boolean {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= maxBytes) return false;
  rmSync(`${path}.${keep}`, { force: true });
  for (let at = keep - 1; at >= 1; at--) if (existsSync(`${path}.${at}`)) renameSync(`${path}.${at}`, `${path}.${at + 1}`);
  const fd = openSync(path, 'r+');
  try {
    const whole = Math.floor(size / blockBytes) * blockBytes;
    copyTo(`${path}.1`, fd, whole);
    if (whole > 0 && collapse(path, whole)) return true;
    // Elsewhere what is written between the last look and the cut is lost: as little time as can be.
    copyTo(`${path}.1`, fd, Number.POSITIVE_INFINITY);
    ftruncateSync(fd, 0);
  } finally {
    closeSync(fd);
  }
  return true;
}

/** Takes the first bytes out of the file, in one step for everybody who has it open. `false` where the file system cannot. */
function collapse(path: string, bytes: number): boolean {
  const { status } = spawnSync('fallocate', ['--collapse-range', '--offset', '0', '--length', String(bytes), path], { stdio: 'ignore' });
  return status === 0;
}

/** Last lines, without reading the whole file; `from`: nothing before that byte. */
export function tailOfFile(path: string, lines: number, from = 0): string[] {
  if (!existsSync(path)) return [];
  const fd = openSync(path, 'r');
  try {
    const { size } = fstatSync(fd);
    const parts: Buffer[] = [];
    let at = size;
    // A cut file begins anew: what stands there now was written after the cut.
    const begin = from > size ? 0 : from;
    for (let found = 0, read = 0; at > begin && found <= lines && read < maxTailBytes; ) {
      const length = Math.min(chunkBytes, at - begin);
      const part = Buffer.alloc(length);
      readSync(fd, part, 0, length, at - length);
      parts.unshift(part);
      for (const byte of part) if (byte === newline) found++;
      at -= length;
      read += length;
    }
    const text = Buffer.concat(parts).toString('utf8');
    const all = (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n');
    return text === '' ? [] : all.slice(-lines);
  } finally {
    closeSync(fd);
  }
}

/** The byte where the last lines begin; a last one without an end counts. */
export function startOfLastLines(path: string, lines: number): number {
  if (!existsSync(path)) return 0;
  const fd = openSync(path, 'r');
  try {
    const { size } = fstatSync(fd);
    const part = Buffer.alloc(chunkBytes);
    let found = 0;
    for (let at = size; at > Math.max(0, size - maxTailBytes); ) {
      const length = Math.min(chunkBytes, at);
      at -= length;
      readSync(fd, part, 0, length, at);
      for (let index = length - 1; index >= 0; index--) {
        if (part[index] !== newline || at + index === size - 1) continue;
        found += 1;
        if (found === lines) return at + index + 1;
      }
    }
    return Math.max(0, size - maxTailBytes);
  } finally {
    closeSync(fd);
  }
}

export const sizeOfFile = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

const newline = 0x0a;

/** What the copy lacks of the first `upTo` bytes. */
function copyTo(copy: string, fd: number, upTo: number): void {
  const out = openSync(copy, 'a', 0o600);
  try {
    const part = Buffer.alloc(chunkBytes);
    for (let at = fstatSync(out).size; at < upTo; ) {
      const read = readSync(fd, part, 0, Math.min(part.length, upTo - at), at);
      if (read === 0) return;
      writeSync(out, part, 0, read);
      at += read;
    }
  } finally {
    closeSync(out);
  }
}
