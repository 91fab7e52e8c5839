import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { answerMalformed } from './malformed.ts';
import { endSlowBodies } from './slow-bodies.ts';

const periodMs = 400;
let server: Server;
beforeEach(async () => {
  server = createServer({ requestTimeout: 0 }, async (request, response) => {
    let size = 0;
    const slowly = request.url === '/slow-reader';
    try {
      for await (const chunk of request) {
        if (slowly) await delay(3 * periodMs);
        size += chunk.length;
      }
      response.end(String(size));
    } catch {
      // One that was ended: its answer is what the test looks at.
      response.destroy();
    }
  });
  answerMalformed(server);
  endSlowBodies(server, periodMs);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** Sends that many bytes every 40 ms, for so long; the status and the text of the answer. */
async function upload(bytes: number, forMs: number, path = '/'): Promise<[number, string]> {
  const { port } = server.address() as AddressInfo;
  const request = httpRequest({ port, host: '127.0.0.1', path, method: 'PUT' });
  request.on('error', () => undefined);
  const answered = new Promise<[number, string]>((resolve) =>
    request.on('response', async (response) => {
      let text = '';
      for await (const chunk of response) text += chunk;
      resolve([response.statusCode ?? 0, text]);
    }),
  );
  let over = false;
  void answered.then(() => {
    over = true;
  });
  for (const end = Date.now() + forMs; !over && Date.now() < end; await delay(40)) request.write(Buffer.alloc(bytes));
  request.end();
  return answered;
}

it('lets a body that moves take as long as it likes', async () => {
  const [status, text] = await upload(2000, 6 * periodMs);
  expect(status).toBe(200);
  expect(Number(text)).toBeGreaterThan(20_000);
});

it('ends one that hardly moves, with 408', async () => {
  const started = Date.now();
  const [status, text] = await upload(1, 60 * periodMs);
  expect([status, JSON.parse(text)]).toMatchObject([408, { error: 'bad_request' }]);
  expect(Date.now() - started).toBeLessThan(20 * periodMs);
});

it('does not blame the sender for a reader that is slow', async () => {
  expect((await upload(100_000, 60, '/slow-reader'))[0]).toBe(200);
});
