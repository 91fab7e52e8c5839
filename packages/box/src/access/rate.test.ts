import { expect, it } from 'vitest';
import { createRateLimiter } from './rate.ts';

it('allows a burst of twice the rate, then the rate, and says when to come back', () => {
  let time = 0;
  const limiter = createRateLimiter(
    () => 10,
    () => time,
  );
  for (let index = 0; index < 20; index += 1) limiter.take('a');
  expect(() => limiter.take('a')).toThrowError(expect.objectContaining({ code: 'rate_limited', retryAfter: 1 }));
  limiter.take('b');
  time += 100;
  limiter.take('a');
  expect(() => limiter.take('a')).toThrow();
  time += 60_000;
  for (let index = 0; index < 20; index += 1) limiter.take('a');
  expect(() => limiter.take('a')).toThrow();
});

it('asks slow tenants to wait as long as it takes, and then lets them in', () => {
  let time = 0;
  const limiter = createRateLimiter(
    () => 0.1,
    () => time,
  );
  limiter.take('a');
  expect(() => limiter.take('a')).toThrowError(expect.objectContaining({ retryAfter: 10 }));
  time += 10_000;
  limiter.take('a');
});

it('never asks for more than a day', () => {
  const limiter = createRateLimiter(
    () => 1e-300,
    () => 0,
  );
  limiter.take('a');
  expect(() => limiter.take('a')).toThrowError(expect.objectContaining({ retryAfter: 86_400 }));
});
