/** What went wrong of late, from the last lines of logs. Programs inside write them, so they are read link by link and shown as one plain line. */

import { closeSync, fstatSync, readSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { FocusReport } from '@skillbox/protocol';
import type { Place } from '../graph.ts';
import { namesAt, openAt, statAt } from '../place.ts';
import { type Mask, maskedLine, plainLine } from './mask.ts';

const lines = 100;
const tailBytes = 256 * 1024;
const mostPerLog = 5;
const mostInAll = 50;
const mostFiles = 2000;
/** An error of last week is not of late. */
const recentMs = 24 * 3_600_000;

const words = /\b(errors?|exceptions?|traceback|fatal|panic(?:ked)?|fail(?:ed|ure|ures|s|ing)?)\b/i;
/** `0 errors`, `errors=0`, `no failures`: good news in the same words. */
const goodNews = /\b(?:0|no|without|zero)\s+(?:errors?|exceptions?|fail(?:ures?|ed|s)?)\b|\b(?:errors?|failures?|failed)\s*[:=]\s*0\b/gi;

/** Of a log file, by the name it is shown with. */
export interface LogSource {
  readonly name: string;
  readonly place: Place;
}

export function errorsIn(sources: readonly LogSource[], mask: Mask, now = Date.now()): FocusReport['errors'] {
  return sources
    .flatMap(({ name, place }) => errorLines(place, now).map((line) => ({ log: name, line: maskedLine(mask, line) })))
    .slice(0, mostInAll);
}

/** The newest file of a folder; undefined when there is none, or too many to look at. */
export function newestLog(folder: Place): Place | undefined {
  const found = (namesAt(folder) ?? [])
    .slice(0, mostFiles)
    .filter((name) => !name.startsWith('.') && !/\.(gz|xz|zst|zip|json)$/.test(name))
    .map((name) => ({ path: join(folder.path, name), hostPath: join(folder.hostPath, name), inside: folder.inside }))
    .map((place) => ({ place, stat: statAt(place) }))
    .filter(({ stat }) => stat?.isFile() === true);
  found.sort(
    (one, other) =>
      (other.stat?.mtimeMs ?? 0) - (one.stat?.mtimeMs ?? 0) || (basename(one.place.path) < basename(other.place.path) ? -1 : 1),
  );
  return found[0]?.place;
}

function errorLines(place: Place, now: number): string[] {
  const fd = openAt(place);
  if (fd === undefined) return [];
  try {
    const { size, mtimeMs } = fstatSync(fd);
    if (now - mtimeMs > recentMs) return [];
    const tail = Buffer.alloc(Math.min(size, tailBytes));
    const read = readSync(fd, tail, 0, tail.length, size - tail.length);
    return tail
      .subarray(0, read)
      .toString('utf8')
      .split('\n')
      .slice(-lines - 1)
      .filter((line) => words.test(plainLine(line, 4000).replace(goodNews, '')))
      .slice(-mostPerLog);
  } finally {
    closeSync(fd);
  }
}
