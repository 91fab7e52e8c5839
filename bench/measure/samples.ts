/** What is said of samples: percentiles, their spread, and ratios with an interval. Times are milliseconds. */

export interface Summary {
  readonly n: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  /** The middle half. */
  readonly p25: number;
  readonly p75: number;
  readonly min: number;
  readonly max: number;
}

export interface Ratio {
  readonly value: number;
  /** 95 in 100 resampled pairs of medians are between these. */
  readonly low: number;
  readonly high: number;
}

/** Between two samples the value is interpolated, as most tools do it. */
export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) throw new Error('no samples');
  const ordered = [...values].sort((a, b) => a - b);
  const position = (ordered.length - 1) * share;
  const below = ordered[Math.floor(position)] ?? 0;
  const above = ordered[Math.ceil(position)] ?? 0;
  return below + (above - below) * (position - Math.floor(position));
}

export const median = (values: readonly number[]): number => percentile(values, 0.5);

export function summarise(values: readonly number[]): Summary {
  const at = (share: number): number => rounded(percentile(values, share));
  return { n: values.length, p50: at(0.5), p95: at(0.95), p99: at(0.99), p25: at(0.25), p75: at(0.75), min: at(0), max: at(1) };
}

const resamples = 1000;

/** Of the medians. The interval is a bootstrap, with dice that fall alike each time. */
export function ratioOf(above: readonly number[], below: readonly number[]): Ratio {
  const random = seeded(above.length * 31 + below.length);
  const drawn = Array.from({ length: resamples }, () => median(redrawn(above, random)) / median(redrawn(below, random)));
  return {
    value: rounded(median(above) / median(below)),
    low: rounded(percentile(drawn, 0.025)),
    high: rounded(percentile(drawn, 0.975)),
  };
}

const redrawn = (values: readonly number[], random: () => number): number[] =>
  values.map(() => values[Math.floor(random() * values.length)] ?? 0);

/** Four digits that count: enough to compute with, and results stay readable. */
export function rounded(value: number): number {
  return Number(value.toPrecision(4));
}

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
