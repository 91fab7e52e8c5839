/**
 * Messages of an MCP client, one in each line, to /mcp of a box and back. A client of sessions has one here for as long as it likes: when
 * the box has forgotten the session behind it (a restart, half an hour of silence, another host), a new one is opened without a word.
 */

import { createInterface } from 'node:readline';
import type { Connection } from './connection.ts';
import { readEvents } from './event-stream.ts';

type Message = Record<string, unknown>;

const revisionName = 'io.modelcontextprotocol/protocolVersion';
const internalError = -32603;
const againMs = 1000;
const graceMs = 2000;

/** Returns when the client has closed its end. */
export async function bridge({ url, key, tenant }: Connection, input: NodeJS.ReadableStream, write: (line: string) => void): Promise<void> {
  const over = new AbortController();
  /** Requests under way that are taken back by hanging up. */
  const calls = new Map<unknown, AbortController>();
  let opening: Message | undefined;
  let session: Promise<string | undefined> = Promise.resolve(undefined);
  let listening = false;

  const say = (message: unknown): void => write(`${JSON.stringify(message)}\n`);
  const fail = (id: unknown, code: number, message: string, data?: unknown): void => {
    if (id !== undefined) say({ jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } });
  };
  const send = async (method: string, message: Message | undefined, signal: AbortSignal, more: Record<string, string> = {}) => {
    const id = await session;
    return fetch(`${url}/mcp`, {
      method,
      signal,
      headers: {
        ...{ Accept: method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream', 'User-Agent': 'skillbox-mcp' },
        ...(key !== undefined && { Authorization: `Bearer ${key}` }),
        ...(tenant !== undefined && { 'X-Tenant-ID': tenant }),
        ...(message && { 'Content-Type': 'application/json', ...headersOf(message) }),
        ...(id !== undefined && !isModern(message) && { 'Mcp-Session-Id': id }),
        ...more,
      },
      ...(message && { body: JSON.stringify(message) }),
    });
  };
  const open = (message: Message): Promise<Response> => {
    session = Promise.resolve(undefined);
    return send('POST', message, over.signal);
  };
  const begin = async (message: Message): Promise<Response> => {
    opening = message;
    const response = await open(message);
    session = Promise.resolve(response.headers.get('mcp-session-id') ?? undefined);
    return response;
  };
  /** Another request may have opened a new one in the meantime. */
  const reopen = async (forgotten: string | undefined): Promise<void> => {
    if (!opening || (await session) !== forgotten) return;
    const message = opening;
    const opened = open(message).then(async (response) => {
      await response.body?.cancel();
      return response.headers.get('mcp-session-id') ?? undefined;
    });
    // Whoever comes next tries again.
    session = opened.catch(() => forgotten);
    await opened;
    await (await send('POST', { jsonrpc: '2.0', method: 'notifications/initialized' }, over.signal)).body?.cancel();
  };
  const hand = async (message: Message, signal: AbortSignal): Promise<Response> => {
    const before = await session;
    const response = await send('POST', message, signal);
    if (response.status !== 404 || before === undefined || isModern(message)) return response;
    await response.body?.cancel();
    await reopen(before);
    return send('POST', message, signal);
  };
  const receive = async (response: Response, message: Message): Promise<void> => {
    const { id } = message;
    if (response.headers.get('content-type')?.startsWith('text/event-stream') && response.body) {
      for await (const { data } of readEvents(response.body)) say(data);
      return;
    }
    const text = await response.text();
    if (text === '' && response.ok) return;
    const body = parse(text);
    if (body?.jsonrpc !== '2.0')
      return fail(id, internalError, `${url} answered with status ${response.status}, but not as a Skillbox does.`);
    // What could not be read as far as its id is told without one; here it is known.
    if (body.error !== undefined && body.id === undefined) return id === undefined ? undefined : say({ ...body, id });
    say(body);
  };
  const unreachable = (error: unknown): string => {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    return `No box answers at ${url}: ${cause}. Is it up? skillbox up, skillbox doctor.`;
  };
  const listen = async (): Promise<void> => {
    let last = '';
    while (!over.signal.aborted) {
      const at = await session;
      try {
        const response = await send('GET', undefined, over.signal, last === '' ? {} : { 'Last-Event-ID': last });
        if (response.ok && response.body) {
          for await (const { id, data } of readEvents(response.body)) {
            last = id;
            say(data);
          }
        } else {
          await response.body?.cancel();
          last = '';
          if (response.status === 404) await reopen(at);
        }
      } catch {
        // The box is away, or this end is closing: the next round finds out which.
      }
      await pause(againMs, over.signal);
    }
  };
  const work = async (message: Message): Promise<void> => {
    const { id, method } = message;
    if (method === 'notifications/cancelled') {
      const call = calls.get((message.params as Message | undefined)?.requestId);
      if (call) return call.abort();
    }
    const controller = new AbortController();
    if (id !== undefined && isModern(message)) calls.set(id, controller);
    try {
      const signal = AbortSignal.any([over.signal, controller.signal]);
      await receive(method === 'initialize' ? await begin(message) : await hand(message, signal), message);
      if (method !== 'notifications/initialized' || listening) return;
      listening = true;
      void listen();
    } catch (error) {
      if (!over.signal.aborted && !controller.signal.aborted) fail(id, internalError, unreachable(error));
    } finally {
      calls.delete(id);
    }
  };

  // What follows initialize belongs into its session: it waits for that, and for nothing else.
  let ready: Promise<void> = Promise.resolve();
  const underWay = new Set<Promise<void>>();
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line.trim() === '') continue;
    const message = parse(line);
    if (!message) {
      say({ jsonrpc: '2.0', error: { code: -32700, message: 'This line is not a JSON object.' } });
      continue;
    }
    const done = message.method === 'initialize' ? work(message) : ready.then(() => work(message));
    if (message.method === 'initialize') ready = done;
    underWay.add(done);
    void done.finally(() => underWay.delete(done));
  }
  // Answers that are on their way still come; what takes longer nobody waits for.
  await Promise.race([Promise.all(underWay), pause(graceMs, over.signal)]);
  const id = await session;
  over.abort();
  if (id === undefined || !opening) return;
  // A session that nobody ends is ended by the box, later.
  await fetch(`${url}/mcp`, {
    ...{ method: 'DELETE', signal: AbortSignal.timeout(1000) },
    headers: {
      'Mcp-Session-Id': id,
      ...(key !== undefined && { Authorization: `Bearer ${key}` }),
      ...(tenant !== undefined && { 'X-Tenant-ID': tenant }),
    },
  }).catch(() => undefined);
}

const metaOf = (message: Message | undefined): Message | undefined =>
  ((message?.params as Message | undefined)?._meta as Message | undefined) ?? undefined;

const isModern = (message: Message | undefined): boolean => metaOf(message)?.[revisionName] !== undefined;

/** What a request of 2026-07-28 says once more in its headers. */
function headersOf(message: Message): Record<string, string> {
  const revision = metaOf(message)?.[revisionName];
  if (typeof revision !== 'string') return {};
  const { name, uri } = (message.params ?? {}) as Message;
  const named = name ?? uri;
  return {
    ...{ 'MCP-Protocol-Version': headerValue(revision), 'Mcp-Method': headerValue(String(message.method)) },
    ...(typeof named === 'string' && { 'Mcp-Name': headerValue(named) }),
  };
}

const headerValue = (text: string): string =>
  /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text)
    ? text
    : `=?base64?${Buffer.from(text).toString('base64')}?=`;

function parse(text: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Message) : undefined;
  } catch {
    // Not JSON: whoever asked says what that means.
    return undefined;
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
