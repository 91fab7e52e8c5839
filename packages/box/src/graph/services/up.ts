import type { StartMode, UpReport } from '@skillbox/protocol';
import type { Selection } from '../graph.ts';
import type { Runtime } from '../runtime.ts';

export interface UpOptions {
  readonly services: readonly string[];
  readonly mode: StartMode;
  readonly dryRun: boolean;
  readonly waitSeconds: number | undefined;
}

export async function up(_runtime: Runtime, _selection: Selection, _options: UpOptions): Promise<UpReport> {
  throw new Error('being written');
}
