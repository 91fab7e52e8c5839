/** What services, tasks and bridges wrote, read from the end. */

import { existsSync } from 'node:fs';
import { BoxError, type ServiceLog } from '@skillbox/protocol';
import { tailOfFile } from '../process/log-file.ts';
import { serverLogFile } from '../state.ts';
import type { Graph, Selection } from './graph.ts';
import { refuseDeferred } from './ledger.ts';
import { loadGraph } from './load.ts';
import { requireKnown } from './order.ts';
import { logPath } from './programs/log-path.ts';
import { apiService } from './rules.ts';
import type { Runtime } from './runtime.ts';
import { isManaged } from './services/preconditions.ts';
import { readServiceRecord } from './services/records.ts';

export interface LogOptions {
  readonly services: readonly string[];
  readonly lines: number;
}

export async function logs(runtime: Runtime, selection: Selection, options: LogOptions): Promise<{ items: ServiceLog[] }> {
  const files = logFiles(runtime, selection, options.services);
  return { items: files.map(({ service, path }) => ({ service, path, lines: tailOfFile(path, options.lines) })) };
}

export interface LogFile {
  readonly service: string;
  readonly path: string;
}

/** Of those that are named, written or not; without names, of all that wrote. */
export function logFiles(runtime: Runtime, selection: Selection, named: readonly string[]): LogFile[] {
  const graph = loadGraph(runtime.config, selection);
  refuseDeferred(graph, named);
  const every = everyLog(runtime.config.stateRoot, graph);
  // What the server writes is about all tenants; the workspace is one of them.
  const all = runtime.inside === undefined ? every : every.filter(({ path }) => path !== serverLogFile(runtime.config.stateRoot));
  if (all.length < every.length && named.includes(apiService))
    throw new BoxError('forbidden', 'The log of the server is not shown inside.', {
      hint: 'Read it on the machine of the box: skillbox logs --service api.',
    });
  if (named.length === 0) return all.filter(({ path }) => existsSync(path));
  requireKnown(
    all.map(({ service }) => ({ id: service, dependsOn: [] })),
    named,
    'service or task',
  );
  return all.filter(({ service }) => named.includes(service));
}

/** A service and a task may have one name: then both are meant. */
function everyLog(stateRoot: string, graph: Graph): LogFile[] {
  const services = graph.services.filter(isManaged).map((service) => ({
    service: service.id,
    path:
      service.own === 'api' ? serverLogFile(stateRoot) : (recorded(stateRoot, service) ?? logPath(stateRoot, graph, 'services', service)),
  }));
  const rest = (['tasks', 'bridges'] as const).flatMap((kind) =>
    graph[kind].map((item) => ({ service: item.id, path: logPath(stateRoot, graph, kind, item) })),
  );
  return [...services, ...rest];
}

/** Where what runs writes, if the declaration has changed since. */
function recorded(stateRoot: string, { id, client }: { id: string; client: string | undefined }): string | undefined {
  const record = readServiceRecord(stateRoot, id);
  return record?.client === client ? record?.log : undefined;
}
