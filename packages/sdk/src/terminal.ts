/** A terminal in a sandbox over a WebSocket: bytes both ways, orders and news as text. */

import type { Connection, SocketConstructor, SocketLike } from './connection.ts';
import { ConnectionError, SkillboxError } from './errors.ts';

export interface TerminalOptions {
  readonly cols?: number;
  readonly rows?: number;
  /** A line for bash. Default: an interactive shell. */
  readonly cmd?: string;
  /** Return to this program instead of starting one. */
  readonly program?: number;
  /** And only to what it wrote after this number of output. */
  readonly after?: number;
  onData?(bytes: Uint8Array): void;
}

export interface TerminalExit {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface Terminal {
  /** To return to it with, should the connection break: the program goes on. */
  readonly program: number;
  /** Rejects when the connection breaks before the program ends. */
  readonly exited: Promise<TerminalExit>;
  write(data: string | Uint8Array): void;
  resize(cols: number, rows: number): void;
  /** Leaves; the program goes on. */
  close(): void;
}

interface News {
  readonly program?: number;
  readonly exit?: TerminalExit;
  readonly error?: { readonly code: string; readonly message: string };
}

export function openTerminal(connection: Connection, id: string, { onData, ...asked }: TerminalOptions): Promise<Terminal> {
  const socket = connect(connection, id, asked);
  socket.binaryType = 'arraybuffer';
  return new Promise((resolve, reject) => {
    let end: { resolve(exit: TerminalExit): void; reject(error: unknown): void } | undefined;
    let closed = false;
    const exited = new Promise<TerminalExit>((ended, failed) => {
      end = { resolve: ended, reject: failed };
    });
    // Whoever does not wait for the end is not told about it.
    exited.catch(() => undefined);
    const fail = (error: SkillboxError): void => {
      reject(error);
      end?.reject(error);
    };
    const hear = (news: News): void => {
      if (news.exit) end?.resolve(news.exit);
      if (news.error) fail(new SkillboxError(news.error.code, news.error.message));
      if (news.program !== undefined) resolve(terminal(news.program));
    };
    const terminal = (program: number): Terminal => ({
      ...{ program, exited },
      write: (data) => socket.send(typeof data === 'string' ? new TextEncoder().encode(data) : new Uint8Array(data)),
      resize: (cols, rows) => socket.send(JSON.stringify({ resize: { cols, rows } })),
      close() {
        closed = true;
        socket.close(1000);
      },
    });
    socket.addEventListener('message', ({ data }) => {
      if (typeof data === 'string') hear(JSON.parse(data) as News);
      else onData?.(new Uint8Array(data as ArrayBuffer));
    });
    const broken = (why: string | undefined): SkillboxError =>
      new ConnectionError(connection.url, why || 'the terminal could not be opened, or broke');
    // Some tell here why it failed; the close that follows comes too late then.
    socket.addEventListener('error', ({ message }) => fail(broken(message)));
    socket.addEventListener('close', ({ reason }) => fail(closed ? new SkillboxError('usage', 'The terminal was left.') : broken(reason)));
  });
}

/** Browsers cannot set headers here, so key and tenant travel among the protocols, everywhere. */
function connect({ url, key, options }: Connection, id: string, asked: Omit<TerminalOptions, 'onData'>): SocketLike {
  const Socket = options.WebSocket ?? (globalThis as { WebSocket?: SocketConstructor }).WebSocket;
  if (!Socket) {
    throw new SkillboxError('usage', 'There is no WebSocket here.', {
      hint: 'Use Node 22 or newer, or give the client one: { WebSocket } from the package ws.',
    });
  }
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(asked)) if (value !== undefined) query.set(name, String(value));
  const { tenant } = options;
  const protocols = ['skillbox', ...(key === undefined ? [] : [`key.${key}`]), ...(tenant === undefined ? [] : [`tenant.${tenant}`])];
  return new Socket(`${url.replace(/^http/, 'ws')}/v1/sandboxes/${encodeURIComponent(id)}/pty?${query}`, protocols);
}
