import { expect, it } from 'vitest';
import { formatMs } from './format.ts';

it.each([
  [null, '–'],
  [0, '0 ms'],
  [0.25, '0.25 ms'],
  [9.87, '9.9 ms'],
  [250, '250 ms'],
  [1500, '1.50 s'],
  [12_340, '12.3 s'],
  [60_000, '1 min'],
  [90_000, '1 min 30 s'],
  [119_600, '2 min'],
  [600_000, '10 min'],
  [3_599_900, '1 h'],
  [3_600_000, '1 h'],
  [5_430_000, '1 h 30 min'],
  [86_400_000, '24 h'],
])('%s ms are %s', (ms, said) => {
  expect(formatMs(ms)).toBe(said);
});
