import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Refused } from '../contenders/command.ts';
import { rateOfCallers, rateOfProcesses } from './sustained.ts';

const caller = (run: () => Promise<unknown>, check: () => void = () => undefined) => ({ run, check, close: () => undefined });

it('counts what all callers get done, side by side', async () => {
  const runs = [0, 0, 0, 0];
  const callers = runs.map((_, index) =>
    caller(async () => {
      await delay(20);
      runs[index] = (runs[index] ?? 0) + 1;
    }),
  );
  const started = performance.now();
  const rate = await rateOfCallers(callers, 300);
  const seconds = (performance.now() - started) / 1000;
  const sum = runs.reduce((all, one) => all + one, 0);
  expect(Math.min(...runs)).toBeGreaterThan(0);
  expect((rate * seconds) / sum).toBeCloseTo(1, 1);
});

it('does not count what is refused, and ends on what fails', async () => {
  const refused = caller(() => Promise.reject(new Refused('not now')));
  expect(await rateOfCallers([refused], 50)).toBe(0);
  await expect(rateOfCallers([caller(() => Promise.reject(new Error('broken')))], 50)).rejects.toThrow('broken');
  const wrong = () => {
    throw new Error('wrong result');
  };
  await expect(rateOfCallers([caller(async () => undefined, wrong)], 50)).rejects.toThrow('wrong result');
});

it('processes: as many at once as there are callers, and a failure is one', async () => {
  const command = (line: string) => ({ program: '/bin/sh', args: ['-c', line], env: { PATH: '/usr/bin:/bin' }, cwd: '/' });
  expect(await rateOfProcesses(command('sleep 0.3'), 1, 3)).toBeLessThan(1 / 0.3);
  // One after the other it would be less than one a second.
  expect(await rateOfProcesses(command('sleep 1'), 4, 4)).toBeGreaterThan(1);
  await expect(rateOfProcesses(command('exit 3'), 2, 4)).rejects.toThrow('ended with 123');
});
