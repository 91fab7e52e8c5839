import type { SyncReport } from '@skillbox/protocol';
import type { Graph, Selection } from '../graph.ts';
import type { Runtime } from '../runtime.ts';

/** Takes the lock of the graph. */
export async function sync(_runtime: Runtime, _selection: Selection, _options: { dryRun: boolean }): Promise<SyncReport> {
  throw new Error('being written');
}

/** For who holds the lock. */
export async function syncGraph(_runtime: Runtime, _graph: Graph, _options: { dryRun: boolean }): Promise<SyncReport> {
  throw new Error('being written');
}
