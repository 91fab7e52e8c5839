import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createPacer } from './pacer.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** How many of so many refusals are told at once. */
async function toldAtOnce(pacer: ReturnType<typeof createPacer>, caller: string, number: number): Promise<number> {
  let told = 0;
  for (let index = 0; index < number; index += 1) void pacer.refusal(caller).then(() => (told += 1));
  await vi.advanceTimersByTimeAsync(1);
  return told;
}

it('tells a few refusals at once, and the others of that second later', async () => {
  let time = 0;
  const pacer = createPacer(() => time);
  expect(await toldAtOnce(pacer, 'loud', 50)).toBe(20);
  expect(await toldAtOnce(pacer, 'quiet', 5)).toBe(5);
  const late = pacer.refusal('loud');
  await vi.advanceTimersByTimeAsync(500);
  await late;
  time = 1000;
  expect(await toldAtOnce(pacer, 'loud', 5)).toBe(5);
});
