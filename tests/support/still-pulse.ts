/**
 * In the place of `pulse/control.ts` for tests of its callers: pulse is a process of its own, with tests of its own, and would start again
 * what a test stops. `vi.mock('…/pulse/control.ts', () => import('…/still-pulse.ts'))`.
 */

import type { PulseStatus } from '@skillbox/protocol';
import { asPulseStatus, emptyState } from '../../packages/box/src/graph/pulse/state.ts';

const still: PulseStatus = { ...asPulseStatus(emptyState), running: true };

export const pulse = async (): Promise<PulseStatus> => still;
export const startPulse = pulse;
export const stopPulse = pulse;
