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
      const result = await Promise.race([next, pause(heartbeatMs, signal)]);
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

function pause(ms: number, signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve(undefined);
    };
    const timer = setTimeout(done, ms);
    timer.unref();
    signal.addEventListener('abort', done, { once: true });
  });
}
