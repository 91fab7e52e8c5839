/** Calls of routes that take long: as one answer, or with their progress as it comes. */

import type { CallOptions, Connection } from './connection.ts';
import { APIError, ConnectionError } from './errors.ts';
import { readEvents, type ServerEvent } from './event-stream.ts';
import type { ErrorBody, Routes, WorkProgress } from './types.ts';

export interface ProgressOptions extends CallOptions {
  /** Hears each part of the work that begins or ends, and lines about it. */
  readonly onProgress?: ((progress: WorkProgress) => void) | undefined;
}

/** Aborting interrupts the work, in order. */
export async function callWithProgress<R extends keyof Routes>(
  connection: Connection,
  route: R,
  input: Routes[R]['input'],
  { onProgress, ...options }: ProgressOptions = {},
): Promise<Routes[R]['output']> {
  const patient = { timeoutMs: 0, ...options };
  if (!onProgress) return connection.call(route, input, patient);
  const response = await connection.open(route, input, { ...patient, headers: { Accept: 'text/event-stream' } });
  // A box that is older than this.
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return (await response.json()) as Routes[R]['output'];
  const events = readEvents<unknown>(response.body as ReadableStream<Uint8Array>);
  try {
    for (;;) {
      const { event, data } = await nextOf(connection, events, options.signal);
      if (event === 'result') return data as Routes[R]['output'];
      if (event === 'error') {
        const { status, ...body } = data as ErrorBody & { status: number };
        throw new APIError(status, body);
      }
      if (event === 'progress') onProgress(data as WorkProgress);
    }
  } finally {
    await events.return(undefined);
  }
}

/** What breaks the stream is told as such; what was asked is not asked again, since it may have been done. */
async function nextOf(
  { url }: Connection,
  events: AsyncGenerator<ServerEvent<unknown>>,
  signal: AbortSignal | undefined,
): Promise<ServerEvent<unknown>> {
  const next = await events.next().catch((error: unknown) => {
    signal?.throwIfAborted();
    throw new ConnectionError(url, 'the stream broke', error);
  });
  if (next.done) throw new ConnectionError(url, 'the stream ended before its end');
  return next.value;
}
