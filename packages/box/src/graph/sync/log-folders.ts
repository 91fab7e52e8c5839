/** Folders of logs: made when missing, and freed of files that are older than they are kept. */

import { closeSync, unlinkSync } from 'node:fs';
import { type ActionRecord, BoxError, type LogStatus } from '@skillbox/protocol';
import type { Log } from '../graph.ts';
import { entryIn, type Held, isAbsent, namesIn, within } from '../held.ts';
import { holdAt, makeFolderAt, statAt } from '../place.ts';
import { attempt, recordOf, type SyncWork } from './actions.ts';

const dayMs = 24 * 60 * 60 * 1000;

export function logState({ place }: Log): Pick<LogStatus, 'state' | 'bytes'> {
  const folder = holdAt(place);
  if (folder === undefined) return { state: 'missing', bytes: 0 };
  try {
    let bytes = 0;
    for (const { size } of filesIn(folder)) bytes += size;
    return { state: 'ok', bytes };
  } finally {
    closeSync(folder);
  }
}

export async function syncLogs(work: SyncWork, logs: readonly Log[]): Promise<ActionRecord[]> {
  const records: ActionRecord[] = [];
  for (const log of logs) {
    const about = { section: 'logs' as const, id: log.id, action: 'mkdir', path: log.place.path };
    records.push(...(await attempt(work, about, async () => [makeFolder(work, log), ...expire(work, log)])));
  }
  return records;
}

function makeFolder({ dryRun }: SyncWork, { id, place }: Log): ActionRecord {
  const { path } = place;
  const there = statAt(place);
  if (there?.isDirectory()) return recordOf('logs', id, 'mkdir', 'unchanged', { path });
  if (there) throw new BoxError('sync_failed', `${path} is no folder.`, { hint: 'Move it away, or declare another path.' });
  if (dryRun) return recordOf('logs', id, 'mkdir', 'planned', { path });
  makeFolderAt(place);
  return recordOf('logs', id, 'mkdir', 'done', { path });
}

/** Only files that lie in it themselves: in folders below it sessions have their own, which nobody throws away. */
function expire({ dryRun }: SyncWork, { id, place, retentionDays }: Log): ActionRecord[] {
  if (retentionDays === undefined) return [];
  const folder = holdAt(place);
  if (folder === undefined) return [];
  const eldest = Date.now() - retentionDays * dayMs;
  try {
    const old = filesIn(folder).filter(({ mtimeMs }) => mtimeMs < eldest);
    if (old.length === 0) return [];
    if (!dryRun) for (const { name } of old) remove(folder, name);
    const detail = `${old.length} file${old.length === 1 ? '' : 's'} older than ${retentionDays} day${retentionDays === 1 ? '' : 's'}`;
    return [recordOf('logs', id, 'expire', dryRun ? 'planned' : 'done', { path: place.path, detail })];
  } finally {
    closeSync(folder);
  }
}

function remove(folder: Held, name: string): void {
  try {
    unlinkSync(within(folder, name));
  } catch (error) {
    // Somebody else was faster.
    if (!isAbsent(error)) throw error;
  }
}

function filesIn(folder: Held): { name: string; size: number; mtimeMs: number }[] {
  return namesIn(folder).flatMap((name) => {
    const entry = entryIn(folder, name);
    return entry?.isFile() ? [{ name, size: entry.size, mtimeMs: entry.mtimeMs }] : [];
  });
}
