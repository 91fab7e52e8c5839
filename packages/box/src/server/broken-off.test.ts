import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { messagesOf, orBrokenOff } from './broken-off.ts';
import { encodeEnd, encodeMessage } from './e2b/envelope.ts';

const answerOf = (type: string) => ({ headers: { 'content-type': type } }) as IncomingMessage;
const broken = (chunks: Buffer[]) =>
  Readable.from(
    (async function* () {
      yield* chunks;
      throw new Error('ECONNRESET');
    })(),
  ) as IncomingMessage;
async function read(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

it('passes whole envelopes of a Connect stream, however they are cut, and ends with one that says why', async () => {
  const messages = messagesOf(answerOf('application/connect+json'), { host: 'h', words: 'e2b' });
  if (!messages) throw new Error('a Connect stream has messages');
  const all = Buffer.concat([encodeMessage({ a: 1 }), encodeMessage({ b: 'two' })]);
  for (let cut = 0; cut <= all.length; cut += 1) {
    const said = await read(orBrokenOff(broken([all.subarray(0, cut), all.subarray(cut, -1)]), messages));
    expect(said.subarray(0, encodeMessage({ a: 1 }).length)).toEqual(encodeMessage({ a: 1 }));
    expect(said.subarray(encodeMessage({ a: 1 }).length).toString()).toContain('"code":"unavailable"');
  }
  const whole = Buffer.concat([all, encodeEnd()]);
  expect(await read(orBrokenOff(Readable.from([whole.subarray(0, 3), whole.subarray(3)]) as IncomingMessage, messages))).toEqual(whole);
});

it('does not hold back without end what never ends a message', async () => {
  const messages = messagesOf(answerOf('text/event-stream; charset=utf-8'), { host: 'h', words: 'v1' });
  if (!messages) throw new Error('server-sent events are messages');
  const first = await orBrokenOff(Readable.from([Buffer.alloc(5 * 2 ** 20, 'x'), Buffer.alloc(10)]) as IncomingMessage, messages).next();
  expect(first.value?.length).toBe(5 * 2 ** 20);
});

it('adds nothing to what is not ours', () => {
  expect(messagesOf(answerOf('text/event-stream'), { host: 'h', words: 'preview' })).toBeUndefined();
  expect(messagesOf(answerOf('text/event-stream'), { host: 'h', words: 'execution' })).toBeUndefined();
  expect(messagesOf(answerOf('application/octet-stream'), { host: 'h', words: 'v1' })).toBeUndefined();
});
