/** Measuring several things in turns, and what is said of the samples. */

/** Three rounds that are not counted, then `rounds` that are; `after` each round, off the clock. */
export async function inTurns<K extends string>(
  tasks: Record<K, () => Promise<void>>,
  rounds: number,
  after: () => Promise<void> = async () => undefined,
): Promise<Record<K, number[]>> {
  const names = Object.keys(tasks) as K[];
  const samples = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<K, number[]>;
  for (let round = -3; round < rounds; round += 1) {
    for (const name of names) {
      const started = performance.now();
      await tasks[name]();
      if (round >= 0) samples[name].push(performance.now() - started);
      // Standby is refilled off the request's path: give it the moment that real callers leave too.
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    await after();
  }
  return samples;
}

export function percentile(values: readonly number[], share: number): number {
  const ordered = [...values].sort((a, b) => a - b);
  return ordered[Math.min(ordered.length - 1, Math.floor(ordered.length * share))] ?? 0;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}
