/**
 * How busy the processors of the machine are. The kernel only counts up, so a share needs two readings: they are taken when somebody
 * asks, and cost nothing while nobody does.
 */

import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

export interface CpuTimes {
  readonly busy: number;
  readonly idle: number;
}

/** Over less than this one reading says too little. */
const shortestMs = 1000;
/** What is older than this is not what is so now. */
const longestMs = 30_000;
/** Between two readings when there is none to compare with. */
const firstMs = 150;

export interface CpuMeter {
  /** From 0 to 1, of all processors together. */
  used(): Promise<number>;
}

export function createCpuMeter(read: () => CpuTimes = readCpuTimes, now: () => number = () => performance.now()): CpuMeter {
  let before: { readonly at: number; readonly times: CpuTimes } | undefined;
  let share = 0;
  let first: Promise<number> | undefined;

  const measure = (since: CpuTimes): number => {
    const times = read();
    before = { at: now(), times };
    share = shareOf(since, times) ?? share;
    return share;
  };
  const anew = async (): Promise<number> => {
    const since = read();
    await sleep(firstMs);
    return measure(since);
  };

  return {
    async used() {
      if (first) return first;
      const age = before ? now() - before.at : Number.POSITIVE_INFINITY;
      // Several who look at once must not shorten each other's time.
      if (age < shortestMs) return share;
      if (before && age <= longestMs) return measure(before.times);
      first = anew().finally(() => {
        first = undefined;
      });
      return first;
    },
  };
}

/** undefined when the clock of the kernel did not move in between. */
export function shareOf(before: CpuTimes, after: CpuTimes): number | undefined {
  const busy = Math.max(0, after.busy - before.busy);
  const idle = Math.max(0, after.idle - before.idle);
  return busy + idle > 0 ? Math.round((busy / (busy + idle)) * 1000) / 1000 : undefined;
}

function readCpuTimes(): CpuTimes {
  let busy = 0;
  let idle = 0;
  for (const { times } of cpus()) {
    busy += times.user + times.nice + times.sys + times.irq;
    idle += times.idle;
  }
  return { busy, idle };
}
