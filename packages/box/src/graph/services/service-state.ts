/** The state of a declared service: what its record says, the kernel confirms and its healthcheck finds. */

import { type ServiceStatus, type StartMode, startModes } from '@skillbox/protocol';
import type { ProcessTable } from '../../process/table.ts';
import type { Graph, Service } from '../graph.ts';
import { logPath } from '../programs/log-path.ts';
import type { Runtime } from '../runtime.ts';
import { probeHealth } from './health.ts';
import { itemStatus } from './item-status.ts';
import { isManaged } from './preconditions.ts';
import { readServiceRecord, type ServiceRecord } from './records.ts';
import { definitionOf, type Running, runningOf } from './running.ts';

/** Read once, for who looks at many. */
export interface Seen {
  readonly table: ProcessTable;
  readonly records: ReadonlyMap<string, ServiceRecord>;
}

export interface Look extends Partial<Seen> {
  /** The most that one look at its health may take. */
  readonly withinMs?: number;
}

type Found = Pick<ServiceStatus, 'state' | 'healthy' | 'detail'>;

export async function statusOf(runtime: Runtime, graph: Graph, service: Service, look: Look): Promise<ServiceStatus> {
  const { stateRoot } = runtime.config;
  const recorded = look.records ? look.records.get(service.id) : readServiceRecord(stateRoot, service.id);
  // A service of the same name that another client has is not this one.
  const record = recorded?.client === service.client ? recorded : undefined;
  const running = await runningOf(runtime, service, record, look.table);
  const found = isManaged(service)
    ? record && running
      ? await stateOfRunning(runtime, graph, service, record, running, look)
      : stateOfStopped(record)
    : await stateOfUnmanaged(runtime, graph, service, look);
  return {
    ...itemStatus(service),
    ...found,
    kind: service.kind,
    wanted: record?.wanted ?? false,
    pid: running?.process?.pid ?? null,
    sandbox: running?.sandbox?.sandbox ?? null,
    mode: running && record ? record.mode : null,
    modes: startModes.filter((mode: StartMode) => service.commands[mode] !== undefined),
    depends_on: [...service.dependsOn],
    started_at: running && record ? record.startedAt : null,
    restarts: record?.restarts ?? 0,
    log: record?.log ?? (isManaged(service) ? logPath(stateRoot, graph, 'services', service) : null),
  };
}

async function stateOfRunning(
  runtime: Runtime,
  graph: Graph,
  service: Service,
  record: ServiceRecord,
  running: Running,
  look: Look,
): Promise<Found> {
  const { healthy, detail } = await probeHealth(runtime, graph, service, running.sandbox, look.withinMs);
  const checked = service.healthcheck ? healthy : null;
  // That nobody can ask makes it neither well nor down: it runs.
  if (healthy !== false) {
    const changed = record.definition !== definitionOf(service, record.mode);
    return { state: 'running', healthy: checked, detail: changed ? 'its declaration changed since it was started' : null };
  }
  const young = Date.now() - Date.parse(record.startedAt) < service.startMs;
  return { state: young ? 'starting' : 'down', healthy: checked, detail };
}

function stateOfStopped(record: ServiceRecord | undefined): Found {
  if (record?.failure !== undefined) return { state: 'down', healthy: null, detail: record.failure };
  if (record?.wanted) return { state: 'down', healthy: null, detail: 'its process is gone' };
  return { state: 'declared', healthy: null, detail: null };
}

/** Nobody here starts it: its healthcheck is all that can be known. */
async function stateOfUnmanaged(runtime: Runtime, graph: Graph, service: Service, look: Look): Promise<Found> {
  if (!service.healthcheck) return { state: 'idle', healthy: null, detail: null };
  if (service.healthcheck.type === 'process_running') return { state: 'unknown', healthy: null, detail: 'managed elsewhere' };
  const { healthy, detail } = await probeHealth(runtime, graph, service, undefined, look.withinMs);
  return { state: healthy ? 'ok' : 'down', healthy, detail };
}
