/** Services that run though nothing declares them any more: they, or their client, were taken out of the files since they were started. */

import { BoxError } from '@skillbox/protocol';
import type { Graph } from '../graph.ts';
import { loadGraph } from '../load.ts';
import type { Runtime } from '../runtime.ts';
import type { ServiceRecord } from './records.ts';
import { runningOf } from './running.ts';
import type { Seen } from './service-state.ts';

/** By id. `graph`: what is looked at; those of other clients and profiles are sought where they were started from. */
export async function undeclaredServices(runtime: Runtime, graph: Graph, { records, table }: Seen): Promise<string[]> {
  const here = new Set(graph.services.map(({ id, client }) => keyOf(id, client)));
  const elsewhere = new Map<string, ReadonlySet<string> | undefined>();
  const declaredWhere = ({ selection }: ServiceRecord): ReadonlySet<string> | undefined => {
    const key = JSON.stringify(selection);
    if (!elsewhere.has(key)) elsewhere.set(key, declaredBy(runtime, selection));
    return elsewhere.get(key);
  };
  const found = [...records.values()].map(async (record) => {
    const { id, client, words } = record;
    // The server of the box has the words it was started with.
    if (words !== undefined || here.has(keyOf(id, client))) return [];
    if (!(await runningOf(runtime, { own: undefined }, record, table))) return [];
    return declaredWhere(record)?.has(keyOf(id, client)) === false ? [id] : [];
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
