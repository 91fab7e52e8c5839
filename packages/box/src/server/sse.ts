/** Server-sent events: numbered, with a heartbeat so that a dead connection shows, and with the reader's pace. */

import { Readable } from 'node:stream';
import type { StreamEvent } from '../commands/command.ts';

const heartbeatMs = 15_000;

export function eventStream(events: AsyncIterable<StreamEvent>, signal: AbortSignal): Readable {
  return Readable.from(withHeartbeat(events, signal), { objectMode: false, highWaterMark: 16 * 1024 });
}

async function* withHeartbeat(events: AsyncIterable<StreamEvent>, signal: AbortSignal): AsyncGenerator<Buffer> {
  const iterator = events[Symbol.asyncIterator]();
  let next = iterator.next();
  try {
    yield Buffer.from(': connected\n\n');
    while (!signal.aborted) {
      const result = await nextOrPause(next, signal);
      if (result === undefined) {
        if (!signal.aborted) yield Buffer.from(': alive\n\n');
        continue;
      }
      if (result.done) return;
      yield encode(result.value);
      next = iterator.next();
    }
  } finally {
    await iterator.return?.();
  }
}

function encode({ id, event, data }: StreamEvent): Buffer {
  return Buffer.from(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

/** undefined when nothing came for a while, or the reader is gone. Leaves neither timer nor listener: there may be many events. */
function nextOrPause<T>(next: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const settle = (action: () => void): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      action();
    };
    const stop = (): void => settle(() => resolve(undefined));
    const timer = setTimeout(stop, heartbeatMs);
    timer.unref();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    next.then(
      (value) => settle(() => resolve(value)),
      (error: Error) => settle(() => reject(error)),
    );
  });
}
