/** One service: start it, stop it, look at it. For up, down, restart and pulse, which hold the lock of the graph. */

import type { ServiceOutcome, ServiceStatus, StartMode } from '@skillbox/protocol';
import type { Graph, Selection, Service } from '../graph.ts';
import type { Runtime } from '../runtime.ts';

export interface StartOptions {
  readonly mode: StartMode;
  readonly selection: Selection;
  /** Of its record; 0 when somebody starts it by hand. */
  readonly restarts: number;
  readonly waitMs: number | undefined;
}

/** Starts it and waits for its health. A service that fails or is late is stopped again. */
export async function startService(_runtime: Runtime, _graph: Graph, _service: Service, _options: StartOptions): Promise<ServiceOutcome> {
  throw new Error('being written');
}

/** SIGTERM to its group, its patience, SIGKILL. `wanted`: whether pulse may start it again. */
export async function stopService(_runtime: Runtime, _service: Service, _options: { wanted: boolean }): Promise<ServiceOutcome> {
  throw new Error('being written');
}

export async function serviceStatus(_runtime: Runtime, _graph: Graph, _service: Service): Promise<ServiceStatus> {
  throw new Error('being written');
}
