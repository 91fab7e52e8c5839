/**
 * The answer to one request over HTTP. What is known soon is one JSON object; what has something to say on its way, or takes longer, becomes
 * a stream of events, so that nobody between the two ends takes silence for death.
 */

import { Readable } from 'node:stream';
import { BoxError } from '@skillbox/protocol';
import type { Box } from '../../box.ts';
import { errorAnswer } from '../errors.ts';
import { goneStatus, isGone } from '../gone.ts';
import { encodedStream } from '../sse.ts';
import type { MessageStream, Numbered } from './message-stream.ts';
import { asRpcError, codes, errorMessage, RpcError, type RpcId, resultMessage } from './rpc.ts';

const soonMs = 1000;

export interface Exchange {
  readonly box: Box;
  readonly requestId: string;
  readonly id: RpcId;
  readonly stream: MessageStream;
  readonly encoding: Encoding;
  /** Whether the client reads streams. */
  readonly streams: boolean;
  /** Aborts when the client takes the request back: it gets no answer then. */
  readonly taken: AbortSignal;
  /** Aborts when nobody reads any more. */
  readonly gone: AbortSignal;
  work(): Promise<unknown>;
}

/** How events are written: with ids where a reader may come back, and first an empty one where it is to know that at once. */
export interface Encoding {
  readonly name?: string;
  readonly primed?: boolean;
}

export async function respond(exchange: Exchange): Promise<Response> {
  const { stream, taken } = exchange;
  const done = finish(exchange).then((end) => {
    if (!taken.aborted) stream.say(end.message);
    stream.end();
    return end;
  });
  const end = exchange.streams ? await soonOr(done, stream) : await done;
  if (!end || taken.aborted) return streamResponse(stream, 0, exchange.encoding, exchange.gone);
  return jsonResponse(end.message, end.status, end.headers);
}

interface End {
  readonly message: unknown;
  readonly status: number;
  readonly headers: Record<string, string>;
}

export const jsonResponse = (message: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(message), { status, headers: { 'Content-Type': 'application/json', ...headers } });

export const errorResponse = (id: RpcId | undefined, error: RpcError): Response => jsonResponse(errorMessage(id, error), error.status);

export function streamResponse(stream: MessageStream, after: number, encoding: Encoding, gone: AbortSignal): Response {
  const bytes = encodedStream(primed(stream.read(after, gone), after, encoding), (message) => encode(message, encoding), gone);
  return new Response(Readable.toWeb(bytes) as ReadableStream, {
    headers: { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' },
  });
}

async function finish({ box, requestId, id, taken, work }: Exchange): Promise<End> {
  try {
    return { message: resultMessage(id, await work()), status: 200, headers: {} };
  } catch (error) {
    if (error instanceof RpcError) return { message: errorMessage(id, error), status: error.status, headers: {} };
    if (error instanceof BoxError && error.code === 'invalid_cursor')
      return {
        message: errorMessage(id, { code: codes.invalidParams, message: error.message, data: undefined }),
        status: 200,
        headers: {},
      };
    if (isGone(error, taken)) {
      box.log.debug({ request_id: requestId }, 'a request was taken back');
      // Nobody is told.
      return { message: undefined, status: goneStatus, headers: {} };
    }
    const { status, headers, body } = errorAnswer(error, requestId, box.log);
    return { message: errorMessage(id, asRpcError(body, status)), status, headers };
  }
}

/** undefined when it says something before it ends, or does not end soon. */
async function soonOr(done: Promise<End>, stream: MessageStream): Promise<End | undefined> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), soonMs);
  try {
    const first = await Promise.race([done, stream.spoken(controller.signal)]);
    // The only thing it said may be the answer itself.
    return first ?? (stream.ended && stream.last === 1 ? await done : undefined);
  } finally {
    clearTimeout(timer);
    controller.abort();
  }
}

async function* primed(messages: AsyncGenerator<Numbered>, after: number, encoding: Encoding): AsyncGenerator<Numbered> {
  if (encoding.primed) yield { number: after, data: '' };
  yield* messages;
}

function encode({ number, data }: Numbered, { name }: Encoding): Buffer {
  return Buffer.from(`${name === undefined ? '' : `id: ${name}-${number}\n`}event: message\ndata: ${data}\n\n`);
}
