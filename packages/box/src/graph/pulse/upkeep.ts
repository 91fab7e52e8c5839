/** Logs stay within their bounds while services run. */

import { join } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import { logBounds, rotateLog, sizeOfFile } from '../../process/log-file.ts';
import { serverLogFile } from '../../state.ts';
import type { Graph, Log } from '../graph.ts';
import { exclusively, type Runtime, runtimeLogFolder } from '../runtime.ts';
import type { ServiceRecord } from '../services/records.ts';
import { syncLogs } from '../sync/log-folders.ts';

export const pulseLogFile = (stateRoot: string): string => join(runtimeLogFolder(stateRoot), 'pulse.log');

export const pulseLogBounds = { maxBytes: 2 * 1024 * 1024, keep: 2 };
/** The next look is soon enough. */
const lockMs = 500;
/** Retention is in days. */
const expireMs = 3600_000;
const isKeptFor = ({ retentionDays }: Log): boolean => retentionDays !== undefined;

let expiredAt = Number.NEGATIVE_INFINITY;

export async function keepLogs(
  runtime: Runtime,
  graphs: readonly Graph[],
  records: readonly ServiceRecord[],
  say: (text: string) => void,
): Promise<void> {
  const { stateRoot } = runtime.config;
  // Nobody else writes or cuts this one.
  rotateLog(pulseLogFile(stateRoot), pulseLogBounds);
  const logs = [...new Set([serverLogFile(stateRoot), ...records.map(({ log }) => log)])];
  const large = logs.filter((path) => sizeOfFile(path) > logBounds.maxBytes);
  const due = performance.now() - expiredAt > expireMs;
  const expires = due ? graphs.flatMap((graph) => graph.logs.filter(isKeptFor)) : [];
  if (large.length + expires.length === 0) return;
  try {
    await exclusively(
      runtime,
      'pulse',
      async () => {
        for (const path of large) rotateLog(path);
        const done = await syncLogs({ runtime, dryRun: false }, expires);
        for (const { id, result, detail, error } of done.filter(({ result: how }) => how !== 'unchanged'))
          say(`log ${id}: ${result} ${error?.message ?? detail ?? ''}`);
      },
      lockMs,
    );
    // Not by a log that was only cut: one that grows fast would put it off for ever.
    if (due) expiredAt = performance.now();
  } catch (error) {
    if (!(error instanceof BoxError && error.code === 'graph_busy')) throw error;
    say('logs are cut at the next look: somebody changes the graph');
  }
}
