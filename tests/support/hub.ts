/** A hub: a real HTTP server on loopback that takes deliveries, verifies them its own way, and answers as a test wants. */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BoxEvent } from '@skillbox/protocol';

export interface Received {
  readonly id: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly event: BoxEvent;
  /** How it was answered; null: not at all. */
  status: number | null;
  readonly at: number;
}

/** A status, or what to do with the answer by hand. */
export type Answer = number | ((response: ServerResponse) => void);

export interface Hub {
  readonly url: string;
  /** Everything that came, in order. */
  readonly received: Received[];
  /** Those answered with 204: each event once, in the order of its first arrival. */
  accepted(): Received[];
  /** Default: 204. */
  answer: (received: Received) => Answer | Promise<Answer>;
  /** Connections that are open. */
  connections(): Promise<number>;
  /** Stops listening and breaks what is open. */
  leave(): Promise<void>;
  /** At the same address. */
  comeBack(): Promise<void>;
  close(): Promise<void>;
}

export async function startHub(): Promise<Hub> {
  let server: Server;
  let port = 0;
  const received: Received[] = [];

  const listen = async (): Promise<void> => {
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      // One that was broken off was not received.
      request.on('error', () => undefined);
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString('utf8');
        const one: Received = {
          id: String(request.headers['webhook-id']),
          path: request.url ?? '',
          headers: request.headers,
          body,
          event: JSON.parse(body) as BoxEvent,
          status: null,
          at: performance.now(),
        };
        received.push(one);
        void Promise.resolve(hub.answer(one)).then((answer) => {
          if (typeof answer === 'function') return answer(response);
          one.status = answer;
          response.writeHead(answer).end();
        });
      });
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  };
  const leave = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };

  const hub: Hub = {
    get url() {
      return `http://127.0.0.1:${port}/hook`;
    },
    received,
    accepted() {
      const seen = new Set<string>();
      return received.filter(({ id, status }) => status === 204 && !seen.has(id) && seen.add(id));
    },
    answer: () => 204,
    connections: () => new Promise((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count)))),
    leave,
    comeBack: listen,
    close: leave,
  };
  await listen();
  return hub;
}

/** As the specification of Standard Webhooks tells receivers to do it; written from its text, not from the box's code. */
export function verifyDelivery(
  secret: string,
  { headers, body }: Pick<Received, 'headers' | 'body'>,
  nowSeconds = Date.now() / 1000,
): boolean {
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  const signatures = headers['webhook-signature'];
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') return false;
  if (!/^\d+$/.test(timestamp) || Math.abs(nowSeconds - Number(timestamp)) > 300) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest();
  return signatures.split(' ').some((versioned) => {
    const [version, encoded = ''] = versioned.split(',');
    const given = Buffer.from(encoded, 'base64');
    return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected);
  });
}

export async function until(condition: () => boolean | Promise<boolean>, what: string, withinMs = 10_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
