import type { FocusReport, StartMode } from '@skillbox/protocol';
import type { Runtime } from '../runtime.ts';

export interface FocusOptions {
  readonly client: string | undefined;
  readonly profiles: readonly string[];
  readonly services: readonly string[];
  readonly mode: StartMode;
  readonly resume: boolean;
  readonly waitSeconds: number | undefined;
}

export async function focus(_runtime: Runtime, _options: FocusOptions): Promise<FocusReport> {
  throw new Error('being written');
}
