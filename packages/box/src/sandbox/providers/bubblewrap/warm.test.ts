import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createWarmPools, type Ready } from './warm.ts';

vi.mock('node:os', () => ({ availableParallelism: () => 2 }));
beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const sandbox = (): Ready => ({
  copies: false,
  ended: new Promise(() => undefined),
  readMemory: () => 1,
  renew: async () => undefined,
  dispose: async () => true,
});

const poolsOf = () =>
  createWarmPools<Ready>({ budgetBytes: 100, idleMs: 60_000, copies: 'never', running: () => 0, onTrouble: () => undefined });

const makeIn = (ms: number) => () => new Promise<Ready>((resolve) => setTimeout(() => resolve(sandbox()), ms));

it('those that take long to make leave a place for all others', async () => {
  const pools = poolsOf();
  const slow = makeIn(20_000);
  // Until each is known to be slow.
  for (const name of ['one', 'two', 'three']) {
    await pools.take(name, slow);
    await vi.advanceTimersByTimeAsync(21_000);
    const taken = await pools.take(name, slow);
    if (taken) pools.giveBack(taken, false);
  }
  await vi.advanceTimersByTimeAsync(100);
  await pools.take('quick', makeIn(10));
  await vi.advanceTimersByTimeAsync(100);
  expect(await pools.take('quick', makeIn(10))).toBeDefined();
});

it('one that could not be made is not asked for again at once', async () => {
  const pools = poolsOf();
  const make = vi.fn(async (): Promise<Ready> => {
    throw new Error('no room');
  });
  for (let count = 0; count < 50; count += 1) {
    await pools.take('broken', make);
    await vi.advanceTimersByTimeAsync(10);
  }
  expect(make).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(make.mock.calls.length).toBeGreaterThan(1);
  expect(pools.state).toMatchObject({ ready: 0, memoryBytes: 0 });
});

it('one that outgrows the budget goes, from the pool that was used longest ago', async () => {
  const pools = createWarmPools<Ready>({
    ...{ budgetBytes: 2, idleMs: 60_000, copies: 'never', running: () => 0, onTrouble: () => undefined },
  });
  for (const name of ['old', 'middle', 'new']) {
    await pools.take(name, makeIn(1));
    await vi.advanceTimersByTimeAsync(50);
  }
  expect(pools.state).toMatchObject({ ready: 2, memoryBytes: 2 });
  expect(await pools.take('new', makeIn(1))).toBeDefined();
  expect(await pools.take('middle', makeIn(1))).toBeDefined();
});
