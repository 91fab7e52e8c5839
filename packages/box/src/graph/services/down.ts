/** skillbox down: those that need others first; by what is recorded, so that it works whatever became of the manifest. */

import { BoxError, type DownReport, type ServiceOutcome } from '@skillbox/protocol';
import { refreshLive } from '../focus/refresh.ts';
import type { Graph, Selection, Service } from '../graph.ts';
import { refuseDeferred } from '../ledger.ts';
import { loadGraph } from '../load.ts';
import { requireKnown, reversed, walk, withDependents } from '../order.ts';
import { stopPulse } from '../pulse/control.ts';
import { exclusively, type Runtime } from '../runtime.ts';
import { stopAsStep } from './control.ts';
import { outcome } from './outcome.ts';
import { isManaged } from './preconditions.ts';
import { readServiceRecords, type ServiceRecord } from './records.ts';
import { runningOf } from './running.ts';

export interface DownOptions {
  readonly services: readonly string[];
  readonly dryRun: boolean;
  readonly waitSeconds: number | undefined;
}

/** What can be stopped: a declared service, or one that is declared no more but still has a record. */
export interface Stoppable {
  readonly id: string;
  readonly own: Service['own'];
  readonly stopMs: number;
  readonly dependsOn: readonly string[];
  readonly record: ServiceRecord | undefined;
  /** Somebody else runs it. */
  readonly elsewhere: boolean;
  /** Always there, whatever is selected. */
  readonly core: boolean;
}

const defaultStopMs = 5000;
const atOnce = 32;

export async function down(runtime: Runtime, selection: Selection, options: DownOptions): Promise<DownReport> {
  if (options.dryRun) return plan(runtime, selection, options);
  return exclusively(runtime, 'down', async () => {
    const { chosen, whole } = choose(runtime, selection, options);
    // First: it would start again what is stopped. From inside it goes on, and knows what is not wanted.
    if (whole && runtime.inside === undefined) await stopPulse(runtime);
    const stopped = await stopAll(runtime, chosen, { wanted: false, waitSeconds: options.waitSeconds });
    await refreshLive(runtime);
    return reportOf(stopped, false);
  });
}

/** Dependents first, the server of the box last: it has the sandboxes. */
export async function stopAll(
  runtime: Runtime,
  chosen: readonly Stoppable[],
  { wanted, waitSeconds }: { wanted: boolean; waitSeconds: number | undefined },
): Promise<ServiceOutcome[]> {
  const patienceMs = waitSeconds === undefined ? undefined : waitSeconds * 1000;
  const api = chosen.filter(({ own }) => own === 'api');
  const others = chosen.filter(({ own }) => own !== 'api');
  const stop = async ({ id, own, stopMs, elsewhere }: Stoppable): Promise<ServiceOutcome> =>
    elsewhere
      ? outcome(id, 'external', performance.now(), { detail: 'managed elsewhere' })
      : stopAsStep(runtime, { id, own, stopMs: patienceMs ?? stopMs }, { wanted });
  const stopped = await walk(reversed(others), atOnce, stop);
  return [...stopped.values(), ...(await Promise.all(api.map(stop)))];
}

/** By the graph and by the records; a record says better than the graph what runs under its name. */
export function stoppables(stateRoot: string, graph: Pick<Graph, 'services'>): Stoppable[] {
  const records = new Map(readServiceRecords(stateRoot).map((record) => [record.id, record]));
  const declared = graph.services.map((service): Stoppable => {
    const { id, own, client, stopMs, dependsOn, profiles } = service;
    const record = records.get(id);
    records.delete(id);
    const core = client === undefined && (profiles.length === 0 || profiles.includes('core'));
    if (record && own === undefined && record.client !== client) return ofRecord(record);
    return { id, own, stopMs, dependsOn, record, core, elsewhere: !isManaged(service) };
  });
  return [...declared, ...[...records.values()].map(ofRecord)];
}

function ofRecord(record: ServiceRecord): Stoppable {
  const { id, client, stopMs = defaultStopMs, dependsOn = [] } = record;
  // One of the box itself keeps the words it was started with.
  const own = record.words === undefined ? undefined : 'api';
  return { id, own, stopMs, dependsOn, record, elsewhere: false, core: client === undefined && record.selection.profiles.length === 0 };
}

interface Choice {
  readonly chosen: Stoppable[];
  /** Everything, pulse and the server too. */
  readonly whole: boolean;
}

function choose(runtime: Runtime, selection: Selection, { services }: DownOptions): Choice {
  const { stateRoot } = runtime.config;
  const narrowed = selection.client !== undefined || selection.profiles.length > 0;
  const whole = services.length === 0 && !narrowed;
  const graph = whole ? graphIfAny(runtime, selection) : loadGraph(runtime.config, selection);
  const all = stoppables(stateRoot, graph ?? { services: [] });
  if (whole) return { chosen: all.filter(({ record, own }) => record !== undefined || own === 'api'), whole };
  refuseDeferred(graph ?? { parityLedger: [], services: [] }, services);
  if (services.length > 0) requireKnown(all, services, 'service');
  const selected = new Set(graph?.services.map(({ id }) => id));
  // Without names, what a client or a profile adds to the box.
  const named = services.length > 0 ? services : all.filter(({ id, core }) => !core && selected.has(id)).map(({ id }) => id);
  const chosen = withDependents(all, named).filter(({ id, record }) => record !== undefined || services.includes(id));
  return { chosen, whole };
}

/** A manifest that cannot be read must not keep anybody from stopping what runs. */
function graphIfAny(runtime: Runtime, selection: Selection): Graph | undefined {
  try {
    return loadGraph(runtime.config, selection);
  } catch (error) {
    if (!(error instanceof BoxError)) throw error;
    runtime.progress(`Going by what was started: ${error.message}`);
    return undefined;
  }
}

async function plan(runtime: Runtime, selection: Selection, options: DownOptions): Promise<DownReport> {
  const { chosen } = choose(runtime, selection, options);
  const outcomes = chosen.map(async ({ id, own, record, elsewhere }) => {
    const since = performance.now();
    if (elsewhere) return outcome(id, 'external', since);
    const running = await runningOf(runtime, { own }, record);
    return outcome(id, running ? 'dry-run' : 'not-running', since, { pid: running?.process?.pid ?? null });
  });
  return reportOf(await Promise.all(outcomes), true);
}

const reportOf = (services: ServiceOutcome[], dryRun: boolean): DownReport => ({
  ok: services.every(({ result }) => result !== 'stuck'),
  dry_run: dryRun,
  services,
});
