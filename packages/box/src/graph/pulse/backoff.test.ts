import { describe, expect, it } from 'vitest';
import { type Falls, fall, usualPatience, well } from './backoff.ts';

const middle = () => 0.5;

/** Falls at these moments; the pauses that follow. */
function pauses(moments: readonly number[]): { delays: number[]; last: Falls | undefined; gaveUpAt: number | undefined } {
  let falls: Falls | undefined;
  let gaveUpAt: number | undefined;
  const delays = moments.map((now, index) => {
    const verdict = fall(falls, now, usualPatience, middle);
    falls = verdict.falls;
    if (verdict.givesUp) gaveUpAt = index + 1;
    return verdict.delayMs;
  });
  return { delays, last: falls, gaveUpAt };
}

describe('a service that falls again and again', () => {
  it('is started at once, then after pauses that double', () => {
    expect(pauses([0, 1, 2, 3, 4, 5, 6, 7, 8]).delays).toEqual([0, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000]);
  });

  it('waits five minutes at most', () => {
    const far = Array.from({ length: 14 }, (_, i) => i * 4 * 60_000);
    expect(Math.max(...pauses(far).delays)).toBe(300_000);
    expect(pauses(far).gaveUpAt).toBeUndefined();
  });

  it('does not wait exactly as long as others', () => {
    const three = [0, 1, 2].reduce<Falls | undefined>((falls, now) => fall(falls, now, usualPatience, middle).falls, undefined);
    const delays = [0, 0.25, 0.999].map((chance) => fall(three, 3, usualPatience, () => chance).delayMs);
    expect(delays).toEqual([3000, 3500, 4998]);
  });

  it('is given up with the tenth fall in a quarter of an hour, once, and then tried now and then', () => {
    const many = pauses(Array.from({ length: 12 }, (_, i) => i * 1000));
    expect(many.gaveUpAt).toBe(10);
    expect(many.delays.slice(9)).toEqual([600_000, 600_000, 600_000]);
    expect(many.last?.givenUp).toBe(true);
  });

  it('stays given up until it has been well for a while', () => {
    const { last } = pauses(Array.from({ length: 10 }, (_, i) => i * 1000));
    if (!last) throw new Error('no falls');
    const up = well(last, 700_000, usualPatience);
    expect(up).toMatchObject({ givenUp: true, wellSince: 700_000 });
    expect(fall(up, 710_000, usualPatience, middle)).toMatchObject({ givesUp: false, falls: { givenUp: true } });
    expect(up && well(up, 700_000 + 60_000, usualPatience)).toBeUndefined();
  });

  it('begins a new row once it was well for a while, but its falls still count within the window', () => {
    const { last } = pauses([0, 1, 2, 3]);
    const up = last && well(last, 5000, usualPatience);
    expect(fall(up, 5000 + 59_000, usualPatience, middle)).toMatchObject({ delayMs: 8000 });
    const later = fall(up, 5000 + 61_000, usualPatience, middle);
    expect(later).toMatchObject({ delayMs: 0, falls: { row: 1 } });
    expect(later.falls.times).toHaveLength(5);
    expect(up && well(up, 5000 + usualPatience.windowMs, usualPatience)).toBeUndefined();
  });
});
