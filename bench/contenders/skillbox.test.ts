import { expect, it } from 'vitest';
import { phasesIn } from './skillbox.ts';

it('reads the phases of an answer', () => {
  const head = 'HTTP/1.1 200 OK\r\nserver-timing: receive;dur=0.12, queue;dur=0, run;dur=13.5, total;dur=14\r\nX: run;dur=9';
  expect(phasesIn(head)).toEqual({ receive: 0.12, queue: 0, run: 13.5, total: 14 });
  expect(phasesIn('HTTP/1.1 200 OK\r\nX: y')).toEqual({});
});
