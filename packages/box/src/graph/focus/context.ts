import type { ContextReport } from '@skillbox/protocol';
import type { Graph, Selection } from '../graph.ts';
import type { Runtime } from '../runtime.ts';

export async function context(_runtime: Runtime, _selection: Selection, _options: { dryRun: boolean }): Promise<ContextReport> {
  throw new Error('being written');
}

/** For sync, which holds the lock and writes context anew. */
export async function writeContext(_runtime: Runtime, _graph: Graph, _options: { dryRun: boolean }): Promise<ContextReport> {
  throw new Error('being written');
}
