/** Server-sent events: numbered, with a heartbeat so that a dead connection shows, and with the reader's pace. */

import { Readable } from 'node:stream';
import type { StreamEvent } from '../commands/command.ts';

const heartbeatMs = 15_000;

export function eventStream(events: AsyncIterable<StreamEvent>, signal: AbortSignal): Readable {
  return encodedStream(events, encode, signal);
}

/** For events that are written in another way. */
export function encodedStream<E>(events: AsyncIterable<E>, toBytes: (event: E) => Buffer, signal: AbortSignal): Readable {
  return Readable.from(withHeartbeat(events, toBytes, signal), { objectMode: false, highWaterMark: 16 * 1024 });
}

async function* withHeartbeat<E>(events: AsyncIterable<E>, toBytes: (event: E) => Buffer, signal: AbortSignal): AsyncGenerator<Buffer> {
  const iterator = events[Symbol.asyncIterator]();
  const next = askAhead(iterator);
  const stop = (): void => next.wake();
  signal.addEventListener('abort', stop);
  try {
    next.ask();
    yield Buffer.from(': connected\n\n');
    while (!signal.aborted) {
      const result = await next.orPause(heartbeatMs);
      if (result === undefined) {
        if (!signal.aborted) yield Buffer.from(': alive\n\n');
        continue;
      }
      if (result.done) return;
      yield toBytes(result.value);
      next.ask();
    }
  } finally {
    signal.removeEventListener('abort', stop);
    await iterator.return?.();
  }
}

function encode({ id, event, data }: StreamEvent): Buffer {
  return Buffer.from(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

/**
 * What comes next, or a pause. Each event is waited for once, however many pauses there are before it: a listener may be idle for days,
 * and there may be thousands of them.
 */
function askAhead<T>(iterator: AsyncIterator<T>) {
  let result: IteratorResult<T> | undefined;
  let failure: { readonly error: unknown } | undefined;
  let wake = (): void => undefined;
  return {
    wake: () => wake(),
    ask() {
      result = undefined;
      iterator.next().then(
        (value) => {
          result = value;
          wake();
        },
        (error: unknown) => {
          failure = { error };
          wake();
        },
      );
    },
    /** undefined when nothing came for so long, or when it was woken. */
    async orPause(ms: number): Promise<IteratorResult<T> | undefined> {
      if (!result && !failure) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          timer.unref();
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      if (failure) throw failure.error;
      return result;
    },
  };
}
