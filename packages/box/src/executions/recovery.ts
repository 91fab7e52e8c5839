/** Closes truthfully, or takes over, what a host left when it went away. */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../observe/log.ts';
import type { Executions } from './executions.ts';
import { type LogEntry, parseSpool } from './live-log.ts';
import { bareFinish, type Records } from './records.ts';
import { spoolFile } from './runner.ts';

export interface RecoveryParts {
  readonly records: Records;
  readonly executions: Executions;
  readonly host: string;
  readonly spoolFolder: string;
  readonly log: Logger;
}

/** `gone` may be this very host: its former process is dead, since the state root has one owner at a time. */
export async function recoverExecutions({ records, executions, host, spoolFolder, log }: RecoveryParts, gone: string): Promise<void> {
  let closed = 0;
  let resumed = 0;
  for (const row of await records.unfinished(gone)) {
    if (row.status === 'queued' && row.request && !row.cancel_requested) {
      if (gone !== host && !(await records.adopt(row.id, gone, host))) continue;
      try {
        await executions.resume({ ...row, host });
        resumed += 1;
        continue;
      } catch (error) {
        // The skill may have been deleted meanwhile, or the host lacks what it needs: then this is its end.
        log.warn({ execution: row.id, err: error }, 'a queued execution could not be resumed');
        await records.finish(
          { ...row, host },
          bareFinish('failed', {
            code: 'interrupted',
            message: `The server stopped before it ran, and it could not be resumed: ${(error as Error).message}`,
          }),
        );
        closed += 1;
        continue;
      }
    }
    const message = row.status === 'queued' ? 'The server stopped before it ran.' : 'The server stopped while it ran.';
    const entries = gone === host ? readSpool(spoolFile(spoolFolder, row.id)) : [];
    if (await records.finish(row, bareFinish('failed', { code: 'interrupted', message }, entries))) closed += 1;
  }
  if (closed + resumed > 0) log.info({ gone, closed, resumed }, 'closed or resumed what a host had left');
}

/** Leftovers of the spool that belong to no running execution. */
export function clearSpool(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { force: true });
}

function readSpool(file: string): LogEntry[] {
  return existsSync(file) ? parseSpool(readFileSync(file, 'utf8')) : [];
}
