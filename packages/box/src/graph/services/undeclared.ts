/** Services that run though nothing declares them any more: they, or their client, were taken out of the files since they were started. */

import { BoxError } from '@skillbox/protocol';
import type { ProcessTable } from '../../process/table.ts';
import type { Graph } from '../graph.ts';
import { loadGraph } from '../load.ts';
import type { Runtime } from '../runtime.ts';
import { readServiceRecord, recordedServices, type ServiceRecord } from './records.ts';
import { runningOf } from './running.ts';

/** By id. `graph`: what is looked at; those of other clients and profiles are sought where they were started from. */
export async function undeclaredServices(runtime: Runtime, graph: Graph, table: ProcessTable): Promise<string[]> {
  const { stateRoot } = runtime.config;
  const here = new Set(graph.services.map(({ id, client }) => keyOf(id, client)));
  const elsewhere = new Map<string, ReadonlySet<string> | undefined>();
  const declaredWhere = ({ selection }: ServiceRecord): ReadonlySet<string> | undefined => {
    const key = JSON.stringify(selection);
    if (!elsewhere.has(key)) elsewhere.set(key, declaredBy(runtime, selection));
    return elsewhere.get(key);
  };
  const found = recordedServices(stateRoot).map(async (id) => {
    const record = readServiceRecord(stateRoot, id);
    // The server of the box has the words it was started with.
    if (!record || record.words !== undefined || here.has(keyOf(id, record.client))) return [];
    if (!(await runningOf(runtime, { own: undefined }, record, table))) return [];
    return declaredWhere(record)?.has(keyOf(id, record.client)) === false ? [id] : [];
  });
  return (await Promise.all(found)).flat();
}

/** undefined: its files cannot be read now, so nobody can say. */
function declaredBy({ config }: Runtime, selection: ServiceRecord['selection']): ReadonlySet<string> | undefined {
  try {
    return new Set(loadGraph(config, selection).services.map(({ id, client }) => keyOf(id, client)));
  } catch (error) {
    if (!(error instanceof BoxError)) throw error;
    return error.code === 'client_not_found' ? new Set() : undefined;
  }
}

const keyOf = (id: string, client: string | undefined): string => `${client ?? ''}/${id}`;
