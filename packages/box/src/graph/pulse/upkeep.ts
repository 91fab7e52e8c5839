/** Logs stay within their bounds while services run. */

import { join } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import { logBounds, rotateLog, sizeOfFile } from '../../process/log-file.ts';
import { serverLogFile } from '../../state.ts';
import { exclusively, type Runtime, runtimeLogFolder } from '../runtime.ts';
import type { ServiceRecord } from '../services/records.ts';

export const pulseLogFile = (stateRoot: string): string => join(runtimeLogFolder(stateRoot), 'pulse.log');

export const pulseLogBounds = { maxBytes: 2 * 1024 * 1024, keep: 2 };
/** The next look is soon enough. */
const lockMs = 500;

export async function keepLogs(runtime: Runtime, records: readonly ServiceRecord[], say: (text: string) => void): Promise<void> {
  const { stateRoot } = runtime.config;
  // Nobody else writes or cuts this one.
  rotateLog(pulseLogFile(stateRoot), pulseLogBounds);
  const logs = [...new Set([serverLogFile(stateRoot), ...records.map(({ log }) => log)])];
  const large = logs.filter((path) => sizeOfFile(path) > logBounds.maxBytes);
  if (large.length === 0) return;
  try {
    await exclusively(runtime, 'pulse', async () => large.forEach((path) => void rotateLog(path)), lockMs);
  } catch (error) {
    if (!(error instanceof BoxError && error.code === 'graph_busy')) throw error;
    say('logs are cut at the next look: somebody changes the graph');
  }
}
