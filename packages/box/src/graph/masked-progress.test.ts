import type { WorkProgress, WorkStep } from '@skillbox/protocol';
import { expect, it } from 'vitest';
import { maskedProgress } from './masked-progress.ts';

const step = (more: Partial<WorkStep>): WorkStep => ({
  ...{ kind: 'task', name: 'run build', state: 'failed', duration_ms: 3, detail: null, tail: [] },
  ...more,
});

function heard(say: (progress: ReturnType<typeof maskedProgress>) => void): WorkProgress[] {
  const all: WorkProgress[] = [];
  say(maskedProgress((progress) => all.push(progress)));
  return all;
}

it('says a line once, however often it is said', () => {
  const all = heard((progress) => {
    for (let count = 0; count < 5; count++) progress('Waiting for skillbox up');
    progress('Starting web');
    progress('Waiting for skillbox up');
  });
  expect(all.map(({ text }) => text)).toEqual(['Waiting for skillbox up', 'Starting web', 'Waiting for skillbox up']);
});

it('has no secret in a line, in what went wrong, or in the last lines of a log', () => {
  const [said] = heard((progress) =>
    progress('Cloning https://me:hunter2hunter2@git.example/app.git', {
      ...step({ detail: 'API_TOKEN=abcdefgh12345678 was refused', tail: ['Authorization: Bearer abcdefgh12345678', 'bye'] }),
    }),
  );
  const text = JSON.stringify(said);
  expect(text).toContain('git.example/app.git');
  expect(text).not.toMatch(/hunter2|abcdefgh12345678/);
  expect(said?.step?.tail[1]).toBe('bye');
});

it('is short: the end of a long log, and the beginning of a long line', () => {
  const lines = Array.from({ length: 100 }, (_, index) => `${index} ${'x'.repeat(5000)}`);
  const [said] = heard((progress) => progress('run build: failed', step({ tail: lines })));
  expect(said?.step?.tail).toHaveLength(12);
  expect(said?.step?.tail[0]).toMatch(/^88 x/);
  expect(Math.max(...(said?.step?.tail ?? []).map(({ length }) => length))).toBeLessThanOrEqual(500);
});
