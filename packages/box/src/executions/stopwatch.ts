/** Where the time of one execution goes. Each lap ends a phase and begins the next, so that the phases add up to the whole. */

import { type ExecutionPhase, type ExecutionTimings, executionPhases } from '@skillbox/protocol';

export interface Stopwatch {
  /** What passed since the last lap belongs to this phase. */
  lap(phase: ExecutionPhase): void;
  /** Milliseconds; null for a phase that was not reached. */
  read(): ExecutionTimings;
}

/** `waitedMs`: what it spent in the queue of a process that is gone. */
export function createStopwatch(waitedMs = 0, now: () => number = () => performance.now()): Stopwatch {
  const spent: Record<ExecutionPhase, number | null> = {
    queue: waitedMs,
    claim: null,
    sandbox: null,
    run: null,
    collect: null,
    record: null,
  };
  let since = now();
  return {
    lap(phase) {
      const at = now();
      spent[phase] = (spent[phase] ?? 0) + at - since;
      since = at;
    },
    read() {
      const { queue, claim, sandbox, run, collect, record } = spent;
      return {
        queue: exact(queue ?? 0),
        claim: rounded(claim),
        sandbox: rounded(sandbox),
        run: rounded(run),
        collect: rounded(collect),
        record: rounded(record),
      };
    },
  };
}

/** All phases that were reached, together. */
export const sumOf = (timings: ExecutionTimings): number => executionPhases.reduce((sum, phase) => sum + (timings[phase] ?? 0), 0);

/** To the microsecond: what is finer is noise. */
const exact = (ms: number): number => Math.round(ms * 1000) / 1000;
const rounded = (ms: number | null): number | null => (ms === null ? null : exact(ms));
