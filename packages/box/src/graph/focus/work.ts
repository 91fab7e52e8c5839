/** The first three steps of focus: what they do, and what they leave out when it still holds. The caller holds the lock. */

import type { ServiceOutcome, SyncReport } from '@skillbox/protocol';
import { bridgeState, refreshBridges } from '../bridges.ts';
import type { Graph, Program } from '../graph.ts';
import { loadGraph } from '../load.ts';
import type { Runtime } from '../runtime.ts';
import { startService } from '../services/control.ts';
import { bringUp } from '../services/up.ts';
import { syncGraph } from '../sync/sync.ts';
import { runTasks } from '../tasks/bootstrap.ts';
import { selectionOf } from './collect.ts';
import type { Holding } from './holding.ts';
import type { FocusRecord } from './record.ts';
import { countOf, type Done } from './steps.ts';

export type Wanted = Pick<FocusRecord, 'client' | 'profiles' | 'services' | 'mode'> & { readonly waitSeconds: number | undefined };

export interface Work {
  readonly runtime: Runtime;
  /** Made anew when a bridge ran: what it wrote may be what the graph is made of. */
  graph: Graph;
  readonly wanted: Wanted;
  /** With --resume. */
  readonly holds: Holding | undefined;
}

export async function syncStep(work: Work): Promise<Done & { readonly sync?: SyncReport }> {
  const { runtime, graph, holds } = work;
  const stale = graph.bridges.filter((bridge) => bridgeState(bridge) !== 'fresh');
  if (holds?.files && stale.length === 0) return { result: 'unchanged' };
  await serverFor(work, stale);
  const bridged = await refreshBridges(runtime, graph);
  if (bridged.length > 0) work.graph = loadGraph(runtime.config, selectionOf(graph));
  const sync = await syncGraph(runtime, work.graph, { dryRun: false });
  const failed = sync.actions.filter(({ result }) => result === 'failed');
  if (!sync.ok)
    return {
      sync,
      result: 'failed',
      detail: failed.map(({ section, id, error }) => `${section} ${id}: ${error?.message ?? 'failed'}`).join(' '),
    };
  if (!sync.changed && bridged.length === 0) return { sync, result: 'unchanged' };
  const done = sync.actions.filter(({ result }) => result === 'done').length + bridged.length;
  return { sync, result: 'done', detail: countOf(done, 'action') };
}

export async function bootstrapStep(work: Work): Promise<Done> {
  const { runtime, graph, holds } = work;
  if (holds?.tasks) return { result: 'unchanged' };
  await serverFor(work, graph.tasks);
  const tasks = await runTasks(runtime, graph, { tasks: [], dryRun: false });
  const wrong = tasks.filter(({ result }) => result === 'failed' || result === 'blocked');
  if (wrong.length > 0)
    return { result: 'failed', detail: wrong.map(({ id, error, detail }) => error?.message ?? detail ?? `Task ${id} failed.`).join(' ') };
  const ran = tasks.filter(({ result }) => result === 'done').length;
  return ran > 0 ? { result: 'done', detail: countOf(ran, 'task') } : { result: 'unchanged' };
}

/** Of a resume only what is down. What a failed step left undone is refused by up itself, service by service. */
export async function upStep({ runtime, graph, wanted, holds }: Work, synced: SyncReport | undefined): Promise<Done> {
  if (holds?.down.length === 0) return { result: 'unchanged' };
  const { mode, waitSeconds } = wanted;
  const options = { services: holds ? holds.down : wanted.services, mode, dryRun: false, waitSeconds };
  const { services } = await bringUp(runtime, selectionOf(graph), options, synced);
  const wrong = services.filter(isWrong);
  if (wrong.length > 0)
    return {
      result: 'failed',
      detail: wrong.map(({ id, error, detail }) => error?.message ?? detail ?? `Service ${id} failed.`).join(' '),
    };
  const started = services.filter(({ result }) => result === 'started').length;
  return started > 0 ? { result: 'done', detail: countOf(started, 'service') } : { result: 'unchanged' };
}

const isWrong = ({ result }: ServiceOutcome): boolean =>
  result === 'failed' || result === 'timeout' || result === 'skipped' || result === 'stuck';

/** What runs in a sandbox needs the server, which makes it; up says so if that fails. */
async function serverFor({ runtime, graph, wanted }: Work, programs: readonly Pick<Program, 'template'>[]): Promise<void> {
  const api = graph.services.find(({ own }) => own === 'api');
  if (!api || programs.every(({ template }) => template === undefined)) return;
  await startService(runtime, graph, api, { mode: wanted.mode, selection: selectionOf(graph), restarts: 0, waitMs: undefined });
}
