import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { seeded } from './samples.ts';
import { inTurns, shuffled } from './turns.ts';

it('everybody has a turn in each round, in an order that changes', async () => {
  const order: string[] = [];
  const noted = (name: string) => ({ run: async () => void order.push(name) });
  const samples = await inTurns({ a: noted('a'), b: noted('b'), c: noted('c') }, { rounds: 20, warmUp: 2, pauseMs: 0 });
  expect(Object.values(samples).map(({ length }) => length)).toEqual([20, 20, 20]);
  expect(order).toHaveLength(22 * 3);
  const rounds = Array.from({ length: 22 }, (_, round) => order.slice(round * 3, round * 3 + 3).join(''));
  expect(rounds.map((round) => [...round].sort().join(''))).toEqual(Array(22).fill('abc'));
  expect(new Set(rounds).size).toBeGreaterThan(2);
});

it('what is slow takes part in some rounds, and is warmed up once', async () => {
  const runs: string[] = [];
  const slow = { run: async () => void runs.push('slow'), every: 3 };
  const samples = await inTurns({ slow, quick: { run: async () => undefined } }, { rounds: 7, warmUp: 3, pauseMs: 0 });
  expect(samples.slow).toHaveLength(3);
  expect(samples.quick).toHaveLength(7);
  expect(runs).toHaveLength(4);
});

it('the clock runs for the run, not for the check and the pause', async () => {
  const turn = { run: () => delay(20), check: () => delay(60) };
  const samples = await inTurns({ turn }, { rounds: 3, warmUp: 0, pauseMs: 40 });
  for (const sample of samples.turn) expect(sample).toBeGreaterThan(15);
  expect(Math.min(...samples.turn)).toBeLessThan(60);
});

it('a check that fails ends it', async () => {
  const turn = {
    run: async () => undefined,
    check: () => {
      throw new Error('wrong result');
    },
  };
  await expect(inTurns({ turn }, { rounds: 3 })).rejects.toThrow('wrong result');
});

it('late rounds are left out, the first third never', async () => {
  const samples = await inTurns({ turn: { run: () => delay(10) } }, { rounds: 30, warmUp: 0, pauseMs: 0, withinMs: 1 });
  expect(samples.turn).toHaveLength(10);
});

it('shuffling keeps everything once', () => {
  expect(shuffled([1, 2, 3, 4, 5], seeded(3)).sort()).toEqual([1, 2, 3, 4, 5]);
});
