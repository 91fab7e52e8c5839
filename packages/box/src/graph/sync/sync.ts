/** The files of the box become what is declared: repositories, artifacts, env files, log folders, skills; then context is written anew. */

import type { ActionRecord, SyncReport } from '@skillbox/protocol';
import { writeContext } from '../focus/context.ts';
import type { Graph, Selection } from '../graph.ts';
import { loadGraph } from '../load.ts';
import { exclusively, type Runtime } from '../runtime.ts';
import { recordActivity } from '../runtime-log.ts';
import { tellBegin, tellEnd } from '../work-steps.ts';
import { attempt, recordOf, type SyncWork } from './actions.ts';
import { syncArtifacts } from './artifacts.ts';
import { openDigests } from './digests.ts';
import { syncEnvFiles } from './env-files.ts';
import { syncLogs } from './log-folders.ts';
import { pruneMirrors } from './prune-mirrors.ts';
import { syncRepos } from './repos.ts';
import { syncSkills } from './skills/sync-skills.ts';

/** Takes the lock of the graph; a dry run changes nothing and needs none. */
export async function sync(runtime: Runtime, selection: Selection, { dryRun }: { dryRun: boolean }): Promise<SyncReport> {
  const graph = loadGraph(runtime.config, selection);
  if (dryRun) return syncGraph(runtime, graph, { dryRun });
  return exclusively(runtime, 'sync', () => syncGraph(runtime, graph, { dryRun }));
}

/** For who holds the lock. */
export async function syncGraph(runtime: Runtime, graph: Graph, { dryRun }: { dryRun: boolean }): Promise<SyncReport> {
  const started = performance.now();
  const work: SyncWork = { runtime, dryRun };
  const digests = openDigests(runtime.config.stateRoot);
  const actions: ActionRecord[] = [];
  const add = (records: readonly ActionRecord[]): void => {
    actions.push(...records);
    if (!dryRun) for (const record of records) tell(runtime, record);
  };
  const { artifacts, envFiles, logs, repos, skills } = graph;
  const step = { kind: 'phase', name: 'sync' } as const;
  tellBegin(runtime, step, 'Looking at what is declared');
  if (repos.length > 0) runtime.progress(`Looking at ${repos.length} repositories`);
  // Env files and logs may lie in a repository, and cloning needs its place to be empty.
  add(await syncRepos(work, repos));
  add(await syncArtifacts(work, artifacts, digests));
  add(await syncEnvFiles(work, envFiles));
  add(await syncLogs(work, logs));
  if (skills.length > 0) runtime.progress('Looking at skills');
  add(await syncSkills(work, skills));
  add(await pruneMirrors(work, graph));
  if (!dryRun) digests.keep();
  add(
    await attempt(work, { section: 'context', id: graph.client?.id ?? 'box', action: 'write', path: '' }, () =>
      contextRecords(work, graph),
    ),
  );
  const changed = actions.some(({ result }) => result === 'done');
  const ok = actions.every(({ result }) => result !== 'failed');
  const duration_ms = Math.round(performance.now() - started);
  const state = !ok ? 'failed' : changed ? 'done' : dryRun ? 'planned' : 'unchanged';
  const said = summary(actions, dryRun);
  tellEnd(runtime, step, { state, duration_ms, detail: said });
  runtime.progress(said);
  return { dry_run: dryRun, changed, ok, actions, duration_ms };
}

async function contextRecords({ dryRun, runtime }: SyncWork, graph: Graph): Promise<ActionRecord[]> {
  const { files } = await writeContext(runtime, graph, { dryRun });
  const id = graph.client?.id ?? 'box';
  return files.map(({ changed, path }) =>
    recordOf('context', id, 'write', changed ? (dryRun ? 'planned' : 'done') : 'unchanged', { path }),
  );
}

/** What changed and what failed is kept; what was found in order is not news. */
function tell({ config }: Runtime, { action, detail, error, id, path, result, section }: ActionRecord): void {
  if (result === 'unchanged' || (result === 'skipped' && error === null)) return;
  const data = {
    result,
    ...(path !== null && { path }),
    ...(detail !== null && { detail }),
    ...(error && { error: error.error, message: error.message }),
  };
  recordActivity(config.stateRoot, `sync.${result === 'failed' ? 'failed' : action}`, `${section}:${id}`, data);
}

function summary(actions: readonly ActionRecord[], dryRun: boolean): string {
  const count = (result: ActionRecord['result']): number => actions.filter((action) => action.result === result).length;
  const parts = (['done', 'planned', 'skipped', 'failed'] as const).flatMap((result) =>
    count(result) > 0 ? [`${count(result)} ${result}`] : [],
  );
  if (parts.length === 0) return 'Everything is as declared';
  return `${dryRun ? 'Would sync' : 'Synced'}: ${parts.join(', ')}, ${count('unchanged')} as declared`;
}
