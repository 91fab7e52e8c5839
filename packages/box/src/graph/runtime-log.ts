/** logs/runtime/runtime.log: what happened to the graph, one line each, `YYYY-MM-DDTHH:MM:SS type subject {json}`. The server reads it into the events. */

import type { Activity } from '@skillbox/protocol';
import { diskTrouble } from '../disk-trouble.ts';
import { lastLines } from './journal/last-lines.ts';
import { formatLine, parseLine } from './journal/line.ts';
import { appendLine, type Journal, segmentsOf } from './journal/segments.ts';
import { runtimeLogFolder } from './runtime.ts';

const megabyte = 1024 * 1024;

export function runtimeJournal(stateRoot: string): Journal {
  return { folder: runtimeLogFolder(stateRoot), name: 'runtime', bytes: 5 * megabyte, keep: 3 };
}

/**
 * Appends a line; begins the next file before one grows beyond its bound. Safe for several processes. `type` is such as
 * service.started, `subject` such as service:web. Secrets have no place in `data`.
 */
export function recordActivity(stateRoot: string, type: string, subject: string, data: Readonly<Record<string, unknown>> = {}): void {
  const line = formatLine(new Date(), type, subject, data);
  try {
    appendLine(runtimeJournal(stateRoot), line);
  } catch (error) {
    throw diskTrouble(error) ?? error;
  }
}

/** The newest last. */
export function recentActivity(stateRoot: string, count: number): Activity[] {
  const found: Activity[] = [];
  for (const { path } of segmentsOf(runtimeJournal(stateRoot)).reverse()) {
    if (found.length >= count) break;
    const activities = lastLines(path, count).flatMap((line) => parseLine(line) ?? []);
    found.unshift(...activities.slice(-(count - found.length)));
  }
  return found;
}
