import { expect, it, vi } from 'vitest';
import type { StreamEvent } from '../commands/command.ts';
import { eventStream } from './sse.ts';

async function text(stream: AsyncIterable<unknown>): Promise<string> {
  let all = '';
  for await (const chunk of stream) all += String(chunk);
  return all;
}

it('writes events as the standard has them, whatever is in their text', async () => {
  async function* events(): AsyncGenerator<StreamEvent> {
    yield { id: '1', event: 'stdout', data: { text: 'two\nlines\r\n\n\nid: 9' } };
  }
  expect(await text(eventStream(events(), new AbortController().signal))).toBe(
    ': connected\n\nid: 1\nevent: stdout\ndata: {"text":"two\\nlines\\r\\n\\n\\nid: 9"}\n\n',
  );
});

it('holds no more timers and listeners for many events than for one', async () => {
  const signal = new AbortController().signal;
  const listening = vi.spyOn(signal, 'addEventListener');
  const forgotten = vi.spyOn(signal, 'removeEventListener');
  const before = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  async function* events(): AsyncGenerator<StreamEvent> {
    for (let id = 1; id <= 2000; id += 1) yield { id: String(id), event: 'stdout', data: {} };
  }
  expect((await text(eventStream(events(), signal))).match(/^id: /gm)).toHaveLength(2000);
  const after = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  expect(after - before).toBeLessThan(5);
  expect(listening.mock.calls.length).toBe(1);
  expect(forgotten.mock.calls.length).toBe(1);
});

it('waits once for an event, however long it takes to come', async () => {
  vi.useFakeTimers();
  try {
    const controller = new AbortController();
    const never = new Promise<IteratorResult<StreamEvent>>(() => undefined);
    const waits = vi.spyOn(never, 'then');
    const events = { [Symbol.asyncIterator]: () => ({ next: () => never }) };
    const reading = text(eventStream(events, controller.signal));
    await vi.advanceTimersByTimeAsync(60 * 60_000);
    controller.abort();
    expect((await reading).match(/alive/g)).toHaveLength(240);
    expect(waits).toHaveBeenCalledTimes(1);
  } finally {
    vi.useRealTimers();
  }
});

it('ends, and ends its source, when the reader is gone', async () => {
  const controller = new AbortController();
  let closed = false;
  const events: AsyncIterable<StreamEvent> = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise(() => undefined),
      async return() {
        closed = true;
        return { done: true, value: undefined };
      },
    }),
  };
  const reading = text(eventStream(events, controller.signal));
  controller.abort();
  expect(await reading).toBe(': connected\n\n');
  expect(closed).toBe(true);
});

it('says that it is alive when nothing happens', async () => {
  vi.useFakeTimers();
  try {
    const controller = new AbortController();
    async function* silent(): AsyncGenerator<StreamEvent> {
      await new Promise((resolve) => setTimeout(resolve, 40_000));
    }
    const reading = text(eventStream(silent(), controller.signal));
    await vi.advanceTimersByTimeAsync(41_000);
    expect(await reading).toBe(': connected\n\n: alive\n\n: alive\n\n');
  } finally {
    vi.useRealTimers();
  }
});
