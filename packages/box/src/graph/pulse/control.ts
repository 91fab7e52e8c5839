import type { PulseStatus } from '@skillbox/protocol';
import type { Runtime } from '../runtime.ts';

export async function pulse(_runtime: Runtime): Promise<PulseStatus> {
  throw new Error('being written');
}

/** Harmless when it runs already. */
export async function startPulse(_runtime: Runtime, _options: { interval?: number | undefined } = {}): Promise<PulseStatus> {
  throw new Error('being written');
}

export async function stopPulse(_runtime: Runtime): Promise<PulseStatus> {
  throw new Error('being written');
}
