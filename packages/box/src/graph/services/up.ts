/** skillbox up: from what is declared to what runs, in one order for the CLI, the server and focus. */

import { existsSync } from 'node:fs';
import {
  BoxError,
  isErrorCode,
  type ServiceOutcome,
  type StartMode,
  type SyncReport,
  type TaskOutcome,
  type UpReport,
} from '@skillbox/protocol';
import { adminKeyFile } from '../../state.ts';
import { bridgeState, refreshBridges } from '../bridges.ts';
import { refreshLive } from '../focus/refresh.ts';
import type { Graph, Selection, Service } from '../graph.ts';
import { refuseDeferred } from '../ledger.ts';
import { loadGraph } from '../load.ts';
import { inOrder, withNeeded } from '../order.ts';
import { pulse, startPulse, stopPulse } from '../pulse/control.ts';
import { exclusively, type Runtime } from '../runtime.ts';
import { syncGraph } from '../sync/sync.ts';
import { runTasks } from '../tasks/bootstrap.ts';
import { asStep, endOfService } from '../work-steps.ts';
import { apiUrl } from './api.ts';
import { startService } from './control.ts';
import { isFailure, outcome } from './outcome.ts';
import { requireMode } from './preconditions.ts';
import { readServiceRecord } from './records.ts';
import { runningOf } from './running.ts';
import { startAll } from './start-all.ts';

export interface UpOptions {
  readonly services: readonly string[];
  readonly mode: StartMode;
  readonly dryRun: boolean;
  readonly waitSeconds: number | undefined;
}

export async function up(runtime: Runtime, selection: Selection, options: UpOptions): Promise<UpReport> {
  if (options.dryRun) return plan(runtime, selection, options);
  return exclusively(runtime, 'up', async () => {
    const report = await bringUp(runtime, selection, options);
    await refreshLive(runtime);
    return report;
  });
}

/** For who holds the lock. `synced`: what a sync just now found, which need not be done again. */
export async function bringUp(runtime: Runtime, selection: Selection, options: UpOptions, synced?: SyncReport): Promise<UpReport> {
  const graph = loadGraph(runtime.config, selection);
  const chosen = choose(graph, options);
  return raise(runtime, selection, graph, {
    ...options,
    ids: chosen.map(({ id }) => id),
    asked: options.services,
    modeOf: () => options.mode,
    synced,
  });
}

export interface Raising {
  /** What to start, in any order. */
  readonly ids: readonly string[];
  /** Those that somebody named; empty: all of them. */
  readonly asked: readonly string[];
  readonly mode: StartMode;
  modeOf(service: Service): StartMode;
  readonly waitSeconds: number | undefined;
  readonly synced?: SyncReport | undefined;
}

/** The server, then bridges, sync, tasks and services; pulse beside them. Modes are checked by now. */
export async function raise(runtime: Runtime, selection: Selection, first: Graph, raising: Raising): Promise<UpReport> {
  const { ids, modeOf } = raising;
  const waitMs = raising.waitSeconds === undefined ? undefined : raising.waitSeconds * 1000;
  const supervisor = beginPulse(runtime);
  const api = await raiseApi(runtime, selection, first, raising.mode).catch(async (error) => {
    await supervisor.undo();
    throw error;
  });
  // What bridges write may be what the graph is made of.
  const graph = (await refreshBridges(runtime, first)).length > 0 ? loadGraph(runtime.config, selection) : first;
  const services = graph.services.filter(({ id, own }) => ids.includes(id) && own === undefined);
  const sync = raising.synced ?? (await syncGraph(runtime, graph, { dryRun: false }));
  const tasks = await runTasksOf(runtime, graph, services, false);
  const asked = new Set(raising.asked.length > 0 ? raising.asked : ids);
  const started = await startAll(runtime, graph, services, { selection, modeOf, waitMs, asked, tasks });
  await supervisor.started;
  return report(runtime, raising.mode, { dryRun: false, sync, tasks, services: [...api, ...started] });
}

/** It takes as long to begin as the server does, so both begin at once; it leaves alone what somebody is in the middle of starting. */
function beginPulse(runtime: Runtime): { readonly started: Promise<unknown>; undo(): Promise<void> } {
  const before = pulse(runtime);
  const started = before.then(() => startPulse(runtime));
  const settled = started.then(
    () => true,
    // Told at the end, by who waits for it; what else fails until then is more to the point.
    () => false,
  );
  return {
    started,
    async undo() {
      if ((await settled) && !(await before).running) await stopPulse(runtime);
    },
  };
}

/** All that are selected, or those that are named with what they need; refused here or not at all. */
function choose(graph: Graph, { services, mode }: Pick<UpOptions, 'services' | 'mode'>): Service[] {
  refuseDeferred(graph, services);
  const chosen = withNeeded(graph.services, services, 'service');
  inOrder(chosen);
  inOrder(tasksOf(graph, chosen));
  requireMode(chosen, mode);
  return chosen;
}

/** A box is up when its server is, whatever else was asked for: sandboxes are made by it. */
async function raiseApi(runtime: Runtime, selection: Selection, graph: Graph, mode: StartMode): Promise<ServiceOutcome[]> {
  const api = graph.services.find(({ own }) => own === 'api');
  if (!api) return [];
  const start = () => startService(runtime, graph, api, { mode, selection, restarts: 0, waitMs: undefined });
  const result = await asStep(runtime, { kind: 'service', name: `start ${api.id}` }, 'Starting the server', start, endOfService);
  const { error } = result;
  if (error && isFailure(result))
    throw new BoxError(isErrorCode(error.error) ? error.error : 'start_failed', error.message, { hint: error.hint });
  return [result];
}

const tasksOf = (graph: Graph, services: readonly Service[]): Graph['tasks'] => {
  const named = services.flatMap(({ bootstrapTasks }) => bootstrapTasks);
  return named.length === 0 ? [] : withNeeded(graph.tasks, named, 'task');
};

async function runTasksOf(runtime: Runtime, graph: Graph, services: readonly Service[], dryRun: boolean): Promise<TaskOutcome[]> {
  const tasks = tasksOf(graph, services).map(({ id }) => id);
  return tasks.length === 0 ? [] : runTasks(runtime, graph, { tasks, dryRun });
}

/** Says what up would do; reads only. */
async function plan(runtime: Runtime, selection: Selection, options: UpOptions): Promise<UpReport> {
  const graph = loadGraph(runtime.config, selection);
  const chosen = choose(graph, options);
  const stale = graph.bridges.filter((bridge) => bridgeState(bridge) !== 'fresh').map(({ id }) => id);
  if (stale.length > 0) runtime.progress(`Bridges that would run: ${stale.join(', ')}`);
  const sync = await syncGraph(runtime, graph, { dryRun: true });
  const tasks = await runTasksOf(runtime, graph, chosen, true);
  const services = await Promise.all(inOrder(chosen).map((service) => planned(runtime, service)));
  return report(runtime, options.mode, { dryRun: true, sync, tasks, services });
}

export async function planned(runtime: Runtime, service: Service): Promise<ServiceOutcome> {
  const since = performance.now();
  const running = await runningOf(runtime, service, readServiceRecord(runtime.config.stateRoot, service.id));
  return outcome(service.id, running ? 'already-running' : 'dry-run', since, { pid: running?.process?.pid ?? null });
}

interface Parts {
  readonly dryRun: boolean;
  readonly sync: SyncReport;
  readonly tasks: TaskOutcome[];
  readonly services: ServiceOutcome[];
}

export function report({ config }: Runtime, mode: StartMode, { dryRun, sync, tasks, services }: Parts): UpReport {
  const key = adminKeyFile(config.stateRoot);
  const ok = sync.ok && tasks.every(({ result }) => result !== 'failed' && result !== 'blocked') && !services.some(isFailure);
  return { ok, dry_run: dryRun, mode, sync, tasks, services, url: apiUrl(config), admin_key_file: existsSync(key) ? key : null };
}
