import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { limitConnections, mostConnections } from './connections.ts';

let server: Server;
let refused: number;
let served: number;
beforeEach(async () => {
  refused = 0;
  served = 0;
  server = createServer((_request, response) => {
    served += 1;
    response.end('served');
  });
  limitConnections(server, 2, () => {
    refused += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function ask(): Promise<{ socket: Socket; text: string }> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nHost: box\r\n\r\n');
  const text = await new Promise<string>((resolve) => socket.once('data', (chunk: Buffer) => resolve(chunk.toString())));
  return { socket, text };
}

it('answers one too many with 503 and Retry-After, and takes the next when there is room', async () => {
  const open = [await ask(), await ask()];
  expect(open.every(({ text }) => text.includes('served'))).toBe(true);
  const over = await ask();
  expect(over.text).toMatch(/^HTTP\/1.1 503 /);
  expect(over.text).toMatch(/\r\nRetry-After: 1\r\n[\s\S]*"error":"overloaded"/);
  expect(refused).toBe(1);
  over.socket.write('POST /again HTTP/1.1\r\nHost: box\r\n\r\n');
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(served).toBe(2);
  open[0]?.socket.destroy();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect((await ask()).text).toContain('served');
});

it('leaves descriptors for everything else', () => {
  expect(mostConnections(0, 'Limit\nMax open files            4096                 4096                 files\n')).toBe(3072);
  expect(mostConnections(7, '')).toBe(7);
});
