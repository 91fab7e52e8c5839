import { describe, expect, it } from 'vitest';
import { APIError, ConnectionError } from './errors.ts';
import { pauseBefore, sleep } from './retries.ts';

const policy = { maxRetries: 3, longestPauseMs: 30_000 };
const first = { number: 1, repeatable: false, replayable: true };
const refusal = (status: number, error: string, retryAfter?: number) =>
  new APIError(status, { error, message: 'no', request_id: 'r' }, retryAfter);
const half = () => 0.5;

describe('another attempt', () => {
  it('comes after twice the time each time, with jitter', () => {
    const error = refusal(503, 'overloaded');
    const pauses = [1, 2, 3].map((number) => pauseBefore(error, { ...first, number }, policy, half));
    expect(pauses).toEqual([187.5, 375, 750]);
    expect(pauseBefore(error, first, policy, () => 0)).toBe(125);
    expect(pauseBefore(error, { ...first, number: 4 }, policy)).toBeUndefined();
  });

  it('waits at least as long as the box asks, and not for one that asks for too long', () => {
    expect(pauseBefore(refusal(429, 'rate_limited', 2), first, policy, () => 0)).toBe(2000);
    expect(pauseBefore(refusal(429, 'rate_limited', 2), first, policy, () => 1)).toBe(2200);
    expect(pauseBefore(refusal(429, 'rate_limited', 60), first, policy, half)).toBeUndefined();
  });

  it('is made only where it cannot do harm', () => {
    const repeatable = { ...first, repeatable: true };
    expect(pauseBefore(refusal(503, 'unavailable'), first, policy, half)).toBeUndefined();
    expect(pauseBefore(refusal(503, 'unavailable'), repeatable, policy, half)).toBeGreaterThan(0);
    expect(pauseBefore(new ConnectionError('u', 'w'), first, policy, half)).toBeUndefined();
    expect(pauseBefore(new ConnectionError('u', 'w'), repeatable, policy, half)).toBeGreaterThan(0);
    expect(pauseBefore(refusal(429, 'rate_limited'), { ...first, replayable: false }, policy, half)).toBeUndefined();
  });

  it('is not made for what stays as it is', () => {
    const repeatable = { ...first, repeatable: true };
    for (const error of [refusal(404, 'not_found'), refusal(500, 'internal'), refusal(429, 'sandbox_limit', 1), new Error('other')])
      expect(pauseBefore(error, repeatable, policy, half)).toBeUndefined();
  });
});

it('a pause ends with the signal', async () => {
  const reason = new Error('enough');
  const stop = new AbortController();
  const pause = sleep(60_000, stop.signal);
  stop.abort(reason);
  await expect(pause).rejects.toBe(reason);
  await expect(sleep(60_000, stop.signal)).rejects.toBe(reason);
});
