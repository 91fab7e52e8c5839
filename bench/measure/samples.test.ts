import { describe, expect, it } from 'vitest';
import { median, percentile, ratioOf, rounded, seeded, summarise } from './samples.ts';

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe('percentiles', () => {
  it('are interpolated between samples, whatever their order', () => {
    expect(percentile([4, 1, 3, 2], 0.5)).toBe(2.5);
    expect(percentile([10, 20], 0.95)).toBeCloseTo(19.5);
    expect(percentile([7], 0.99)).toBe(7);
    expect(median([9, 1, 5])).toBe(5);
  });

  it('sort as numbers, and leave the samples as they were', () => {
    const values = [100, 9, 25];
    expect(median(values)).toBe(25);
    expect(values).toEqual([100, 9, 25]);
  });

  it('of nothing are an error, not a zero', () => {
    expect(() => percentile([], 0.5)).toThrow('no samples');
  });

  it('are summed up with their spread', () => {
    expect(summarise(upTo(101))).toEqual({ n: 101, p50: 51, p95: 96, p99: 100, p25: 26, p75: 76, min: 1, max: 101 });
  });
});

describe('ratios', () => {
  it('are of medians, with an interval around them', () => {
    const random = seeded(1);
    const around = (middle: number) => Array.from({ length: 200 }, () => middle * (0.8 + 0.4 * random()));
    const { high, low, value } = ratioOf(around(2), around(10));
    expect(value).toBeCloseTo(0.2, 1);
    expect(low).toBeLessThan(value);
    expect(high).toBeGreaterThan(value);
    expect(high - low).toBeLessThan(0.03);
  });

  it('have a wide interval when the samples are few and scattered', () => {
    const few = ratioOf([1, 5, 9, 2], [1, 1, 1, 1]);
    expect(few.high - few.low).toBeGreaterThan(3);
  });

  it('are the same for the same samples', () => {
    expect(ratioOf([1, 2, 3, 9], [2, 4])).toEqual(ratioOf([1, 2, 3, 9], [2, 4]));
  });
});

it('figures keep four digits that count', () => {
  expect([0.123456, 12.3456, 12345.6].map(rounded)).toEqual([0.1235, 12.35, 12350]);
});

it('dice are fair enough, and fall alike for the same seed', () => {
  const [one, same, other] = [seeded(7), seeded(7), seeded(8)];
  const drawn = Array.from({ length: 1000 }, one);
  expect(Array.from({ length: 1000 }, same)).toEqual(drawn);
  expect(other()).not.toBe(drawn[0]);
  expect(median(drawn)).toBeCloseTo(0.5, 1);
  expect(Math.min(...drawn)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...drawn)).toBeLessThan(1);
});
