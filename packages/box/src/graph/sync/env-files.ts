/** Files with settings and secrets for services: as their source is, readable by their owner only. */

import { type ActionRecord, BoxError, type EnvFileStatus } from '@skillbox/protocol';
import type { EnvFile } from '../graph.ts';
import { hostFile, readAt, statAt, writeAt } from '../place.ts';
import { attempt, recordOf, type SyncWork } from './actions.ts';

const maxBytes = 2 ** 20;

export function envFileState({ mode, place, source, sync }: EnvFile): EnvFileStatus['state'] {
  const there = statAt(place);
  const present = there?.isFile() ?? false;
  if (source.kind === 'manual') return present ? 'ok' : 'missing';
  const wanted = readAt(hostFile(source.path), maxBytes);
  if (wanted === undefined) return 'source-missing';
  if (!present) return 'missing';
  // What a person keeps is theirs to change.
  if (sync === 'manual') return 'ok';
  const isSame = ((there?.mode ?? 0) & 0o777) === mode && there?.size === wanted.length && readAt(place, maxBytes)?.equals(wanted);
  return isSame ? 'ok' : 'stale';
}

export async function syncEnvFiles(work: SyncWork, files: readonly EnvFile[]): Promise<ActionRecord[]> {
  const records: ActionRecord[] = [];
  for (const file of files) {
    const about = { section: 'env_files' as const, id: file.id, action: 'write', path: file.place.path };
    records.push(...(await attempt(work, about, async () => syncEnvFile(work, file))));
  }
  return records;
}

function syncEnvFile({ dryRun }: SyncWork, file: EnvFile): ActionRecord {
  const { id, mode, place, required, source, sync } = file;
  const { path } = place;
  const state = envFileState(file);
  const action = source.kind === 'manual' || sync === 'manual' ? 'check' : 'write';
  if (state === 'ok') return recordOf('env_files', id, action, 'unchanged', { path });
  if (source.kind === 'manual' || state === 'source-missing' || sync === 'manual') {
    const at = source.kind === 'file' && state === 'source-missing' ? source.path : place.hostPath;
    if (!required) return recordOf('env_files', id, action, 'skipped', { path, detail: `${state}: ${at}` });
    const error = new BoxError('needs_input', `Env file ${id} is required, and ${at} is not there.`, {
      hint: `Write ${at}, then run skillbox sync again.`,
      details: { path: at },
    });
    return recordOf('env_files', id, action, 'failed', { path, detail: state, error });
  }
  if (dryRun) return recordOf('env_files', id, action, 'planned', { path, detail: state });
  const content = readAt(hostFile(source.path), maxBytes);
  if (content === undefined) throw new BoxError('sync_failed', `${source.path} went away while it was read.`);
  writeAt(place, content, { mode });
  return recordOf('env_files', id, action, 'done', { path, detail: state });
}
