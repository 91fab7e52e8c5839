/** From samples of what a sandbox used to what a chart shows. */

import type { SandboxUsage } from '@skillbox/sdk';

export interface Reading {
  readonly time: string;
  /** In CPUs: 1 is one that was busy all the time. */
  readonly cpu: number;
  readonly memory: number;
  readonly disk: number;
  readonly processes: number;
}

/** Oldest first. The CPU time counts from the start, and begins anew after a pause. */
export function readingsOf(samples: readonly SandboxUsage[]): Reading[] {
  return samples.map((sample, at) => {
    const before = samples[at - 1];
    const passed = before ? Date.parse(sample.time) - Date.parse(before.time) : 0;
    const used = before ? sample.cpu_ms - before.cpu_ms : 0;
    return {
      time: sample.time,
      cpu: passed > 0 && used > 0 ? used / passed : 0,
      memory: sample.memory_bytes,
      disk: sample.disk_bytes,
      processes: sample.processes,
    };
  });
}
