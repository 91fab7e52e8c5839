/** Reads what is new in a journal, from where the last reader left off: exactly once, over files that end and others that begin. */

import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { type Journal, type Segment, segmentsOf } from './segments.ts';

/** How far one file was read. */
export interface Mark {
  readonly offset: number;
  /** Of its first bytes: a file of the same number with another beginning is another file. */
  readonly head: string;
}
/** By the number of the file. */
export type Position = Readonly<Record<string, Mark>>;

export interface Portion {
  readonly lines: string[];
  readonly position: Position;
  /** There is more. */
  readonly more: boolean;
}

const chunkBytes = 256 * 1024;
const headBytes = 64;
const newline = 0x0a;

/** Whole lines only: half of one is read when the rest is there. All files, since one may still be written to just after the next began. */
export function readNew(journal: Pick<Journal, 'folder' | 'name'>, from: Position): Portion {
  const lines: string[] = [];
  const position: Record<string, Mark> = {};
  let more = false;
  for (const segment of segmentsOf(journal)) {
    const known = from[segment.number];
    const read: Read | undefined = more ? undefined : readSegment(segment, known);
    if (read) {
      lines.push(...read.lines);
      position[segment.number] = read.mark;
      more = read.more;
    } else if (known) position[segment.number] = known;
  }
  return { lines, position, more };
}

interface Read {
  readonly lines: string[];
  readonly mark: Mark;
  readonly more: boolean;
}

function readSegment({ path }: Segment, known: Mark | undefined): Read | undefined {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch (error) {
    // Removed since the folder was read.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const { size } = fstatSync(fd);
    const offset = known && known.offset <= size && headOf(fd, known.offset) === known.head ? known.offset : 0;
    const chunk = Buffer.alloc(Math.min(chunkBytes, size - offset));
    const bytes = chunk.subarray(0, readSync(fd, chunk, 0, chunk.length, offset));
    const end = bytes.lastIndexOf(newline) + 1;
    // Nobody writes a line this long: it is skipped rather than waited for.
    const taken = end === 0 && bytes.length === chunkBytes ? chunkBytes : end;
    const next = offset + taken;
    const lines = bytes
      .subarray(0, end)
      .toString('utf8')
      .split('\n')
      .filter((line) => line !== '');
    return { lines, mark: { offset: next, head: headOf(fd, next) }, more: taken > 0 && next < size };
  } finally {
    closeSync(fd);
  }
}

/** Of what was read of it, so that it does not change when more is written. */
function headOf(fd: number, read: number): string {
  const head = Buffer.alloc(Math.min(headBytes, read));
  readSync(fd, head, 0, head.length, 0);
  return createHash('sha256').update(head).digest('hex').slice(0, 16);
}
