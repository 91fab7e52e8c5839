import type { RuntimeStatus } from '@skillbox/protocol';
import type { Selection } from './graph.ts';
import type { Runtime } from './runtime.ts';

export async function status(_runtime: Runtime, _selection: Selection): Promise<RuntimeStatus> {
  throw new Error('being written');
}
