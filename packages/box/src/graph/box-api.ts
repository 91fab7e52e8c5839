/** The API of a box, as programs of the graph use it: on this machine by the address and the key in the state root. */

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError, isErrorCode } from '@skillbox/protocol';
import { adminKeyFile, readServerRecord } from '../state.ts';

export interface BoxAddress {
  /** Without a slash at the end. */
  readonly url: string;
  readonly key: string | undefined;
  /** Id of the host; undefined: whichever answers. */
  readonly host: string | undefined;
}

export interface BoxApi {
  readonly host: string | undefined;
  request<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown, timeoutMs?: number): Promise<T>;
  /** Status that a server in a sandbox answers with; undefined when nothing does. */
  status(sandbox: string, port: number, path: string, timeoutMs: number): Promise<number | undefined>;
}

const usualTimeoutMs = 120_000;
const retryMs = 250;

/** Of the server that runs on this state root; undefined when none does. */
export function localBox(stateRoot: string): BoxApi | undefined {
  const record = readServerRecord(stateRoot);
  if (!record) return undefined;
  const url = record.url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
  return createBoxApi({ url, key: readFileSync(adminKeyFile(stateRoot), 'utf8').trim(), host: record.host });
}

export function requireLocalBox(stateRoot: string): BoxApi {
  const api = localBox(stateRoot);
  if (api) return api;
  throw new BoxError('unreachable', 'No server of this box runs, and only it can make sandboxes.', { hint: 'Start it: skillbox up.' });
}

export function createBoxApi({ url, key, host }: BoxAddress): BoxApi {
  const authorization: Record<string, string> = key === undefined ? {} : { Authorization: `Bearer ${key}` };
  const send = async (path: string, init: RequestInit, timeoutMs: number): Promise<Response> => {
    try {
      return await fetch(url + path, { ...init, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) });
    } catch (cause) {
      throw new BoxError('unreachable', `No box answers at ${url}: ${reasonOf(cause)}.`, { cause });
    }
  };
  return {
    host,
    async request<T>(method: string, path: string, body?: unknown, timeoutMs = usualTimeoutMs): Promise<T> {
      const headers = { ...authorization, ...(body !== undefined && { 'Content-Type': 'application/json' }) };
      const since = performance.now();
      for (;;) {
        const response = await send(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }, timeoutMs);
        const answer = parse(await response.text());
        if (response.ok) return answer as T;
        const error = errorOf(answer, response.status, url);
        // Many services at once ask more than a tenant may in a second.
        if (error.code !== 'rate_limited' || performance.now() - since > timeoutMs) throw error;
        await sleep(retryMs);
      }
    },
    async status(sandbox, port, path, timeoutMs) {
      const response = await send(`/preview/${sandbox}/${port}${path}`, { headers: authorization }, timeoutMs);
      // A refusal of the box itself carries the id of the request in its body; what answers inside cannot know it.
      const answer = response.ok ? undefined : parse(await response.text());
      await response.body?.cancel().catch(() => undefined);
      const own = (answer as { request_id?: unknown } | undefined)?.request_id;
      if (own === undefined || own !== response.headers.get('x-request-id')) return response.status;
      const error = errorOf(answer, response.status, url);
      if (error.code === 'nothing_listens') return undefined;
      throw error;
    },
  };
}

function reasonOf(cause: unknown): string {
  const { cause: inner, message } = cause as Error;
  return inner instanceof Error ? inner.message : message;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Whoever answers with something else is no box, which the status says.
    return undefined;
  }
}

function errorOf(answer: unknown, status: number, url: string): BoxError {
  const { error, message, hint, details } = (answer ?? {}) as { error?: string; message?: string; hint?: string; details?: unknown };
  if (error === undefined || message === undefined || !isErrorCode(error))
    return new BoxError('unreachable', `${url} answered with status ${status}, but not as a Skillbox does.`);
  return new BoxError(error, message, { ...(hint !== undefined && { hint }), ...(details !== undefined && { details }) });
}
