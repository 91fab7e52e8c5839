/** Calls a box: any command of the registry by its HTTP face. Nothing here knows a particular command. */

import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import type { Readable } from 'node:stream';
import { BoxError, type ErrorCode, isErrorCode } from '@skillbox/protocol';
import type { Command, StreamEvent } from '../commands/command.ts';
import type { Connection } from './connection.ts';
import { readEvents } from './event-stream.ts';

export interface Answer {
  readonly status: number;
  readonly text: string;
  /** Parsed JSON; the text itself for a command that answers with text; undefined when there is none. */
  readonly body: unknown;
}

export interface CallOptions {
  readonly idempotencyKey?: string;
  /** Answers of these statuses are read like good ones. */
  readonly accept?: readonly number[];
  /** Longest silence; 0 for answers that may take as long as they take. */
  readonly silenceMs?: number;
  readonly signal?: AbortSignal;
  onUpload?(sent: number, total: number): void;
}

export interface Client {
  readonly url: string;
  call(command: Command, input: Record<string, unknown>, options?: CallOptions): Promise<Answer>;
  /** The bytes of an answer, not yet read. */
  open(command: Command, input: Record<string, unknown>, options?: CallOptions): Promise<IncomingMessage>;
  /** Server-sent events after `lastEventId`. Ends with the stream; throws `unreachable` when it breaks. */
  events(command: Command, input: Record<string, unknown>, options?: CallOptions & { lastEventId?: string }): AsyncGenerator<StreamEvent>;
}

/** An error that a box answered with. */
export class RemoteError extends BoxError {
  readonly requestId: string | undefined;

  constructor(code: ErrorCode, message: string, options: ConstructorParameters<typeof BoxError>[2] & { requestId?: string }) {
    super(code, message, options);
    this.requestId = options.requestId;
  }
}

const defaultSilenceMs = 60_000;
const uploadChunk = 64 * 1024;

export function createClient(connection: Connection): Client {
  const { url } = connection;
  const send = (command: Command, input: Record<string, unknown>, options: CallOptions, headers: Record<string, string> = {}) =>
    exchange(connection, requestOf(command, input), options, headers);
  return {
    url,
    async open(command, input, options = {}) {
      const response = await send(command, input, options);
      await requireGood(response, url, options);
      return response;
    },
    async call(command, input, options = {}) {
      const response = await send(command, input, options);
      await requireGood(response, url, options);
      const text = await readText(response, url);
      if (command.output.kind === 'text') return { status: statusOf(response), text, body: text };
      return { status: statusOf(response), text, body: text === '' ? undefined : parse(text, url) };
    },
    async *events(command, input, { lastEventId, ...options } = {}) {
      const headers = { Accept: 'text/event-stream', ...(lastEventId !== undefined && { 'Last-Event-ID': lastEventId }) };
      const response = await send(command, input, options, headers);
      await requireGood(response, url, options);
      try {
        yield* readEvents(response);
      } catch (error) {
        throw unreachable(url, error as NodeJS.ErrnoException);
      } finally {
        response.destroy();
      }
    },
  };
}

interface WireRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly body: Buffer | undefined;
  /** Instead of a body: as long as it takes. */
  readonly stream?: Readable;
  readonly contentType: string;
}

/** Where each field goes: path, query, or body. */
export function requestOf({ http }: Pick<Command, 'http'>, input: Record<string, unknown>): WireRequest {
  const rest = { ...input };
  const path = http.path.replace(/:(\w+)(\*?)/g, (_match, name: string, many: string) => {
    const value = String(rest[name] ?? pathDefault(name));
    delete rest[name];
    return many ? value.split('/').map(encodeURIComponent).join('/') : encodeURIComponent(value);
  });
  const { method } = http;
  if (http.upload) return { method, path, body: rest.archive as Buffer, contentType: 'application/zip' };
  const stream = http.raw && isStream(rest.body) ? rest.body : undefined;
  if (stream) delete rest.body;
  if (!stream && method !== 'GET' && method !== 'DELETE') {
    return { method, path, body: Buffer.from(JSON.stringify(rest)), contentType: 'application/json' };
  }
  const query = new URLSearchParams(Object.entries(rest).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])));
  const whole = query.size > 0 ? `${path}?${query}` : path;
  return { method, path: whole, body: undefined, contentType: stream ? 'application/octet-stream' : '', ...(stream && { stream }) };
}

const isStream = (value: unknown): value is Readable => typeof (value as Readable | undefined)?.pipe === 'function';

function pathDefault(name: string): string {
  if (name === 'version') return 'latest';
  throw new Error(`The path needs ${name}.`);
}

async function exchange(
  { url, key, tenant }: Connection,
  wire: WireRequest,
  options: CallOptions,
  more: Record<string, string>,
): Promise<IncomingMessage> {
  const base = new URL(url);
  const headers: Record<string, string> = {
    Accept: '*/*',
    'User-Agent': 'skillbox-cli',
    ...(key !== undefined && { Authorization: `Bearer ${key}` }),
    ...(tenant !== undefined && { 'X-Tenant-ID': tenant }),
    ...(options.idempotencyKey !== undefined && { 'Idempotency-Key': options.idempotencyKey }),
    ...(wire.body && { 'Content-Type': wire.contentType, 'Content-Length': String(wire.body.length) }),
    ...(wire.stream && { 'Content-Type': wire.contentType }),
    ...more,
  };
  const target: RequestOptions = {
    protocol: base.protocol,
    hostname: base.hostname.replace(/^\[|\]$/g, ''),
    port: base.port,
    method: wire.method,
    path: base.pathname.replace(/\/$/, '') + wire.path,
    headers,
    agent: false,
    ...(options.signal && { signal: options.signal }),
  };
  const { request } = base.protocol === 'https:' ? await import('node:https') : await import('node:http');
  const silenceMs = options.silenceMs ?? defaultSilenceMs;
  return new Promise((resolve, reject) => {
    let answered = false;
    const outgoing = request(target, (response) => {
      answered = true;
      resolve(response);
    });
    outgoing.on('error', (error: NodeJS.ErrnoException) => reject(unreachable(url, error)));
    if (silenceMs > 0) outgoing.setTimeout(silenceMs, () => outgoing.destroy(new Error(`no answer within ${silenceMs / 1000} s`)));
    // A server that refuses an upload answers before it has read all of it.
    if (wire.stream) writeStream(outgoing, wire.stream, reject);
    else void writeBody(outgoing, wire.body, options.onUpload, () => answered);
  });
}

/** An answer that comes early ends the sending; only a source that cannot be read is a fault of this side. */
function writeStream(outgoing: ClientRequest, stream: Readable, fail: (error: Error) => void): void {
  stream.once('error', (error) => {
    fail(error);
    outgoing.destroy();
  });
  stream.pipe(outgoing);
}

async function writeBody(
  outgoing: ClientRequest,
  body: Buffer | undefined,
  onUpload: CallOptions['onUpload'],
  isAnswered: () => boolean,
): Promise<void> {
  if (!body || body.length <= uploadChunk) {
    outgoing.end(body);
    return;
  }
  let goOn = (): void => undefined;
  for (const event of ['drain', 'response', 'close']) outgoing.on(event, () => goOn());
  for (let sent = 0; sent < body.length && !isAnswered() && !outgoing.destroyed; ) {
    const chunk = body.subarray(sent, sent + uploadChunk);
    sent += chunk.length;
    const full = !outgoing.write(chunk);
    onUpload?.(sent, body.length);
    if (!full) continue;
    await new Promise<void>((resolve) => {
      goOn = resolve;
    });
    // A refusal that has come is read before the next piece is written into a closed connection, which would lose it.
    await new Promise((resolve) => setImmediate(resolve));
  }
  outgoing.end();
}

const statusOf = (response: IncomingMessage): number => response.statusCode ?? 0;

async function requireGood(response: IncomingMessage, url: string, { accept = [] }: CallOptions): Promise<void> {
  const status = statusOf(response);
  if ((status >= 200 && status < 300) || accept.includes(status)) return;
  throw remoteError(response, await readText(response, url), url);
}

export function remoteError(response: Pick<IncomingMessage, 'statusCode' | 'headers'>, text: string, url: string): BoxError {
  const status = response.statusCode ?? 0;
  const body = errorBodyOf(text);
  if (!body) {
    return new BoxError('unreachable', `${url} answered with status ${status}, but not as a Skillbox does.`, {
      hint: 'Something else may listen there. Name the box with --server, or see what is wrong: skillbox doctor.',
    });
  }
  const retryAfter = Number(response.headers['retry-after']);
  return new RemoteError(isErrorCode(body.error) ? body.error : codeForStatus(status), body.message, {
    ...(body.hint !== undefined && { hint: body.hint }),
    ...(body.details !== undefined && { details: body.details }),
    ...(Number.isFinite(retryAfter) && { retryAfter }),
    ...(body.request_id !== undefined && { requestId: body.request_id }),
  });
}

interface ErrorAnswer {
  readonly error: string;
  readonly message: string;
  readonly hint?: string;
  readonly details?: unknown;
  readonly request_id?: string;
}

function errorBodyOf(text: string): ErrorAnswer | undefined {
  try {
    const body = JSON.parse(text) as Partial<ErrorAnswer> | null;
    return typeof body?.error === 'string' && typeof body.message === 'string' ? (body as ErrorAnswer) : undefined;
  } catch {
    // Not JSON: the caller says so.
    return undefined;
  }
}

/** For a code that only a newer box knows. */
function codeForStatus(status: number): ErrorCode {
  const codes: Record<number, ErrorCode> = {
    401: 'unauthorized',
    403: 'forbidden',
    404: 'not_found',
    409: 'already_exists',
    413: 'too_large',
  };
  if (status === 429) return 'rate_limited';
  if (status >= 500) return status === 503 ? 'unavailable' : 'internal';
  return codes[status] ?? 'bad_request';
}

async function readText(response: IncomingMessage, url: string): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  } catch (error) {
    throw unreachable(url, error as NodeJS.ErrnoException);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parse(text: string, url: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new BoxError('unreachable', `${url} did not answer with JSON, as a Skillbox does.`, {
      cause,
      hint: 'Something else may listen there. Name the box with --server.',
    });
  }
}

const reasons: Record<string, string> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'there is no host of that name',
  EAI_AGAIN: 'the name could not be looked up',
  ECONNRESET: 'the connection broke',
  EPIPE: 'the connection broke',
  ETIMEDOUT: 'it did not answer in time',
  EHOSTUNREACH: 'there is no way to that host',
  ENETUNREACH: 'there is no way to that network',
  ABORT_ERR: 'the call was given up',
};

function unreachable(url: string, error: NodeJS.ErrnoException): BoxError {
  if (error instanceof BoxError) return error;
  const broke = error.code === 'ECONNRESET' || error.code === 'EPIPE';
  return new BoxError('unreachable', `No box answers at ${url}: ${reasons[error.code ?? ''] ?? error.message}.`, {
    cause: error,
    details: { broke },
  });
}

/** The connection had been there, and broke: what was asked may have been done. */
export const isBroken = (error: unknown): boolean =>
  error instanceof BoxError && error.code === 'unreachable' && (error.details as { broke?: boolean } | undefined)?.broke === true;
