/** What was done to an item of the graph, as a record; what goes wrong with one does not stop the others. */

import { type ActionRecord, BoxError } from '@skillbox/protocol';
import type { Runtime } from '../runtime.ts';
import { tellActions } from '../work-steps.ts';

/** What every part of a sync gets. */
export interface SyncWork {
  readonly runtime: Runtime;
  readonly dryRun: boolean;
}

export interface Told {
  readonly path?: string;
  readonly detail?: string;
  readonly error?: BoxError;
}

export function recordOf(
  section: ActionRecord['section'],
  id: string,
  action: string,
  result: ActionRecord['result'],
  { detail, error, path }: Told = {},
): ActionRecord {
  return {
    ...{ section, id, action, result, path: path ?? null, detail: detail ?? null },
    error: error ? { error: error.code, message: error.message, hint: error.hint } : null,
  };
}

/** The records of one item; when it throws, one that says so. */
export async function attempt(
  { runtime }: SyncWork,
  { action, id, path, section }: { section: ActionRecord['section']; id: string; action: string; path: string },
  work: () => Promise<ActionRecord | ActionRecord[]>,
): Promise<ActionRecord[]> {
  const records = await settled();
  tellActions(runtime, records);
  return records;

  async function settled(): Promise<ActionRecord[]> {
    try {
      return [await work()].flat();
    } catch (error) {
      runtime.signal.throwIfAborted();
      return [recordOf(section, id, action, 'failed', { path, error: asBoxError(error, 'sync_failed') })];
    }
  }
}

export function asBoxError(error: unknown, code: 'sync_failed' | 'SKILL_REPO_CLONE_FAILED'): BoxError {
  if (error instanceof BoxError) return error;
  return new BoxError(code, error instanceof Error ? error.message : String(error), { cause: error });
}
