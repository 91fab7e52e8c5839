/** A short memory of what sandboxes use, sampled while something runs in them. Holds no sandbox awake: nobody counts it as use. */

import type { SandboxHandle, SandboxMetrics } from './living.ts';

export interface Sample extends SandboxMetrics {
  readonly time: number;
}

export interface MetricsHistory {
  /** Samples until nothing runs any more. */
  follow(sandbox: string, handle: SandboxHandle): void;
  /** Oldest first. */
  of(sandbox: string): readonly Sample[];
}

const everyMs = 5000;
const samplesKept = 120;
const sandboxesKept = 1000;

const histories = new WeakMap<object, MetricsHistory>();

/** One for each box: `owner` is what holds its sandboxes. */
export function metricsHistory(owner: object): MetricsHistory {
  const known = histories.get(owner);
  if (known) return known;
  const made = createMetricsHistory();
  histories.set(owner, made);
  return made;
}

export function createMetricsHistory(intervalMs = everyMs): MetricsHistory {
  const samples = new Map<string, Sample[]>();
  const following = new Set<string>();

  const sample = async (sandbox: string, handle: SandboxHandle): Promise<void> => {
    const list = samples.get(sandbox) ?? [];
    list.push({ time: Date.now(), ...(await handle.metrics()) });
    if (list.length > samplesKept) list.shift();
    // Set anew, so that the map's order is that of use.
    samples.delete(sandbox);
    samples.set(sandbox, list);
    const [oldest] = samples.keys();
    if (samples.size > sandboxesKept && oldest !== undefined) samples.delete(oldest);
  };

  const goOn = (sandbox: string, handle: SandboxHandle): void => {
    const timer = setTimeout(async () => {
      try {
        if (!(await handle.isActive())) following.delete(sandbox);
        else {
          await sample(sandbox, handle);
          goOn(sandbox, handle);
        }
      } catch {
        // The sandbox is gone: there is nothing to sample.
        following.delete(sandbox);
      }
    }, intervalMs);
    timer.unref();
  };

  return {
    follow(sandbox, handle) {
      if (following.has(sandbox)) return;
      following.add(sandbox);
      goOn(sandbox, handle);
    },
    of: (sandbox) => samples.get(sandbox) ?? [],
  };
}
