import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { type CpuTimes, createCpuMeter, shareOf } from './cpu-meter.ts';

it('is a share of the time that passed, whatever was before', () => {
  expect(shareOf({ busy: 1000, idle: 9000 }, { busy: 1025, idle: 9075 })).toBe(0.25);
  expect(shareOf({ busy: 1000, idle: 9000 }, { busy: 1100, idle: 9000 })).toBe(1);
  expect(shareOf({ busy: 1000, idle: 9000 }, { busy: 1000, idle: 9100 })).toBe(0);
  expect(shareOf({ busy: 1000, idle: 9000 }, { busy: 1000, idle: 9000 })).toBeUndefined();
  // A processor was taken away, and its counters with it.
  expect(shareOf({ busy: 1000, idle: 9000 }, { busy: 900, idle: 9100 })).toBe(0);
});

it('compares with the last reading, with a new one when that is old, and keeps the answer for those who ask at once', async () => {
  let clock = 0;
  let reads = 0;
  let times: CpuTimes = { busy: 0, idle: 0 };
  const meter = createCpuMeter(
    () => {
      reads += 1;
      return times;
    },
    () => clock,
  );
  const first = Promise.all([meter.used(), meter.used()]);
  times = { busy: 30, idle: 70 };
  expect(await first).toEqual([0.3, 0.3]);
  expect(reads).toBe(2);
  clock = 5000;
  times = { busy: 120, idle: 80 };
  expect(await meter.used()).toBe(0.9);
  clock = 5500;
  times = { busy: 120, idle: 1080 };
  expect(await meter.used()).toBe(0.9);
  expect(reads).toBe(3);
  clock = 3_600_000;
  const later = meter.used();
  times = { busy: 170, idle: 1130 };
  expect(await later).toBe(0.5);
});

it('sees a machine that is kept busy', async () => {
  const meter = createCpuMeter();
  const calm = await meter.used();
  expect(calm).toBeGreaterThanOrEqual(0);
  expect(calm).toBeLessThanOrEqual(1);
  const spinning = Array.from({ length: availableParallelism() }, () => new Worker('for (;;);', { eval: true }));
  try {
    await sleep(1500);
    expect(await meter.used()).toBeGreaterThan(0.5);
  } finally {
    await Promise.all(spinning.map((each) => each.terminate()));
  }
});
