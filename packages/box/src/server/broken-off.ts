/** A stream that breaks off says so: whole messages go through, and in place of the rest comes one that tells what happened. */

import type { IncomingMessage } from 'node:http';
import { encodeEnd } from './e2b/envelope.ts';
import type { Owner } from './owner.ts';

interface Messages {
  /** Where the last whole message ends. */
  end(bytes: Buffer): number;
  failure(message: string): Buffer;
}

/** What comes in pieces larger than this is no stream of messages, and goes through as it is. */
const largestMessage = 4 * 2 ** 20;

const told = 'The host that has this sandbox went away, and with it this stream.';

/** undefined for what has no place for such a message: there the connection breaks. */
export function messagesOf({ headers }: IncomingMessage, { words }: Owner): Messages | undefined {
  const type = headers['content-type'] ?? '';
  if (words === 'v1' && type.startsWith('text/event-stream')) return serverSent;
  if (words === 'e2b' && type.startsWith('application/connect+json')) return connectStream;
  return undefined;
}

export async function* orBrokenOff(answer: IncomingMessage, messages: Messages): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      const bytes = held.length > 0 ? Buffer.concat([held, chunk]) : chunk;
      const end = bytes.length > largestMessage ? bytes.length : messages.end(bytes);
      held = bytes.subarray(end);
      if (end > 0) yield bytes.subarray(0, end);
    }
    if (held.length > 0) yield held;
  } catch {
    // The owner is gone; what it had begun to say is dropped, so that nobody takes a part for the whole.
    yield messages.failure(told);
  }
}

const serverSent: Messages = {
  end(bytes) {
    const at = bytes.lastIndexOf('\n\n');
    return at < 0 ? 0 : at + 2;
  },
  failure: (message) => Buffer.from(`event: error\ndata: ${JSON.stringify({ error: 'on_another_host', message })}\n\n`),
};

const connectStream: Messages = {
  end(bytes) {
    let at = 0;
    while (at + 5 <= bytes.length && at + 5 + bytes.readUInt32BE(at + 1) <= bytes.length) at += 5 + bytes.readUInt32BE(at + 1);
    return at;
  },
  failure: (message) => encodeEnd({ code: 'unavailable', message }),
};
