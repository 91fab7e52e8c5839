import type { StartMode, UpReport } from '@skillbox/protocol';
import type { Selection } from '../graph.ts';
import type { Runtime } from '../runtime.ts';

export interface RestartOptions {
  readonly services: readonly string[];
  readonly mode: StartMode | undefined;
  readonly dryRun: boolean;
  readonly waitSeconds: number | undefined;
}

export async function restart(_runtime: Runtime, _selection: Selection, _options: RestartOptions): Promise<UpReport> {
  throw new Error('being written');
}
