/** logs/runtime/runtime.log: what happened to the graph, one line each, `YYYY-MM-DDTHH:MM:SS type subject {json}`. The server reads it into the events. */

import type { Activity } from '@skillbox/protocol';

/** Appends a line; rotates the file before it grows beyond its bound. Safe for several processes. */
export function recordActivity(_stateRoot: string, _type: string, _subject: string, _data: Readonly<Record<string, unknown>> = {}): void {
  throw new Error('being written');
}

/** The newest last. */
export function recentActivity(_stateRoot: string, _count: number): Activity[] {
  throw new Error('being written');
}
