import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { createTurnstile, type Turnstile } from './turnstile.ts';

class Answer extends EventEmitter {
  destroyed = false;
  statusCode = 200;
}

const turns = async (number: number): Promise<void> => {
  for (let count = 0; count < number; count += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** Sends requests through a turnstile and notes who was let in, in order. */
function door(turnstile: Turnstile) {
  const order: string[] = [];
  const refused: string[] = [];
  const send = (name: string, key: string | undefined, url = '/v1/executions'): Answer => {
    const answer = new Answer();
    turnstile.pass(
      { url, headers: key === undefined ? {} : { authorization: key } } as IncomingMessage,
      answer as unknown as ServerResponse,
      () => order.push(name),
      ({ code }) => refused.push(`${name} ${code}`),
    );
    return answer;
  };
  /** So that its key is known to be good. */
  const know = async (key: string): Promise<void> => {
    send('first', key).emit('finish');
    await turns(2);
    order.length = 0;
  };
  return { order, refused, send, know };
}

it('lets in at once who finds nobody, and one for each turn after that', async () => {
  const { order, send } = door(createTurnstile({ perCaller: 10, all: 10 }));
  for (const name of ['a', 'b', 'c']) send(name, 'key');
  expect(order).toEqual(['a']);
  await turns(1);
  expect(order).toEqual(['a', 'b']);
  await turns(2);
  expect(order).toEqual(['a', 'b', 'c']);
});

it('takes callers in turn, and all whose key is not known to be good as one', async () => {
  const { order, send, know } = door(createTurnstile({ perCaller: 50, all: 100 }));
  await know('loud');
  await know('quiet');
  for (let count = 0; count < 10; count += 1) send('loud', 'loud');
  for (let count = 0; count < 10; count += 1) send('stranger', `invented ${count}`);
  await vi.waitFor(() => expect(order).toHaveLength(20), 3000);
  expect(order.slice(0, 7)).toEqual(['loud', 'stranger', 'loud', 'stranger', 'loud', 'stranger', 'loud']);
});

it('does not keep who comes seldom waiting behind who always comes', async () => {
  const { order, send, know } = door(createTurnstile({ perCaller: 50, all: 100 }));
  await know('loud');
  await know('quiet');
  await delay(30);
  for (let count = 0; count < 10; count += 1) send('loud', 'loud');
  send('quiet', 'quiet');
  send('quiet again', 'quiet');
  expect(order).toEqual(['loud', 'quiet']);
  await vi.waitFor(() => expect(order).toHaveLength(12), 3000);
});

it('forgets a key that is no longer good', async () => {
  const { order, send, know } = door(createTurnstile({ perCaller: 50, all: 100 }));
  await know('revoked');
  send('own', 'revoked').emit('finish', 0);
  const answer = send('refused', 'revoked');
  answer.statusCode = 401;
  await turns(3);
  answer.emit('finish');
  order.length = 0;
  for (const name of ['x', 'y', 'z']) send(name, 'invented');
  send('revoked', 'revoked');
  await vi.waitFor(() => expect(order).toHaveLength(4), 3000);
  expect(order).toEqual(['x', 'y', 'z', 'revoked']);
});

it('refuses what would wait behind too many, and has a place for who has none waiting', async () => {
  const { order, refused, send, know } = door(createTurnstile({ perCaller: 2, all: 3 }, () => 1));
  for (const key of ['loud', 'second', 'third']) await know(key);
  for (let count = 0; count < 4; count += 1) send('loud', 'loud');
  expect(refused).toEqual(['loud rate_limited']);
  send('second', 'second');
  send('second', 'second');
  expect(refused).toEqual(['loud rate_limited', 'second overloaded']);
  send('third', 'third');
  await turns(10);
  expect(order).toHaveLength(5);
});

it('lets probes pass, up to a flood of them', async () => {
  const { order, send } = door(createTurnstile({ perCaller: 50, all: 100 }));
  send('a', 'key');
  for (let count = 0; count < 20; count += 1) send('probe', undefined, '/livez');
  expect(order).toEqual(['a', ...Array(8).fill('probe')]);
  await turns(15);
  expect(order).toHaveLength(21);
});

it('passes over who has gone, and lets connections come in between', async () => {
  const turnstile = createTurnstile({ perCaller: 50, all: 100 });
  const { order, send } = door(turnstile);
  send('a', 'key');
  send('gone', 'key').destroyed = true;
  send('b', 'key');
  for (let count = 0; count < 5; count += 1) {
    turnstile.connected();
    await turns(1);
  }
  expect(order).toEqual(['a']);
  await turns(2);
  expect(order).toEqual(['a', 'b']);
  expect(turnstile.waiting).toBe(0);
});
