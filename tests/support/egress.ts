/** What tests of the egress proxy share: names that lead to servers on loopback, and a box whose rules may reach them. */

import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import type { BoxEvent, Page, Sandbox } from '@skillbox/protocol';
import { type RequestOptions, startTestBox, type TestBox } from './box.ts';
import { type SmallDns, startDns } from './small-dns.ts';

export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
}

/** A server on loopback that remembers what it was asked. */
export interface Target {
  readonly port: number;
  readonly seen: Seen[];
  /** Connections so far. */
  readonly reached: number;
  stop(): Promise<void>;
}

export async function startTarget(
  listener: RequestListener = (request, response) => void request.resume().on('end', () => response.end('hello')),
  address = '127.0.0.1',
  port = 0,
): Promise<Target> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    seen.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers });
    listener(request, response);
  });
  return watched(server, seen, address, port);
}

/** Speaks no HTTP: gives every byte back. For tunnels. */
export const startEcho = (): Promise<Target> =>
  watched(
    createTcpServer({ allowHalfOpen: true }, (socket: Socket) => void socket.on('error', () => undefined).pipe(socket)),
    [],
    '127.0.0.1',
  );

async function watched(server: Server | ReturnType<typeof createTcpServer>, seen: Seen[], address: string, port = 0): Promise<Target> {
  const sockets = new Set<Socket>();
  let reached = 0;
  server.on('connection', (socket: Socket) => {
    reached += 1;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(port, address, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    get reached() {
      return reached;
    },
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

export interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly exit_code: number | null;
}

export interface EgressBox {
  readonly box: TestBox;
  readonly dns: SmallDns;
  /** A template of this network, and a sandbox of it. */
  sandbox(allow: readonly unknown[], more?: Record<string, unknown>): Promise<Sandbox>;
  exec(id: string, cmd: string, more?: Record<string, unknown>): Promise<Ran>;
  /** What Python prints there as JSON. */
  python<T>(id: string, code: string): Promise<T>;
  /** What the proxy decided, oldest first, once it is written. */
  decisions(id: string): Promise<BoxEvent[]>;
  network(id: string, body: Record<string, unknown>, options?: RequestOptions): Promise<{ status: number; body: Record<string, unknown> }>;
  stop(): Promise<void>;
}

/** Names may lead to loopback if they are listed in `reachable`, separated by commas. */
export async function startEgressBox(reachable: string, env: Record<string, string> = {}): Promise<EgressBox> {
  const dns = await startDns();
  const box = await startTestBox({ SKILLBOX_EGRESS_PRIVATE: reachable, SKILLBOX_EGRESS_DNS: dns.address, ...env });
  let templates = 0;
  const exec: EgressBox['exec'] = async (id, cmd, more = {}) => {
    const { status, body } = await box.json<Ran>(`/v1/sandboxes/${id}/programs`, { body: { cmd, timeout: '25s', ...more } });
    if (status !== 200) throw new Error(`exec answered ${status}: ${JSON.stringify(body)}`);
    return body;
  };
  return {
    ...{ box, dns, exec },
    async sandbox(allow, more = {}) {
      templates += 1;
      const name = `egress-${templates}`;
      const applied = await box.json(`/v1/templates/${name}`, { method: 'PUT', body: { network: { mode: 'allow', allow }, ...more } });
      if (applied.status !== 200) throw new Error(JSON.stringify(applied.body));
      const made = await box.json<Sandbox>('/v1/sandboxes', { body: { template: name } });
      if (made.status !== 201) throw new Error(JSON.stringify(made.body));
      return made.body;
    },
    async python<T>(id: string, code: string) {
      const { stdout, stderr } = await exec(id, 'python3 -', { stdin: prelude + code });
      try {
        return JSON.parse(stdout) as T;
      } catch (cause) {
        throw new Error(`the probe said ${JSON.stringify(stdout)} ${stderr}`, { cause });
      }
    },
    async decisions(id) {
      await new Promise((resolve) => setTimeout(resolve, 700));
      const all: BoxEvent[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { body }: { body: Page<BoxEvent> } = await box.json(`/v1/sandboxes/${id}/events?limit=500${cursor && `&cursor=${cursor}`}`);
        all.push(...body.items);
        cursor = body.next_cursor;
      }
      return all.filter(({ type }) => type.startsWith('sandbox.egress_'));
    },
    network: (id, body, options) => box.json(`/v1/sandboxes/${id}/network`, { method: 'PUT', body, ...options }),
    async stop() {
      await box.stop();
      await dns.stop();
    },
  };
}

/** `talk` sends bytes to the proxy as they are and gives back what comes until it closes or falls silent. */
const prelude = `
import json, os, socket, sys, time, errno
def talk(*pieces, wait=3, port=3128):
    s = socket.create_connection(("127.0.0.1", port), 5)
    s.settimeout(wait)
    got = b""
    try:
        for piece in pieces: s.sendall(piece if isinstance(piece, bytes) else piece.encode("latin1"))
        while True:
            chunk = s.recv(65536)
            if not chunk: break
            got += chunk
    except OSError: pass
    s.close()
    return got.decode("latin1")
def status(text): return int(text.split(" ")[1]) if text.startswith("HTTP/") else 0
def get(target, host=None, more="", method="GET", version="1.1"):
    head = "%s %s HTTP/%s\\r\\n" % (method, target, version)
    if host is not None: head += "Host: %s\\r\\n" % host
    return talk(head + more + "Connection: close\\r\\n\\r\\n")
def attempt(action, *args):
    try:
        action(*args)
        return "ok"
    except OSError as error:
        return errno.errorcode.get(error.errno, repr(error))
def answer(value): print(json.dumps(value))
`;
