import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { isGone } from './gone.ts';

const leave = (reason?: unknown): AbortSignal => {
  const controller = new AbortController();
  controller.abort(reason);
  return controller.signal;
};

it('is what the signal says, whatever its reason is made of', async () => {
  for (const reason of ['Client connection prematurely closed.', new Error('away'), undefined]) {
    const signal = leave(reason);
    expect(isGone(signal.reason, signal)).toBe(true);
    expect(isGone(AbortSignal.any([signal]).reason, signal)).toBe(true);
    const given = await readFile('/dev/null', { signal }).catch((error: unknown) => error);
    expect(isGone(given, signal)).toBe(true);
  }
});

it('is no fault of the box, nor what was given up for another reason', () => {
  const signal = leave('away');
  expect(isGone(new TypeError('x is not a function'), signal)).toBe(false);
  expect(isGone(leave().reason, signal)).toBe(false);
  expect(isGone('away', new AbortController().signal)).toBe(false);
});
