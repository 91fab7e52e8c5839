/** Requests that never throw: whoever calls a box that is dying wants to know what it heard, if anything. */

import { Agent, type IncomingMessage, request } from 'node:http';

export interface Answer {
  /** 0: the connection broke, or there was none. */
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  json<T>(): T;
}

export interface Ask {
  readonly method?: string;
  readonly key: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** Longer than any answer may take, even without a database; who hears nothing by then was left hanging. */
export const patienceMs = 30_000;
export const hung = -1;

export interface Client {
  ask(url: string, ask: Ask): Promise<Answer>;
  /** Calls `onText` as it comes; true when the stream ended in order. */
  listen(url: string, ask: Ask, onText: (text: string) => void): Promise<boolean>;
  /** Lets go of the connections that wait for more. */
  close(): void;
}

export function createClient(): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: 200 });

  const send = (url: string, { method, key, body, headers = {} }: Ask, onAnswer: (answer: IncomingMessage) => void) =>
    new Promise<'over' | 'broken' | 'hung'>((resolve) => {
      const raw = typeof body === 'string' || Buffer.isBuffer(body);
      const bytes = body === undefined ? undefined : raw ? (body as string | Buffer) : JSON.stringify(body);
      const sent = request(url, {
        agent,
        method: method ?? (body === undefined ? 'GET' : 'POST'),
        headers: {
          Authorization: `Bearer ${key}`,
          ...(body !== undefined && { 'Content-Type': raw ? 'application/octet-stream' : 'application/json' }),
          ...headers,
        },
      });
      const timer = setTimeout(() => {
        resolve('hung');
        sent.destroy();
      }, patienceMs);
      const settle = (how: 'over' | 'broken'): void => {
        clearTimeout(timer);
        resolve(how);
      };
      sent.on('error', () => settle('broken'));
      sent.on('response', (answer) => {
        onAnswer(answer);
        answer.on('error', () => settle('broken'));
        answer.on('close', () => settle(answer.complete ? 'over' : 'broken'));
      });
      sent.end(bytes);
    });

  return {
    async ask(url, ask) {
      const chunks: Buffer[] = [];
      let answer: IncomingMessage | undefined;
      const how = await send(url, ask, (incoming) => {
        answer = incoming;
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      });
      const text = Buffer.concat(chunks).toString();
      const status = how === 'hung' ? hung : how === 'broken' ? 0 : (answer?.statusCode ?? 0);
      return { status, text, headers: answer?.headers ?? {}, json: <T>() => JSON.parse(text) as T };
    },
    async listen(url, ask, onText) {
      let status = 0;
      const how = await send(url, ask, (incoming) => {
        status = incoming.statusCode ?? 0;
        incoming.setEncoding('utf8').on('data', (chunk: string) => {
          if (status === 200) onText(chunk);
        });
      });
      return how === 'over' && status === 200;
    },
    close: () => agent.destroy(),
  };
}
