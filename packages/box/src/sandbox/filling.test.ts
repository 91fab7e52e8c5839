import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createFilling, type Filled, isResting, unfilled } from './filling.ts';

interface Pool extends Filled {
  lack: number;
}

const troubles: string[] = [];
let made: (() => void)[] = [];
let failing = false;
let busy = false;

beforeEach(() => {
  vi.useFakeTimers();
  troubles.length = 0;
  made = [];
  failing = false;
  busy = false;
});
afterEach(() => vi.useRealTimers());

const fillingOf = (pool: Pool, mostMaking = 2) =>
  createFilling<Pool>({
    mostMaking,
    next: () => (pool.lack > pool.making && !isResting(pool) ? pool : undefined),
    mustWait: (_, waitedMs) => busy && waitedMs < 50,
    make: () =>
      new Promise((resolve, reject) => {
        if (failing) reject(new Error('no room'));
        made.push(() => {
          pool.lack -= 1;
          resolve();
        });
      }),
    onTrouble: (message) => troubles.push(message),
  });

it('makes a few at a time until nothing lacks', async () => {
  const pool: Pool = { ...unfilled(), lack: 3 };
  const filling = fillingOf(pool);
  filling.soon();
  await vi.advanceTimersByTimeAsync(10);
  expect([made.length, filling.making]).toEqual([2, 2]);
  made.shift()?.();
  await vi.advanceTimersByTimeAsync(10);
  expect([made.length, filling.making]).toEqual([2, 2]);
  for (const finish of made) finish();
  await vi.advanceTimersByTimeAsync(100);
  expect([pool.lack, filling.making]).toEqual([0, 0]);
});

it('waits for other work, but not for ever', async () => {
  busy = true;
  const filling = fillingOf({ ...unfilled(), lack: 1 });
  filling.soon();
  await vi.advanceTimersByTimeAsync(40);
  expect(made).toHaveLength(0);
  await vi.advanceTimersByTimeAsync(30);
  expect(made).toHaveLength(1);
});

it('rests longer after each failure and says so, and not at all after a success', async () => {
  failing = true;
  const pool: Pool = { ...unfilled(), lack: 1 };
  const filling = fillingOf(pool);
  const rests: number[] = [];
  for (let count = 0; count < 9; count += 1) {
    filling.soon();
    await vi.advanceTimersByTimeAsync(10);
    rests.push(pool.restUntil - Date.now());
    // Not before it is over.
    const tried = troubles.length;
    await vi.advanceTimersByTimeAsync(pool.restUntil - Date.now() - 10);
    filling.soon();
    await vi.advanceTimersByTimeAsync(8);
    expect(troubles).toHaveLength(tried);
    await vi.advanceTimersByTimeAsync(10);
  }
  expect(troubles[0]).toBe('a sandbox could not be made ready ahead: no room');
  expect(rests.slice(0, 3).map((ms) => Math.round(ms / 500))).toEqual([2, 4, 8]);
  expect(Math.max(...rests)).toBeLessThanOrEqual(60_000);
  failing = false;
  filling.soon();
  await vi.advanceTimersByTimeAsync(10);
  made.at(-1)?.();
  await vi.advanceTimersByTimeAsync(10);
  expect(pool).toMatchObject({ failures: 0, lack: 0 });
});

it('ends when what is under way has ended, also what that began', async () => {
  const filling = fillingOf({ ...unfilled(), lack: 1 });
  filling.soon();
  await vi.advanceTimersByTimeAsync(10);
  let last: (() => void) | undefined;
  const end = filling.close();
  const seen = vi.fn();
  void end.then(seen);
  filling.track(new Promise<void>((resolve) => (last = resolve)));
  made[0]?.();
  await vi.advanceTimersByTimeAsync(100);
  expect(seen).not.toHaveBeenCalled();
  last?.();
  await end;
  expect(made).toHaveLength(1);
});
