/** One token bucket for each tenant: so many requests a second, with bursts of twice that, and at least of one. */

import { BoxError } from '@skillbox/protocol';

export interface RateLimiter {
  /** Throws rate_limited with Retry-After when the bucket is empty. */
  take(tenant: string): void;
}

interface Bucket {
  tokens: number;
  at: number;
}

const longestWait = 86_400;

export function createRateLimiter(perSecond: (tenant: string) => number, now: () => number = () => performance.now()): RateLimiter {
  const buckets = new Map<string, Bucket>();
  return {
    take(tenant) {
      const rate = perSecond(tenant);
      const time = now();
      const most = Math.max(1, rate * 2);
      const bucket = buckets.get(tenant) ?? { tokens: most, at: time };
      const tokens = Math.min(most, bucket.tokens + ((time - bucket.at) / 1000) * rate);
      buckets.set(tenant, { tokens: tokens < 1 ? tokens : tokens - 1, at: time });
      if (tokens >= 1) return;
      throw new BoxError('rate_limited', `This tenant may send ${rate} requests a second.`, {
        retryAfter: Math.min(longestWait, Math.max(1, Math.ceil((1 - tokens) / rate))),
      });
    },
  };
}
