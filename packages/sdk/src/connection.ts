/** One box, one key: requests with time limits, retries and typed errors. Knows routes, but no particular one. */

import { ConnectionError, errorOf, SkillboxError, TimeoutError } from './errors.ts';
import { type Attempt, pauseBefore, sleep } from './retries.ts';
import type { Routes } from './types.ts';

export interface ClientOptions {
  /** Whom an administrator acts for; other keys have their own tenant. */
  readonly tenant?: string;
  /** For one attempt, until the answer is there; 0 for none. Default: 60 seconds. Runs and programs that are waited for take what they take. */
  readonly timeoutMs?: number;
  /** Attempts after the first, on 429, 503 and broken connections. Default: 3. */
  readonly maxRetries?: number;
  /** A box that asks for a longer pause is not waited for. Default: 30 seconds. */
  readonly longestPauseMs?: number;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Instead of the fetch there is. */
  readonly fetch?: typeof fetch;
  /** Instead of the WebSocket there is; Node has one from version 22 on. */
  readonly WebSocket?: SocketConstructor;
}

/** The part of the standard WebSocket that terminals use. */
export interface SocketLike {
  binaryType: string;
  readonly readyState: number;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code?: number): void;
  addEventListener(
    type: 'open' | 'message' | 'close' | 'error',
    listener: (event: { data?: unknown; message?: string; reason?: string }) => void,
  ): void;
}
export type SocketConstructor = new (url: string, protocols?: string[]) => SocketLike;

export interface CallOptions {
  /** Gives the call up; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  readonly maxRetries?: number | undefined;
  /** The same request under the same key is done once, however often it is sent. */
  readonly idempotencyKey?: string | undefined;
}

/** What travels as it is, instead of JSON. */
export type Bytes = Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array> | string;

export interface Send extends CallOptions {
  readonly body?: Bytes | undefined;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses that are answers, not errors. */
  readonly accept?: readonly number[];
}

export class Connection {
  readonly url: string;
  readonly key: string | undefined;
  readonly options: ClientOptions;

  constructor(url: string, key: string | undefined, options: ClientOptions) {
    if (!/^https?:\/\//.test(url)) {
      throw new SkillboxError('usage', `${JSON.stringify(url)} is not the address of a box.`, {
        hint: 'Give one such as http://localhost:8080.',
      });
    }
    this.url = url.replace(/\/+$/, '');
    this.key = key;
    this.options = options;
  }

  /** The answer of a route, read. */
  async call<R extends keyof Routes>(route: R, input: Routes[R]['input'], options: Send = {}): Promise<Routes[R]['output']> {
    return this.#exchange(route, input, options, async (response) => {
      if (response.status === 204) return undefined;
      const type = response.headers.get('content-type') ?? '';
      if (type.startsWith('application/json')) return response.json();
      if (type.startsWith('text/plain')) return response.text();
      return new Uint8Array(await response.arrayBuffer());
    }) as Promise<Routes[R]['output']>;
  }

  /** The answer of a route, unread: only its head is waited for. */
  open<R extends keyof Routes>(route: R, input: Routes[R]['input'], options: Send = {}): Promise<Response> {
    return this.#exchange(route, input, options, async (response) => response);
  }

  async #exchange<T>(route: string, input: object, options: Send, read: (response: Response) => Promise<T>): Promise<T> {
    const request = requestOf(route, input, options);
    const policy = {
      maxRetries: options.maxRetries ?? this.options.maxRetries ?? 3,
      longestPauseMs: this.options.longestPauseMs ?? 30_000,
    };
    const repeatable = request.method === 'GET' || options.idempotencyKey !== undefined;
    const replayable = !(options.body instanceof ReadableStream);
    for (let number = 1; ; number += 1) {
      try {
        return await this.#attempt(request, options, read);
      } catch (error) {
        const pause = pauseBefore(error, { number, repeatable, replayable } satisfies Attempt, policy);
        if (pause === undefined) throw error;
        await sleep(pause, options.signal);
      }
    }
  }

  async #attempt<T>({ path, ...request }: WireRequest, options: Send, read: (response: Response) => Promise<T>): Promise<T> {
    const { signal } = options;
    const timeoutMs = options.timeoutMs ?? this.options.timeoutMs ?? 60_000;
    signal?.throwIfAborted();
    const end = new AbortController();
    const giveUp = (): void => end.abort(signal?.reason);
    signal?.addEventListener('abort', giveUp);
    const timer = timeoutMs > 0 ? setTimeout(() => end.abort(new TimeoutError(this.url, timeoutMs)), timeoutMs) : undefined;
    let open = false;
    try {
      const response = await (this.options.fetch ?? fetch)(this.url + path, {
        ...request,
        headers: this.#headers(request, options),
        signal: end.signal,
        // Bodies that are streams can only be sent so.
        ...(request.body instanceof ReadableStream && { duplex: 'half' }),
      } as RequestInit);
      if (!response.ok && !options.accept?.includes(response.status)) throw await errorOf(response);
      const result = await read(response);
      // What is not read yet still ends with the caller's signal.
      open = (result as unknown) === response;
      return result;
    } catch (error) {
      if (end.signal.aborted) throw end.signal.reason;
      throw error instanceof SkillboxError ? error : new ConnectionError(this.url, reasonOf(error), error);
    } finally {
      clearTimeout(timer);
      if (!open) signal?.removeEventListener('abort', giveUp);
    }
  }

  #headers({ contentType }: { contentType?: string | undefined }, options: Send): Record<string, string> {
    const { tenant, headers } = this.options;
    return {
      ...headers,
      ...(this.key !== undefined && { Authorization: `Bearer ${this.key}` }),
      ...(tenant !== undefined && { 'X-Tenant-ID': tenant }),
      ...(contentType !== undefined && { 'Content-Type': contentType }),
      ...(options.idempotencyKey !== undefined && { 'Idempotency-Key': options.idempotencyKey }),
      ...options.headers,
    };
  }
}

interface WireRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly body?: Bytes;
  readonly contentType?: string;
}

/** Where each field goes: path, query, or JSON body. */
export function requestOf(route: string, input: object, { body, contentType }: Pick<Send, 'body' | 'contentType'>): WireRequest {
  const [method = '', pattern = ''] = route.split(' ');
  const rest: Record<string, unknown> = { ...input };
  const path = pattern.replace(/\{(\w+)\}/g, (_match, name: string) => {
    const value = String(rest[name]);
    delete rest[name];
    // The one parameter that goes over several parts.
    return name === 'path' ? value.split('/').map(encodeURIComponent).join('/') : encodeURIComponent(value);
  });
  if (body === undefined && method !== 'GET' && method !== 'DELETE') {
    return { method, path, body: JSON.stringify(rest), contentType: 'application/json' };
  }
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(rest)) if (value !== undefined) query.set(name, String(value));
  const text = query.toString();
  return {
    ...{ method, path: text === '' ? path : `${path}?${text}` },
    ...(body !== undefined && { body, contentType: contentType ?? 'application/octet-stream' }),
  };
}

/** fetch says only that it failed; its cause says why. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  const { code, message: deeper } = (cause ?? {}) as { code?: string; message?: string };
  return { ECONNREFUSED: 'nothing listens there', ECONNRESET: 'the connection broke' }[code ?? ''] ?? (deeper || message);
}
