/** skillbox restart: services with those that need them, down and up again. */

import { BoxError, type StartMode, type UpReport } from '@skillbox/protocol';
import { refreshLive } from '../focus/refresh.ts';
import type { Graph, Selection, Service } from '../graph.ts';
import { refuseDeferred } from '../ledger.ts';
import { loadGraph } from '../load.ts';
import { inOrder, withDependents, withNeeded } from '../order.ts';
import { exclusively, type Runtime } from '../runtime.ts';
import { syncGraph } from '../sync/sync.ts';
import { stopAll, stoppables } from './down.ts';
import { outcome } from './outcome.ts';
import { requireMode } from './preconditions.ts';
import { readServiceRecord } from './records.ts';
import { raise, report } from './up.ts';

export interface RestartOptions {
  readonly services: readonly string[];
  readonly mode: StartMode | undefined;
  readonly dryRun: boolean;
  readonly waitSeconds: number | undefined;
}

export async function restart(runtime: Runtime, selection: Selection, options: RestartOptions): Promise<UpReport> {
  if (options.dryRun) return plan(runtime, selection, options);
  return exclusively(runtime, 'restart', async () => {
    const report = await again(runtime, selection, options);
    await refreshLive(runtime);
    return report;
  });
}

async function again(runtime: Runtime, selection: Selection, options: RestartOptions): Promise<UpReport> {
  const graph = loadGraph(runtime.config, selection);
  const { stop, start, modeOf } = choose(runtime, graph, options);
  const { waitSeconds, services: asked, mode = 'reuse' } = options;
  const stopped = await stopAll(
    runtime,
    stoppables(runtime.config.stateRoot, graph).filter(({ id }) => stop.has(id)),
    // Wanted all the while: when this is killed half-way, pulse goes on.
    { wanted: true, waitSeconds: undefined },
  );
  const stuck = stopped.filter(({ result }) => result === 'stuck');
  if (stuck.length > 0)
    throw new BoxError(
      'service_failed',
      `${stuck.map(({ id, detail }) => detail ?? `${id} did not end.`).join(' ')} Nothing was started.`,
      {
        hint: stuck[0]?.error?.hint,
      },
    );
  const ids = start.map(({ id }) => id);
  return raise(runtime, selection, graph, { ids, asked: asked.length > 0 ? [...stop] : [], mode, modeOf, waitSeconds });
}

interface Choice {
  readonly stop: ReadonlySet<string>;
  readonly start: Service[];
  modeOf(service: Service): StartMode;
}

/** Without names, those that run or should. */
function choose(runtime: Runtime, graph: Graph, { services, mode }: RestartOptions): Choice {
  const { stateRoot } = runtime.config;
  refuseDeferred(graph, services);
  const recorded = (id: string) => readServiceRecord(stateRoot, id);
  // A server does not end itself on behalf of a caller.
  const mine = graph.services.filter(({ own }) => !(own === 'api' && runtime.server));
  const known = withNeeded(graph.services, services, 'service').map(({ id }) => id);
  const named = services.length > 0 ? services : known.filter((id) => recorded(id)?.wanted);
  const stop = withDependents(mine, named).filter(({ id }) => services.includes(id) || recorded(id)?.wanted);
  const start =
    stop.length === 0
      ? []
      : withNeeded(
          graph.services,
          stop.map(({ id }) => id),
          'service',
        );
  inOrder(start);
  const modeOf = ({ id }: Service): StartMode => mode ?? recorded(id)?.mode ?? 'reuse';
  for (const service of start) requireMode([service], modeOf(service));
  return { stop: new Set(stop.map(({ id }) => id)), start, modeOf };
}

async function plan(runtime: Runtime, selection: Selection, options: RestartOptions): Promise<UpReport> {
  const graph = loadGraph(runtime.config, selection);
  const { start } = choose(runtime, graph, options);
  const sync = await syncGraph(runtime, graph, { dryRun: true });
  const services = inOrder(start).map(({ id }) => outcome(id, 'dry-run', performance.now()));
  return report(runtime, options.mode ?? 'reuse', { dryRun: true, sync, tasks: [], services });
}
