import type { BootstrapReport, TaskOutcome } from '@skillbox/protocol';
import type { Graph, Selection } from '../graph.ts';
import type { Runtime } from '../runtime.ts';

export interface BootstrapOptions {
  readonly tasks: readonly string[];
  readonly dryRun: boolean;
}

export async function bootstrap(_runtime: Runtime, _selection: Selection, _options: BootstrapOptions): Promise<BootstrapReport> {
  throw new Error('being written');
}

/** For who holds the lock; runs what these need first. */
export async function runTasks(_runtime: Runtime, _graph: Graph, _options: BootstrapOptions): Promise<TaskOutcome[]> {
  throw new Error('being written');
}
