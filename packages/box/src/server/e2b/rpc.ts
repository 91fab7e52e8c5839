/** Connect RPC with JSON: which method, its message, its answer or stream, its errors. */

import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { BoxError, type ErrorCode } from '@skillbox/protocol';
import type { z } from 'zod';
import type { Logger } from '../../observe/log.ts';
import { readBytes } from '../body.ts';
import { isGone } from '../gone.ts';
import { requireKnownUser } from './access.ts';
import { E2bError, json } from './answer.ts';
import { decodeRequest, encodeEnd, encodeMessage, parse } from './envelope.ts';
import { filesystemMethods } from './filesystem.ts';
import { withKeepalive } from './keepalive.ts';
import type { Method, StreamMethod } from './method.ts';
import { processMethods } from './process.ts';
import { type RpcCode, RpcError } from './rpc-error.ts';
import type { Use } from './use.ts';

const services: Record<string, Record<string, Method>> = {
  'process.Process': processMethods,
  'filesystem.Filesystem': filesystemMethods,
};

const streamType = 'application/connect+json';
/** Input to a program is the largest message. */
const maxMessageBytes = 16 * 2 ** 20;
const longestPauseS = 50;
/** A longer one would strike at once. */
const longestTimerMs = 2 ** 31 - 1;

export async function serveRpc(use: Use, path: string, request: IncomingMessage): Promise<Response> {
  try {
    const [, service = '', name = ''] = path.split('/');
    const methods = services[service] ?? {};
    const method = Object.hasOwn(methods, name) ? methods[name] : undefined;
    const body = await readBytes(request, maxMessageBytes);
    requireKnownUser(request, new URLSearchParams());
    if (!method) throw new RpcError('unimplemented', `${service}/${name} is not part of this box.`);
    if (method.kind === 'stream') return streamResponse(use, method, checked(method.request, decodeRequest(body)), request);
    const result = await method.run(use, checked(method.request, parse(body)));
    use.done();
    return json(result);
  } catch (error) {
    use.done();
    if (isGone(error, use.signal)) throw error;
    return rpcFailure(error, request, use.box.log);
  }
}

/** An error as the caller's client reads it: a stream says what went wrong in its last envelope, whatever the status. */
export function rpcFailure(error: unknown, request: IncomingMessage, log: Logger): Response {
  const { code, message } = describe(error, log);
  if (!(request.headers['content-type'] ?? '').startsWith(streamType)) return json({ code, message }, statuses[code]);
  return new Response(new Uint8Array(encodeEnd({ code, message })), { headers: { 'Content-Type': streamType } });
}

function streamResponse(use: Use, method: StreamMethod, message: unknown, request: IncomingMessage): Response {
  const stream = Readable.from(envelopes(use, method, message, request), { objectMode: false, highWaterMark: 64 * 1024 });
  const headers = { 'Content-Type': streamType, 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' };
  return new Response(Readable.toWeb(stream) as ReadableStream, { headers });
}

async function* envelopes(use: Use, method: StreamMethod, message: unknown, request: IncomingMessage): AsyncGenerator<Buffer> {
  const pauseS = within(1, request.headers['keepalive-ping-interval'], longestPauseS) ?? longestPauseS;
  const timeoutMs = within(1, request.headers['connect-timeout-ms'], longestTimerMs);
  try {
    const messages = method.run(use, message, timeoutMs);
    for await (const item of withKeepalive(messages, pauseS * 1000, use.signal)) yield encodeMessage(item ?? method.keepalive);
    yield encodeEnd();
  } catch (error) {
    // The reader has gone: its stream is ended by throwing this into here.
    if (use.signal.aborted || (error as Error).name === 'AbortError') return;
    yield encodeEnd(describe(error, use.box.log));
  } finally {
    use.done();
  }
}

/** Undefined for what is absent, zero or no number. */
function within(least: number, header: string | string[] | undefined, most: number): number | undefined {
  const value = Number(header);
  return value ? Math.min(most, Math.max(least, value)) : undefined;
}

function checked(schema: z.ZodType, message: unknown): unknown {
  const result = schema.safeParse(message);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new RpcError('invalid_argument', `${issue?.path.join('.')}: ${issue?.message}`);
}

function describe(error: unknown, log: Logger): { code: RpcCode; message: string } {
  if (error instanceof RpcError) return { code: error.code, message: error.message };
  if (error instanceof E2bError && error.status === 401) return { code: 'unauthenticated', message: error.message };
  const code = error instanceof BoxError ? (codes[error.code] ?? 'internal') : 'internal';
  if (code !== 'internal') return { code, message: (error as BoxError).message };
  log.error({ err: error }, 'a call failed');
  return { code, message: 'The box could not answer this call.' };
}

const codes: Partial<Record<ErrorCode, RpcCode>> = {
  bad_request: 'invalid_argument',
  too_large: 'invalid_argument',
  not_found: 'not_found',
  already_exists: 'already_exists',
  quota_exceeded: 'resource_exhausted',
  rate_limited: 'resource_exhausted',
  unavailable: 'unavailable',
  sandbox_failed: 'unavailable',
  sandbox_unavailable: 'unavailable',
  shutting_down: 'unavailable',
  on_another_host: 'unavailable',
};

const statuses: Record<RpcCode, number> = {
  invalid_argument: 400,
  unauthenticated: 401,
  not_found: 404,
  already_exists: 409,
  resource_exhausted: 429,
  deadline_exceeded: 504,
  unimplemented: 501,
  unavailable: 503,
  internal: 500,
};
