/** Server-sent events: read from an answer, and gone on with after a break, without loss or repeat. */

import type { CallOptions, Connection } from './connection.ts';
import { ConnectionError, SkillboxError } from './errors.ts';
import { pauseBefore, sleep } from './retries.ts';
import type { Routes } from './types.ts';

export interface ServerEvent<T = unknown> {
  /** To go on after it. */
  readonly id: string;
  readonly event: string;
  readonly data: T;
}

export interface FollowOptions extends CallOptions {
  /** Go on after this event; default: from the beginning. */
  readonly lastEventId?: string | undefined;
}

/** The box says that it is alive every 15 seconds. */
const longestSilenceMs = 45_000;

export async function* readEvents<T>(
  body: ReadableStream<Uint8Array>,
  silenceMs: number = longestSilenceMs,
): AsyncGenerator<ServerEvent<T>> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await withinSilence(reader.read(), silenceMs);
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const blocks = text.replaceAll('\r\n', '\n').split('\n\n');
      // What follows the last blank line is not whole yet.
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const event = parseBlock<T>(block);
        if (event) yield event;
      }
    }
  } finally {
    // Whoever stops reading also lets the box stop sending; a stream that broke has nothing left to cancel.
    await reader.cancel().catch(() => undefined);
  }
}

/** Events of a route until the one that is the last; reconnects where it had got to. */
export async function* follow<R extends keyof Routes>(
  connection: Connection,
  route: R,
  input: Routes[R]['input'],
  isLast: (event: ServerEvent<Routes[R]['output']>) => boolean,
  { lastEventId, signal, maxRetries = 6 }: FollowOptions = {},
): AsyncGenerator<ServerEvent<Routes[R]['output']>> {
  let last = lastEventId;
  for (let number = 0; ; ) {
    try {
      const headers: Record<string, string> = { Accept: 'text/event-stream', ...(last !== undefined && { 'Last-Event-ID': last }) };
      const response = await connection.open(route, input, { signal, headers });
      for await (const event of readEvents<Routes[R]['output']>(response.body as ReadableStream<Uint8Array>)) {
        number = 0;
        last = event.id;
        yield event;
        if (isLast(event)) return;
      }
      throw new ConnectionError(connection.url, 'the stream ended before its end');
    } catch (error) {
      signal?.throwIfAborted();
      number += 1;
      const known = error instanceof SkillboxError ? error : new ConnectionError(connection.url, 'the stream broke', error);
      const pause = pauseBefore(known, { number, repeatable: true, replayable: true }, { maxRetries, longestPauseMs: 30_000 });
      if (pause === undefined) throw known;
      await sleep(pause, signal);
    }
  }
}

async function withinSilence<T>(reading: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing came for ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([reading, silence]);
  } finally {
    clearTimeout(timer);
  }
}

function parseBlock<T>(block: string): ServerEvent<T> | undefined {
  const fields = { id: '', event: 'message' };
  const data: string[] = [];
  for (const line of block.split('\n')) {
    const match = /^(id|event|data): ?(.*)$/.exec(line);
    if (!match) continue;
    const [, name, value = ''] = match;
    if (name === 'data') data.push(value);
    else fields[name as 'id' | 'event'] = value;
  }
  // A comment, which only keeps the connection alive.
  if (data.length === 0) return undefined;
  return { ...fields, data: JSON.parse(data.join('\n')) as T };
}
