import type { DownReport } from '@skillbox/protocol';
import type { Selection } from '../graph.ts';
import type { Runtime } from '../runtime.ts';

export interface DownOptions {
  readonly services: readonly string[];
  readonly dryRun: boolean;
  readonly waitSeconds: number | undefined;
}

export async function down(_runtime: Runtime, _selection: Selection, _options: DownOptions): Promise<DownReport> {
  throw new Error('being written');
}
