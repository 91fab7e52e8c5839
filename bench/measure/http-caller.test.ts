import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { createCaller, readAnswer, requestBytes } from './http-caller.ts';

it('reads answers of known length, in chunks and without a body, once they are whole', () => {
  const whole = [
    ['HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\nhello', { status: 200, body: 'hello' }],
    ['HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n', { status: 201, body: 'hello!' }],
    ['HTTP/1.1 204 No Content\r\nX: y\r\n\r\n', { status: 204, body: '' }],
  ] as const;
  for (const [text, expected] of whole) {
    const answer = readAnswer(Buffer.from(text));
    expect({ status: answer?.status, body: answer?.body.toString() }).toEqual(expected);
    for (let cut = 0; cut < text.length; cut += 1) expect(readAnswer(Buffer.from(text.slice(0, cut))), text.slice(0, cut)).toBeUndefined();
  }
});

it('keeps its connection, and opens another when that was closed', async () => {
  let connections = 0;
  const seen: string[] = [];
  const server = createServer((request, response) => {
    request.setEncoding('utf8').on('data', (text) => seen.push(`${request.headers.authorization} ${text}`));
    request.on('end', () => response.end(request.url));
  }).listen(0, '127.0.0.1');
  server.on('connection', () => {
    connections += 1;
  });
  await once(server, 'listening');
  const address = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key: 'sk-1' };
  const caller = createCaller(address);
  const ask = async (path: string) => (await caller.send(requestBytes(address, 'POST', path, { é: 1 }))).body.toString();
  expect(await ask('/one')).toBe('/one');
  expect(await ask('/two')).toBe('/two');
  expect(connections).toBe(1);
  expect(seen).toEqual(['Bearer sk-1 {"é":1}', 'Bearer sk-1 {"é":1}']);
  server.closeAllConnections();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await ask('/three')).toBe('/three');
  expect(connections).toBe(2);
  caller.close();
  server.close();
});

it('a server that hangs up in the middle is an error', async () => {
  const server = createServer((request) => void request.socket.destroy()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key: 'sk-1' };
  await expect(createCaller(address).send(requestBytes(address, 'GET', '/'))).rejects.toThrow();
  server.close();
});
