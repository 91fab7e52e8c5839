/** The graphs that services were started with: read anew at each look, the last good one kept when a file is broken meanwhile. */

import type { Config } from '../../config.ts';
import type { Graph, Selection, Service } from '../graph.ts';
import type { ServiceRecord } from '../services/records.ts';

export interface Declared {
  readonly graph: Graph;
  readonly service: Service;
}

export interface Graphs {
  /** That of the box without a client, and those of these selections. The first error, if any. */
  reload(config: Config, selections: readonly Selection[]): Error | undefined;
  all(): Graph[];
  readonly configHash: string | null;
  /** As it is declared now; undefined when it is no more. */
  find(config: Config, record: ServiceRecord): Declared | undefined;
}

export type Load = (config: Config, selection: Selection) => Graph;

const box: Selection = { client: undefined, profiles: [] };

export function createGraphs(load: Load): Graphs {
  const known = new Map<string, Graph>();
  let errors = new Map<string, Error>();
  /** Starts of services that were not known and for which the files were read anew. */
  const sought = new Set<string>();

  const read = (config: Config, selection: Selection): Graph | undefined => {
    const key = keyOf(selection);
    try {
      const graph = load(config, selection);
      known.set(key, graph);
      errors.delete(key);
      return graph;
    } catch (error) {
      errors.set(key, error as Error);
      return known.get(key);
    }
  };

  return {
    reload(config, selections) {
      const wanted = new Map([box, ...selections].map((selection) => [keyOf(selection), selection]));
      for (const key of known.keys()) if (!wanted.has(key)) known.delete(key);
      errors = new Map();
      for (const selection of wanted.values()) read(config, selection);
      return [...errors.values()][0];
    },
    all: () => [...known.values()],
    get configHash() {
      return known.get(keyOf(box))?.configHash ?? null;
    },
    find(config, record) {
      const declaredIn = (from: Graph | undefined): Declared | undefined => {
        const service = from?.services.find(({ id, client }) => id === record.id && client === record.client);
        return from && service && { graph: from, service };
      };
      const graph = known.get(keyOf(record.selection));
      const found = declaredIn(graph);
      const start = `${record.id} ${record.startedAt}`;
      if (found || (graph && sought.has(start))) return found;
      // Declared and started since the last look: what was read then does not have it. Once for each start: one that is declared no more is asked for often.
      sought.add(start);
      return declaredIn(read(config, record.selection));
    },
  };
}

function keyOf({ client, profiles }: Selection): string {
  return JSON.stringify([client ?? null, [...profiles].sort()]);
}
