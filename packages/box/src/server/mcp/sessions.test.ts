import { expect, it } from 'vitest';
import { createMessageStream } from './message-stream.ts';
import { createSessions } from './sessions.ts';

const limits = { all: 5, perOwner: 3, idleMs: 1000 };

function at(start = 0) {
  let time = start;
  const sessions = createSessions(limits, () => time);
  return {
    sessions,
    pass(ms: number) {
      time += ms;
    },
  };
}

it('ends one that nobody uses, and keeps one that is held or at work', () => {
  const { sessions, pass } = at();
  const [idle, held, busy] = [1, 2, 3].map(() => sessions.open('a', '2025-11-25'));
  const release = held?.hold();
  busy?.calls.set(1, new AbortController());
  pass(1000);
  expect(sessions.find(idle?.id, 'a')).toBeUndefined();
  expect(idle?.over.aborted).toBe(true);
  expect(sessions.find(held?.id, 'a')).toBe(held);
  expect(sessions.find(busy?.id, 'a')).toBe(busy);
  release?.();
  busy?.calls.clear();
  pass(999);
  expect(sessions.find(held?.id, 'a')).toBe(held);
  pass(1000);
  expect(sessions.find(held?.id, 'a')).toBeUndefined();
  sessions.closeAll();
  expect(sessions.size).toBe(0);
});

it('is found by its owner only', () => {
  const { sessions } = at();
  const { id } = sessions.open('a', '2025-11-25');
  expect(sessions.find(id, 'b')).toBeUndefined();
  expect(sessions.find(id, 'a')?.id).toBe(id);
  sessions.closeAll();
});

it('makes room among its own before it takes from others, and refuses when all are in use', () => {
  const { sessions, pass } = at();
  const own = [1, 2, 3].map(() => {
    pass(1);
    return sessions.open('a', '2025-11-25');
  });
  const other = sessions.open('b', '2025-11-25');
  own[0]?.hold();
  sessions.open('a', '2025-11-25');
  expect(own.map(({ id }) => sessions.find(id, 'a') !== undefined)).toEqual([true, false, true]);
  expect(sessions.find(other.id, 'b')).toBe(other);
  const crowded = at().sessions;
  for (const _ of [1, 2, 3]) crowded.open('a', '2025-11-25').hold();
  expect(() => crowded.open('a', '2025-11-25')).toThrow(expect.objectContaining({ code: 'rate_limited' }));
  sessions.closeAll();
  crowded.closeAll();
});

it('keeps the end of a stream that says more than it can hold', async () => {
  const stream = createMessageStream();
  for (let number = 1; number <= 1000; number += 1) stream.say({ number });
  stream.say('x'.repeat(3 * 2 ** 20));
  stream.end();
  const read: number[] = [];
  for await (const { number } of stream.read(0, new AbortController().signal)) read.push(number);
  expect(read).toEqual([1001]);
});

it('has one reader at a time: the last', async () => {
  const stream = createMessageStream();
  const { signal } = new AbortController();
  const first = stream.read(0, signal);
  const waiting = first.next();
  const second = stream.read(0, signal);
  const next = second.next();
  expect((await waiting).done).toBe(true);
  stream.say(1);
  expect((await next).value).toEqual({ number: 1, data: '1' });
});
