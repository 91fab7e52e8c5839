/** Logs as they grow, line by line, at the pace of who reads them. A line that was sent says where to go on after it. */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceLogLine } from '@skillbox/protocol';
import { sizeOfFile, startOfLastLines } from '../process/log-file.ts';
import type { LogFile } from './logs.ts';

/** Each is looked at five times a second, and each line names the place in all of them. */
export const mostFollowed = 64;

const pollMs = 200;
const chunkBytes = 64 * 1024;
/** A line without an end is shown when nothing was added to it for so long. */
const unfinishedMs = 1000;

export interface LogPlace extends LogFile {
  /** First byte that was not sent. */
  at: number;
  /** Of a line whose end is not written yet: the size of the log, and since when it is so. */
  rest?: { readonly size: number; readonly since: number } | undefined;
}

/** Before their last lines, or where `lastEventId`, which an earlier stream of the same logs gave, says. */
export function logPlaces(files: readonly LogFile[], lines: number, lastEventId?: string): LogPlace[] {
  const known = placesIn(lastEventId, files.length);
  return files.map((file, index) => ({ ...file, at: known?.[index] ?? startOfLastLines(file.path, lines) }));
}

export interface LogEvent {
  readonly id: string;
  readonly event: 'line';
  readonly data: ServiceLogLine;
}

export async function* followLogs(places: readonly LogPlace[], signal: AbortSignal): AsyncGenerator<LogEvent> {
  while (!signal.aborted) {
    let more = false;
    for (const place of places) {
      const found = newLines(place);
      more ||= found.more;
      for (const { line, end } of found.lines) {
        place.at = end;
        yield { id: places.map(({ at }) => at.toString(36)).join('.'), event: 'line', data: { service: place.service, line } };
        if (signal.aborted) return;
      }
    }
    // Aborting is how it ends, and not an error.
    if (!more) await sleep(pollMs, undefined, { signal }).catch(() => undefined);
  }
}

interface Line {
  readonly line: string;
  /** The byte after it. */
  readonly end: number;
}

/** Of one chunk at most. A log that is emptied in place, as rotation does, is read from its beginning then. */
function newLines(place: LogPlace): { readonly lines: readonly Line[]; readonly more: boolean } {
  const size = sizeOfFile(place.path);
  if (size < place.at) place.at = 0;
  const waited = place.rest?.size === size ? performance.now() - place.rest.since : undefined;
  if (size === place.at || (waited !== undefined && waited < unfinishedMs)) return { lines: [], more: false };
  const bytes = read(place.path, place.at);
  const end = place.at + bytes.length;
  const full = bytes.length === chunkBytes;
  const lines = wholeLines(bytes, place.at);
  if (lines.length === 0 && (full || waited !== undefined)) lines.push(piece(bytes, place.at));
  place.rest = !full && (lines.at(-1)?.end ?? place.at) < end ? { size: end, since: performance.now() } : undefined;
  return { lines, more: full };
}

function read(path: string, at: number): Buffer {
  const fd = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(Math.max(0, Math.min(chunkBytes, fstatSync(fd).size - at)));
    return buffer.subarray(0, readSync(fd, buffer, 0, buffer.length, at));
  } finally {
    closeSync(fd);
  }
}

function wholeLines(bytes: Buffer, at: number): Line[] {
  const lines: Line[] = [];
  for (let from = 0; ; ) {
    const end = bytes.indexOf(0x0a, from);
    if (end === -1) return lines;
    lines.push({ line: bytes.toString('utf8', from, end), end: at + end + 1 });
    from = end + 1;
  }
}

/** Of a line that is very long, or stays without an end. */
function piece(bytes: Buffer, at: number): Line {
  const whole = bytes.length === chunkBytes ? bytes.length - brokenLetter(bytes) : bytes.length;
  return { line: bytes.toString('utf8', 0, whole), end: at + whole };
}

/** How many bytes at the end are the beginning of a letter whose rest comes later. */
function brokenLetter(bytes: Buffer): number {
  for (let back = 1; back <= 3; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needs > back ? back : 0;
  }
  return 0;
}

function placesIn(id: string | undefined, count: number): number[] | undefined {
  if (id === undefined || !/^[0-9a-z]{1,10}(\.[0-9a-z]{1,10})*$/.test(id)) return undefined;
  const places = id.split('.').map((text) => Number.parseInt(text, 36));
  return places.length === count ? places : undefined;
}
