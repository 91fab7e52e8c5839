/** Answers to what never becomes a request: a head that does not parse, is too long or too slow, or names no host. */

import { randomUUID } from 'node:crypto';
import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ErrorBody, type ErrorCode, errorKinds } from '@skillbox/protocol';
import { giveAnswerTo, hasLastAnswer } from '../last-answer.ts';
import { rawHead } from '../raw-head.ts';

/** For a request line or Host header that makes no address. */
export function malformedAnswer(): Response {
  const body = bodyOf('bad_request', 'The request line or the Host header cannot be understood.');
  const headers = { 'Content-Type': 'application/json', 'X-Request-ID': body.request_id, Connection: 'close' };
  return new Response(JSON.stringify(body), { status: 400, headers });
}

export function answerMalformed(server: Server): void {
  const answering = new WeakMap<Duplex, ServerResponse>();
  server.on('request', (request, response) => answering.set(request.socket, response));
  // An expectation that is not understood may be ignored; Node would refuse it without a word.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (hasLastAnswer(socket)) return;
    const current = answering.get(socket);
    const between = !current || current.writableEnded || !current.headersSent;
    if (!socket.writable || error.code === 'ECONNRESET' || !between) socket.destroy();
    else giveAnswerTo(error, socket, rawAnswer(...(faults[error.code ?? ''] ?? notUnderstood)));
  });
}

/** A whole answer as text, for a connection that has no request to answer; it is the last on it. */
export function rawAnswer(status: number, kind: ErrorCode, message: string, retryAfter?: number): string {
  const body = bodyOf(kind, message);
  const text = JSON.stringify(body);
  const head = rawHead(status, STATUS_CODES[status] ?? '', {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    'X-Request-ID': body.request_id,
    'Retry-After': retryAfter,
    Connection: 'close',
  });
  return `${head}${text}`;
}

type Fault = readonly [status: number, kind: ErrorCode, message: string];

const notUnderstood: Fault = [400, 'bad_request', 'This is not HTTP that can be understood.'];
const faults: Record<string, Fault> = {
  HPE_HEADER_OVERFLOW: [431, 'too_large', 'The headers of the request are too large.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'too_large', 'The chunk extensions of the body are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'bad_request', 'The request did not arrive in time.'],
};

const bodyOf = (error: ErrorCode, message: string): ErrorBody => ({
  error,
  message,
  hint: errorKinds[error].hint,
  request_id: randomUUID(),
});
