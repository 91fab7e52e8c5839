/** Against a real HTTP server that answers as told: what goes out, what is tried again, and when it is given up. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Client } from './client.ts';
import { APIError, ConnectionError, SkillboxError, TimeoutError } from './errors.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;
interface Seen {
  readonly line: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

let server: Server;
let url: string;
let answers: Answer[] = [];
const seen: Seen[] = [];
const client = (options = {}) => new Client(url, 'sk-test', { maxRetries: 3, ...options });

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    seen.push({ line: `${request.method} ${request.url}`, headers: request.headers, body: Buffer.concat(chunks).toString() });
    (answers.shift() ?? json(500, { error: 'internal', message: 'nothing more was told', request_id: '' }))(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  answers = [];
  seen.length = 0;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    void response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body));
const refuse = (status: number, error: string, headers: Record<string, string> = {}): Answer =>
  json(status, { error, message: `no: ${error}`, hint: 'try less', details: { a: 1 }, request_id: 'req-1' }, headers);
const record = { execution_id: 'e1', status: 'success', output: { n: 1 }, files_list: [] };

describe('requests', () => {
  it('carry key, tenant, query and body where they belong', async () => {
    answers = [json(200, { items: [], next_cursor: null }), json(200, record), json(200, {})];
    const box = client({ tenant: 'acme', headers: { 'X-Own': '1' } });
    await box.executions.list({ status: 'failed', limit: 5, skill: undefined });
    await box.run('word counter', { text: 'ä' }, { version: '1.0.0' });
    await box.executions.file('e1', 'a b/ü?.txt');
    expect(seen.map(({ line }) => line)).toEqual([
      'GET /v1/executions?status=failed&limit=5',
      'POST /v1/executions',
      'GET /v1/executions/e1/files/a%20b/%C3%BC%3F.txt',
    ]);
    expect(seen[0]?.headers).toMatchObject({ authorization: 'Bearer sk-test', 'x-tenant-id': 'acme', 'x-own': '1' });
    expect(JSON.parse(seen[1]?.body ?? '')).toEqual({ skill: 'word counter', input: { text: 'ä' }, version: '1.0.0', wait: true });
  });

  it('an address that is none is refused at once', () => {
    expect(() => new Client('localhost:8080')).toThrow(SkillboxError);
  });
});

describe('errors', () => {
  it('carry code, hint, status, details and request id', async () => {
    answers = [refuse(404, 'skill_not_found')];
    const error = await client()
      .skills.get('none')
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ code: 'skill_not_found', status: 404, hint: 'try less', requestId: 'req-1', details: { a: 1 } });
    expect(error).toMatchObject({ statusCode: 404, errorCode: 'skill_not_found', message: 'no: skill_not_found' });
  });

  it('what is no box is named as such', async () => {
    answers = [(_request, response) => void response.writeHead(404).end('<html>')];
    await expect(client().health()).rejects.toMatchObject({ code: 'unreachable', message: expect.stringContaining('not as a Skillbox') });
    await expect(new Client('http://127.0.0.1:1', 'k', { maxRetries: 0 }).health()).rejects.toThrow(ConnectionError);
  });
});

describe('retries', () => {
  it('reuse the Idempotency-Key and wait for Retry-After', async () => {
    answers = [refuse(429, 'queue_full', { 'Retry-After': '1' }), refuse(503, 'overloaded'), json(200, record)];
    const begun = performance.now();
    expect((await client().run('s', {})).output).toEqual({ n: 1 });
    expect(performance.now() - begun).toBeGreaterThan(1000);
    const keys = seen.map(({ headers }) => headers['idempotency-key']);
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
    expect(keys).toEqual([keys[0], keys[0], keys[0]]);
  });

  it('end after as many as were allowed, with the last answer', async () => {
    answers = [refuse(503, 'overloaded'), refuse(503, 'overloaded')];
    await expect(client({ maxRetries: 1 }).health()).rejects.toMatchObject({ status: 503, code: 'overloaded' });
    expect(seen).toHaveLength(2);
  });

  it('a broken connection is tried again for what can be repeated, and not for what cannot', async () => {
    const broken: Answer = (request) => request.socket.destroy();
    answers = [broken, json(200, { items: [], next_cursor: null })];
    expect((await client().skills.list()).items).toEqual([]);
    answers = [broken, json(201, { id: 'i1' })];
    await expect(client().sandboxes.create()).rejects.toThrow(ConnectionError);
  });

  it('a stream that was sent cannot be sent again', async () => {
    answers = [refuse(429, 'rate_limited')];
    const body = new Blob(['abc']).stream() as ReadableStream<Uint8Array>;
    await expect(client().sandbox('i1').files.write('a', body)).rejects.toMatchObject({ status: 429 });
    expect(seen).toMatchObject([{ line: 'PUT /v1/sandboxes/i1/files?path=a', body: 'abc' }]);
  });
});

describe('giving up', () => {
  const silent: Answer = () => undefined;

  it('after the time that was given', async () => {
    answers = [silent];
    await expect(client({ timeoutMs: 50 }).health()).rejects.toThrow(TimeoutError);
  });

  it('with the reason of the signal, in a request and in a pause', async () => {
    const reason = new Error('enough');
    const stop = new AbortController();
    answers = [silent];
    const call = client().health({ signal: stop.signal });
    setTimeout(() => stop.abort(reason), 20);
    await expect(call).rejects.toBe(reason);
    await expect(client().health({ signal: stop.signal })).rejects.toBe(reason);
    const other = new AbortController();
    answers = [refuse(503, 'overloaded', { 'Retry-After': '20' })];
    const paused = client().health({ signal: other.signal });
    setTimeout(() => other.abort(reason), 50);
    await expect(paused).rejects.toBe(reason);
  });
});

describe('streams', () => {
  const event = (id: number, type: string, text: string) => `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify({ time: 't', text })}\n\n`;
  const send =
    (...pieces: string[]): Answer =>
    (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      for (const piece of pieces) response.write(piece);
      setTimeout(() => response.destroy(), 10);
    };

  it('go on after the last event where they broke, without loss or repeat', async () => {
    const [one, two, three] = [event(1, 'stdout', 'a\n'), event(2, 'stdout', 'ü'), event(3, 'status', 'success')];
    answers = [send(': connected\n\n', one, two.slice(0, 20)), refuse(503, 'overloaded'), send(two, three)];
    const got: string[] = [];
    for await (const { event: type, data } of client().executions.stream('e1')) got.push(`${type} ${data.text}`);
    expect(got).toEqual(['stdout a\n', 'stdout ü', 'status success']);
    expect(seen.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '1', '1']);
  });

  it('are let go when the reader leaves, and end with the signal', async () => {
    let gone = false;
    answers = [
      (_request, response) => {
        response.writeHead(200).write(event(1, 'stdout', 'a'));
        response.on('close', () => {
          gone = true;
        });
      },
    ];
    for await (const _event of client().executions.stream('e1')) break;
    await expect.poll(() => gone).toBe(true);
    answers = [(_request, response) => void response.writeHead(200).write(event(1, 'stdout', 'a'))];
    const stop = new AbortController();
    const reading = (async () => {
      for await (const _event of client().executions.stream('e1', { signal: stop.signal })) stop.abort(new Error('enough'));
    })();
    await expect(reading).rejects.toThrow('enough');
  });
});

it('all items are read page by page', async () => {
  answers = [json(200, { items: [{ name: 'a' }], next_cursor: 'c1' }), json(200, { items: [{ name: 'b' }], next_cursor: null })];
  expect((await client().listSkills()).map(({ name }) => name)).toEqual(['a', 'b']);
  expect(seen.map(({ line }) => line)).toEqual(['GET /v1/skills?limit=500', 'GET /v1/skills?limit=500&cursor=c1']);
});
