import type { ServiceLog } from '@skillbox/protocol';
import type { Selection } from './graph.ts';
import type { Runtime } from './runtime.ts';

export async function logs(
  _runtime: Runtime,
  _selection: Selection,
  _options: { services: readonly string[]; lines: number },
): Promise<{ items: ServiceLog[] }> {
  throw new Error('being written');
}
