import { expect, it } from 'vitest';
import { createStopwatch, sumOf } from './stopwatch.ts';

function at(): { readonly clock: () => number; pass(ms: number): void } {
  let time = 1000;
  return {
    clock: () => time,
    pass: (ms) => {
      time += ms;
    },
  };
}

it('gives each phase what passed since the last lap, so that they add up', () => {
  const { clock, pass } = at();
  const watch = createStopwatch(0, clock);
  pass(0.4);
  watch.lap('claim');
  pass(2.0004);
  watch.lap('sandbox');
  pass(7);
  watch.lap('run');
  expect(watch.read()).toEqual({ queue: 0, claim: 0.4, sandbox: 2, run: 7, collect: null, record: null });
  expect(sumOf(watch.read())).toBe(9.4);
});

it('adds up a phase that comes twice', () => {
  const { clock, pass } = at();
  const watch = createStopwatch(0, clock);
  pass(1);
  watch.lap('claim');
  pass(30);
  watch.lap('queue');
  pass(2);
  watch.lap('claim');
  expect(watch.read()).toMatchObject({ queue: 30, claim: 3 });
});

it('counts what it waited under a server that is gone', () => {
  const { clock, pass } = at();
  const watch = createStopwatch(5000, clock);
  pass(20);
  watch.lap('queue');
  expect(watch.read().queue).toBe(5020);
});
