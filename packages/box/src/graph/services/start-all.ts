/** Starts services in order, several at once, and takes back what was started for one that failed. */

import type { ServiceOutcome, StartMode, TaskOutcome } from '@skillbox/protocol';
import type { Graph, Selection, Service } from '../graph.ts';
import { inOrder, reversed, walk, withNeeded } from '../order.ts';
import type { Runtime } from '../runtime.ts';
import { endOfService, tellBegin, tellEnd } from '../work-steps.ts';
import { startService, stopAsStep } from './control.ts';
import { faultOf, isFailure, outcome } from './outcome.ts';

export interface StartAllOptions {
  readonly selection: Selection;
  modeOf(service: Service): StartMode;
  readonly waitMs: number | undefined;
  /** Those that were asked for; the others are there for them. */
  readonly asked: ReadonlySet<string>;
  readonly tasks: readonly TaskOutcome[];
}

/** Most of a start is waiting for health; how much runs at once is then a matter of the services. */
const atOnce = 64;

export async function startAll(
  runtime: Runtime,
  graph: Graph,
  services: readonly Service[],
  options: StartAllOptions,
): Promise<ServiceOutcome[]> {
  const starting = new Set<string>();
  let done = 0;
  const line = (): string => `Starting ${[...starting].join(', ')} (${done} of ${services.length} done)`;
  // One line for all of them.
  const quiet: Runtime = { ...runtime, progress: () => runtime.progress(line()) };
  const results = await walk(services, atOnce, async (service, needed: readonly ServiceOutcome[]) => {
    const step = { kind: 'service', name: `start ${service.id}` } as const;
    const hindered = hindrance(service, needed, options.tasks);
    if (hindered) {
      tellEnd(runtime, step, endOfService(hindered));
      return hindered;
    }
    starting.add(service.id);
    tellBegin(runtime, step, line());
    const { selection, waitMs } = options;
    try {
      const started = await startService(quiet, graph, service, { mode: options.modeOf(service), selection, restarts: 0, waitMs });
      tellEnd(runtime, step, endOfService(started));
      return started;
    } finally {
      starting.delete(service.id);
      done++;
    }
  });
  for (const taken of await takeBack(runtime, services, results, options.asked)) results.set(taken.id, taken);
  return inOrder(services).flatMap(({ id }) => results.get(id) ?? []);
}

function hindrance(service: Service, needed: readonly ServiceOutcome[], tasks: readonly TaskOutcome[]): ServiceOutcome | undefined {
  const failed = needed.filter(isFailure).map(({ id }) => `service ${id}`);
  const undone = tasks
    .filter(({ id, result }) => service.bootstrapTasks.includes(id) && (result === 'failed' || result === 'blocked'))
    .map(({ id }) => `task ${id}`);
  const reasons = [...failed, ...undone];
  if (reasons.length === 0) return undefined;
  const message = `Service ${service.id} was not started: ${reasons.join(', ')}, which it needs, failed.`;
  return outcome(service.id, 'skipped', performance.now(), { error: faultOf('LOCAL_RUNTIME_START_BLOCKED', message) });
}

/** What was started now only for services that did not come up. */
async function takeBack(
  runtime: Runtime,
  services: readonly Service[],
  results: ReadonlyMap<string, ServiceOutcome>,
  asked: ReadonlySet<string>,
): Promise<ServiceOutcome[]> {
  const well = services.filter(({ id }) => asked.has(id) && !isFailure(results.get(id) ?? outcome(id, 'skipped', 0)));
  const kept = new Set(
    well.length === 0
      ? []
      : withNeeded(
          services,
          well.map(({ id }) => id),
          'service',
        ).map(({ id }) => id),
  );
  const needless = services.filter(({ id, own }) => results.get(id)?.result === 'started' && own === undefined && !kept.has(id));
  const stopped = await walk(reversed(needless), atOnce, async ({ id, own, stopMs }) => {
    const taken = await stopAsStep(runtime, { id, own, stopMs }, { wanted: false });
    return { ...taken, detail: taken.detail ?? 'it was started for what failed' };
  });
  return [...stopped.values()];
}
