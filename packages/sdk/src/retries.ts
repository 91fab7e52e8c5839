/** Which failures are worth another attempt, and when. */

import { APIError, ConnectionError } from './errors.ts';

export interface RetryPolicy {
  /** Attempts after the first. */
  readonly maxRetries: number;
  /** A box that asks for a longer pause than this is not waited for: the caller gets its answer. */
  readonly longestPauseMs: number;
}

export interface Attempt {
  /** The first is 1. */
  readonly number: number;
  /** Asking twice does no more than asking once: it reads, or carries an Idempotency-Key. */
  readonly repeatable: boolean;
  /** The body can be sent again. */
  readonly replayable: boolean;
}

const firstPauseMs = 250;
/** It does not go away by itself. */
const lasting = ['sandbox_limit'];
/** May stand for something that was half done. */
const doubtful = ['unavailable'];

/** Milliseconds until the next attempt; undefined when there should be none. */
export function pauseBefore(error: unknown, attempt: Attempt, policy: RetryPolicy, random: () => number = Math.random): number | undefined {
  if (attempt.number > policy.maxRetries || !attempt.replayable) return undefined;
  const pause = firstPauseMs * 2 ** (attempt.number - 1) * (0.5 + random() / 2);
  if (error instanceof ConnectionError) return attempt.repeatable ? pause : undefined;
  if (!(error instanceof APIError) || (error.status !== 429 && error.status !== 503)) return undefined;
  if (lasting.includes(error.code) || (!attempt.repeatable && doubtful.includes(error.code))) return undefined;
  // Later than asked by a little, each at another time: all who were refused together would come back together.
  const asked = error.retryAfter === undefined ? 0 : error.retryAfter * 1000 * (1 + random() / 10);
  const whole = Math.max(pause, asked);
  return whole <= policy.longestPauseMs ? whole : undefined;
}

/** Rejects with the reason of the signal when that comes first. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
