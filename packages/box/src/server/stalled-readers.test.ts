import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { endStalledReaders } from './stalled-readers.ts';

const periodMs = 300;
let server: Server;
let closed: string[];
beforeEach(async () => {
  const mine: string[] = [];
  closed = mine;
  server = createServer((request, response) => {
    const { socket, url = '' } = request;
    socket.once('close', () => mine.push(url));
    response.on('error', () => undefined);
    if (url === '/idle') response.write('hello');
    // More than the system's buffers take.
    else response.end(Buffer.alloc(64 * 2 ** 20));
  });
  endStalledReaders(server, periodMs);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

function ask(path: string): Socket {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: box\r\n\r\n`);
  return socket;
}

it('ends who takes nothing of what is there, and nobody else', async () => {
  const stalled = ask('/stalled').pause();
  const idle = ask('/idle').resume();
  await delay(periodMs * 4);
  expect(closed).toEqual(['/stalled']);
  for (const socket of [stalled, idle]) socket.destroy();
});

it('lets a reader who takes a little at a time take as long as it likes', async () => {
  const slow = ask('/slow').pause();
  for (let count = 0; count < 12; count += 1) {
    await delay(periodMs / 4);
    slow.resume();
    await delay(2);
    slow.pause();
  }
  expect(closed).toEqual([]);
  slow.destroy();
});
