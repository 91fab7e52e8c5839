/** Closes truthfully, or takes over, what a host left when it went away. */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import type { Logger } from '../observe/log.ts';
import type { ExecutionRow } from '../store/tables.ts';
import type { Executions } from './executions.ts';
import { type LogEntry, parseSpool } from './live-log.ts';
import { bareFinish, type Finish, type Records } from './records.ts';
import { spoolFile } from './runner.ts';

export interface RecoveryParts {
  readonly records: Records;
  readonly executions: Executions;
  readonly host: string;
  readonly spoolFolder: string;
  readonly log: Logger;
}

/**
 * `gone` may be this very host: then it is about what its former process left, since the state root has one owner at a
 * time, or about a row whose writing was lost with the connection. What this process works on is left alone.
 */
export async function recoverExecutions(parts: RecoveryParts, gone: string): Promise<void> {
  const { records, executions, host, spoolFolder, log } = parts;
  let closed = 0;
  let resumed = 0;
  for (const id of await records.unfinished(gone)) {
    if (executions.owns(id)) continue;
    const row = await records.row(id, undefined);
    // Read before it was looked up: it may have ended, or begun, meanwhile.
    if (!row || row.finished_at || row.host !== gone || executions.owns(id)) continue;
    if (row.status === 'queued' && row.request && !row.cancel_requested) {
      if (gone !== host && !(await records.adopt(id, gone, host))) continue;
      if (await resume(parts, { ...row, host })) resumed += 1;
      else closed += 1;
      continue;
    }
    const spool = spoolFile(spoolFolder, id);
    const entries = gone === host ? readSpool(spool) : [];
    if (await records.finish(row, endOf(row, entries))) closed += 1;
    if (gone === host) rmSync(spool, { force: true });
  }
  if (closed + resumed > 0) log.info({ gone, closed, resumed }, 'closed or resumed what a host had left');
}

/** Leftovers of the spool that belong to no running execution. */
export function clearSpool(folder: string, isOwned: (id: string) => boolean): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(folder)) if (!isOwned(name.replace(/\.jsonl$/, ''))) rmSync(join(folder, name), { force: true });
}

/** False when that was its end: the skill may have been deleted meanwhile, or the host lacks what it needs. */
async function resume({ records, executions, log }: RecoveryParts, row: ExecutionRow): Promise<boolean> {
  try {
    await executions.resume(row);
    return true;
  } catch (error) {
    // It stays queued and ours; the next beat tries again.
    if (error instanceof BoxError && ['unavailable', 'shutting_down'].includes(error.code)) throw error;
    log.warn({ execution: row.id, err: error }, 'a queued execution could not be resumed');
    const message = `The server stopped before it ran, and it could not be resumed: ${(error as Error).message}`;
    await records.finish(row, bareFinish('failed', { code: 'interrupted', message }));
    return false;
  }
}

function endOf({ status, cancel_requested }: ExecutionRow, entries: readonly LogEntry[]): Finish {
  if (status !== 'queued') return bareFinish('failed', { code: 'interrupted', message: 'The server stopped while it ran.' }, entries);
  if (cancel_requested) return bareFinish('cancelled', { code: 'cancelled', message: 'It was cancelled while it waited.' });
  return bareFinish('failed', { code: 'interrupted', message: 'The server stopped before it ran.' });
}

function readSpool(file: string): LogEntry[] {
  return existsSync(file) ? parseSpool(readFileSync(file, 'utf8')) : [];
}
