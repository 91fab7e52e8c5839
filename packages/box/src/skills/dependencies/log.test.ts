import { expect, it } from 'vitest';
import { lastComplaint } from './build.ts';
import { createBuildLog } from './log.ts';

it('keeps the beginning and the end of a long log', () => {
  const log = createBuildLog();
  log.add(Buffer.from('first\n'));
  for (let index = 0; index < 100; index += 1) log.add(Buffer.from('x'.repeat(10_000)));
  log.add(Buffer.from('\nlast'));
  log.say('done');
  expect(log.text.startsWith('first\n')).toBe(true);
  expect(log.text.endsWith('\nlast\n[skillbox] done\n')).toBe(true);
  expect(log.text).toContain('characters are left out here');
  expect(log.text.length).toBeLessThan(140_000);
});

it('takes characters that arrive in pieces, and no NUL', () => {
  const log = createBuildLog();
  const bytes = Buffer.from('ü');
  log.add(bytes.subarray(0, 1));
  log.add(bytes.subarray(1));
  log.add(Buffer.from([0]));
  expect(log.text).toBe('ü\uFFFD');
});

it('finds the line that says what is wrong', () => {
  expect(lastComplaint('Collecting x\nERROR: No matching distribution\n[skillbox] more\n')).toBe('ERROR: No matching distribution');
  expect(lastComplaint('npm error code E404\nnpm error A complete log of this run can be found in: /x')).toBe('npm error code E404');
  expect(lastComplaint('something\n\n')).toBe('something');
  expect(lastComplaint('')).toBe('it said nothing');
});
