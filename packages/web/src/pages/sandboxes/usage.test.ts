import type { SandboxUsage } from '@skillbox/sdk';
import { expect, it } from 'vitest';
import { readingsOf } from './usage.ts';

const sample = (second: number, cpu_ms: number): SandboxUsage => ({
  ...{ time: new Date(second * 1000).toISOString(), cpu_ms, memory_bytes: 5, memory_limit_bytes: 10 },
  ...{ disk_bytes: 1, disk_limit_bytes: 2, processes: 3 },
});

it('tells how much of a CPU was used since the sample before', () => {
  expect(readingsOf([sample(0, 100), sample(5, 2600), sample(10, 12_600)]).map(({ cpu }) => cpu)).toEqual([0, 0.5, 2]);
});

it('is nothing, and not below, where a restart began to count anew', () => {
  expect(readingsOf([sample(0, 9000), sample(5, 10)]).map(({ cpu }) => cpu)).toEqual([0, 0]);
});
