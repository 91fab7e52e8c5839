/**
 * A caller on one kept-alive connection, with as little work of its own as there can be: on a machine with two cores, what the
 * client costs is missing for what is measured.
 */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface Answer {
  readonly status: number;
  /** Status line and headers, as they came. */
  readonly head: string;
  readonly body: Buffer;
}

export interface Caller {
  send(request: Buffer): Promise<Answer>;
  close(): void;
}

export interface Address {
  readonly url: string;
  readonly key: string;
}

/** The bytes of a request, made once and sent often. */
export function requestBytes({ url, key }: Address, method: string, path: string, body?: unknown): Buffer {
  const text = body === undefined ? '' : JSON.stringify(body);
  const head = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${new URL(url).host}`,
    `Authorization: Bearer ${key}`,
    ...(body === undefined ? [] : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`]),
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${text}`);
}

/** One request at a time. A connection that the server closed meanwhile is opened again. */
export function createCaller({ url }: Pick<Address, 'url'>): Caller {
  const { hostname, port } = new URL(url);
  let socket: Socket | undefined;
  let received: Buffer = Buffer.alloc(0);
  let waiting: { resolve(answer: Answer): void; reject(error: Error): void } | undefined;

  const open = async (): Promise<Socket> => {
    const opened = connect(Number(port), hostname).setNoDelay(true);
    opened.on('data', (chunk: Buffer) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      const answer = readAnswer(received);
      if (!answer) return;
      received = Buffer.alloc(0);
      waiting?.resolve(answer);
      waiting = undefined;
    });
    const fail = (error: Error): void => {
      socket = undefined;
      waiting?.reject(error);
      waiting = undefined;
    };
    await once(opened, 'connect');
    opened.on('error', fail).on('close', () => fail(new Error('the server closed the connection')));
    return opened;
  };

  return {
    async send(request) {
      socket ??= await open();
      const to = socket;
      return new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        to.write(request);
      });
    },
    close: () => void socket?.destroy(),
  };
}

/** undefined until it is whole. */
export function readAnswer(bytes: Buffer): Answer | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const head = bytes.toString('latin1', 0, end);
  const status = Number(head.slice(9, 12));
  const start = end + 4;
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length !== undefined) {
    const stop = start + Number(length);
    return bytes.length < stop ? undefined : { status, head, body: bytes.subarray(start, stop) };
  }
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) return readChunks(bytes, start, { status, head });
  return { status, head, body: Buffer.alloc(0) };
}

function readChunks(bytes: Buffer, start: number, answer: Omit<Answer, 'body'>): Answer | undefined {
  const chunks: Buffer[] = [];
  for (let at = start; ; ) {
    const line = bytes.indexOf('\r\n', at);
    if (line < 0) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16);
    const next = line + 2 + size + 2;
    if (bytes.length < next) return undefined;
    if (size === 0) return { ...answer, body: Buffer.concat(chunks) };
    chunks.push(bytes.subarray(line + 2, line + 2 + size));
    at = next;
  }
}
