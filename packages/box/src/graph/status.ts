/** The state of everything that is declared, and what of it needs attention. Reads only. */

import type { RuntimeStatus } from '@skillbox/protocol';
import { readProcessTable } from '../process/table.ts';
import { attentionOf } from './attention.ts';
import { bridgeStates } from './bridges.ts';
import { checkStatuses } from './checks.ts';
import { lastFocus } from './focus/record.ts';
import type { Graph, Selection } from './graph.ts';
import { coverageGaps } from './ledger.ts';
import { loadGraph } from './load.ts';
import { pulse } from './pulse/control.ts';
import type { Runtime } from './runtime.ts';
import { serviceStatus } from './services/control.ts';
import { readServiceRecords } from './services/records.ts';
import type { Seen } from './services/service-state.ts';
import { undeclaredServices } from './services/undeclared.ts';
import { bounded } from './sync/bounded.ts';
import { fileStates } from './sync/states.ts';
import { lastFailure, taskStates } from './tasks/states.ts';

/** A look must be quick: what does not answer within this time is not well. */
const lookMs = 800;
const atOnce = 64;

export async function status(runtime: Runtime, selection: Selection): Promise<RuntimeStatus> {
  return graphStatus(runtime, loadGraph(runtime.config, selection));
}

/** For who has the graph already. */
export async function graphStatus(runtime: Runtime, graph: Graph): Promise<RuntimeStatus> {
  const { stateRoot } = runtime.config;
  const seen: Seen = { table: readProcessTable(), records: new Map(readServiceRecords(stateRoot).map((record) => [record.id, record])) };
  const [files, tasks, services, undeclared, checks, pulseStatus] = await Promise.all([
    fileStates(runtime, graph),
    taskStates(runtime, graph),
    bounded(graph.services, atOnce, (service) => serviceStatus(runtime, graph, service, { ...seen, withinMs: lookMs })),
    undeclaredServices(runtime, graph, seen),
    checkStatuses(runtime, graph, lookMs),
    pulse(runtime),
  ]);
  const bridges = bridgeStates(graph);
  const failures = new Map(graph.tasks.flatMap((task) => [[task.id, lastFailure(stateRoot, task)] as const]));
  const attention = attentionOf({
    ...{ ...files, tasks, services, undeclared, checks, bridges, failures },
    ...{ pulse: pulseStatus, gaps: coverageGaps(graph) },
  });
  return {
    client: graph.client?.id ?? null,
    profiles: [...graph.profiles],
    clients: [...graph.clients],
    healthy: attention.length === 0,
    config_hash: graph.configHash,
    ...files,
    tasks,
    services,
    checks,
    bridges,
    parity_ledger: [...graph.parityLedger],
    connectors: [...graph.connectors],
    pulse: pulseStatus,
    focus: lastFocus(stateRoot),
    attention,
  };
}
