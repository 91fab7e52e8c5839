import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Box } from '../box.ts';
import { passOn } from './forward.ts';

const id = 'i0123456789abcdefghi';
const path = `/v1/sandboxes/${id}/programs/1/events`;

let owner: Server;
let edge: Server;
let address: string | undefined;
let seen: IncomingMessage[];
let onRequest: (request: IncomingMessage, response: import('node:http').ServerResponse) => void;
const listening = async (server: Server): Promise<string> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};
let edgeUrl: string;
beforeEach(async () => {
  seen = [];
  onRequest = (_, response) =>
    void response.writeHead(200, { 'Content-Type': 'text/plain', Connection: 'X-Hop', 'X-Hop': '1' }).end('from the owner');
  owner = createServer((request, response) => {
    seen.push(request);
    onRequest(request, response);
  });
  address = await listening(owner);
  const box = {
    host: 'host-here',
    hosts: { addressOf: async () => address },
    config: { leaseTtl: 50 },
    store: { database: { kind: 'postgres' } },
    sandboxes: { hostOf: async () => 'host-there' },
    metrics: { requests: { inc: vi.fn() } },
    log: { warn: vi.fn(), info: vi.fn(), error: vi.fn() },
  } as unknown as Box;
  edge = createServer((request, response) => {
    void passOn(box, request, response).then((passed) => passed || response.writeHead(418).end('from here'));
  });
  edgeUrl = await listening(edge);
});
afterEach(() => {
  for (const server of [owner, edge]) {
    server.closeAllConnections();
    server.close();
  }
});

it('passes on who asks, for what and where to go on, and drops what belongs to one connection', async () => {
  const answer = await fetch(`${edgeUrl}${path}?a=1`, {
    headers: { authorization: 'Bearer sk-x', 'last-event-id': '7', 'idempotency-key': 'k', 'x-request-id': 'r-1', te: 'trailers' },
  });
  expect([answer.status, await answer.text(), answer.headers.get('x-hop')]).toEqual([200, 'from the owner', null]);
  expect(seen[0]?.url).toBe(`${path}?a=1`);
  expect(seen[0]?.headers).toMatchObject({
    ...{ authorization: 'Bearer sk-x', 'last-event-id': '7', 'idempotency-key': 'k', 'x-request-id': 'r-1' },
    ...{ host: new URL(edgeUrl).host, 'x-skillbox-forwarded': 'host-here' },
  });
  expect(seen[0]?.headers.te).toBeUndefined();
});

it('goes to the owner even when the request line names another address', async () => {
  const { port } = new URL(edgeUrl);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(`GET http://127.0.0.1:1${path}?b=2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 /);
  expect(seen[0]?.url).toBe(`${path}?b=2`);
});

it('leaves to this host what was passed on already, what is a record, and what nobody can be asked about', async () => {
  const status = async (target: string, headers = {}): Promise<number> => (await fetch(edgeUrl + target, { headers })).status;
  expect(await status(path, { 'x-skillbox-forwarded': 'x' })).toBe(418);
  expect(await status(`/v1/sandboxes/${id}`)).toBe(418);
  expect(await status(`/v1/sandboxes/${id}/events`)).toBe(418);
  expect(await status('/v1/sandboxes')).toBe(418);
  expect(await status(`/e2b/sandboxes/${id}`)).toBe(418);
  expect(seen).toEqual([]);
  address = undefined;
  expect(await status(path)).toBe(418);
  address = 'http://127.0.0.1:1';
  expect(await status(path)).toBe(418);
});

it('goes at the pace of the slower side, both ways', async () => {
  let read = 0;
  onRequest = (request, response) => {
    // Nobody reads: what can be sent is what fits between.
    setTimeout(() => {
      request.on('data', (chunk: Buffer) => {
        read += chunk.length;
      });
      request.on('end', () => response.end('done'));
    }, 300);
  };
  const outgoing = httpRequest(`${edgeUrl}/v1/sandboxes/${id}/files/x`, { method: 'PUT' });
  const chunk = Buffer.alloc(2 ** 20);
  let accepted = 0;
  for (let n = 0; n < 100; n += 1)
    outgoing.write(chunk, () => {
      accepted += 1;
    });
  await delay(200);
  expect(accepted).toBeLessThan(30);
  outgoing.end();
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  answer.resume();
  await once(answer, 'end');
  expect(read).toBe(100 * 2 ** 20);
});

it('ends there when the caller goes, and tells the caller when the owner goes', async () => {
  const ended = new Promise<void>((resolve) => {
    onRequest = (request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('id: 1\nevent: stdout\ndata: {}\n\n');
      request.once('close', resolve);
    };
  });
  const gone = new AbortController();
  const stream = await fetch(edgeUrl + path, { signal: gone.signal });
  await stream.body?.getReader().read();
  gone.abort();
  await ended;

  onRequest = (_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('id: 1\nevent: stdout\ndata: {}\n\nid: 2\nevent: std');
    setTimeout(() => response.destroy(), 50);
  };
  const text = await (await fetch(edgeUrl + path)).text();
  expect(text).toBe(
    'id: 1\nevent: stdout\ndata: {}\n\nevent: error\ndata: {"error":"on_another_host","message":"The host that has this sandbox went away, and with it this stream."}\n\n',
  );

  onRequest = (_, response) => void response.destroy();
  const refused = await fetch(edgeUrl + path);
  expect([refused.status, await refused.json()]).toMatchObject([503, { error: 'unavailable', request_id: expect.any(String) }]);

  // Half a file is not a file.
  onRequest = (_, response) => {
    response.writeHead(200, { 'Content-Length': '10' }).write('half');
    setTimeout(() => response.destroy(), 50);
  };
  await expect(fetch(edgeUrl + path).then((answer) => answer.text())).rejects.toThrow();
});

it('gives up an owner whose lease has run out, though its connection stands', async () => {
  onRequest = (_, response) => void response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(': connected\n\n');
  const answer = await fetch(edgeUrl + path);
  address = undefined;
  expect(await answer.text()).toContain('event: error');
});
