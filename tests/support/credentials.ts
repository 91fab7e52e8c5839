/** What tests of credentials share: hosts on loopback that remember what reached them, in the clear and in TLS, and clients inside. */

import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { type CertifiedKey, makeAuthority, makeLeaf } from '../../packages/box/src/sandbox/egress/certificate.ts';

export interface Arrived {
  readonly method: string;
  readonly url: string;
  /** As they came: names and values in turn. */
  readonly raw: readonly string[];
  readonly secure: boolean;
}

export interface Upstream {
  readonly port: number;
  readonly arrived: Arrived[];
  /** Values of a header in the last request, however it was spelled. */
  last(header: string): string[];
  stop(): Promise<void>;
}

const quiet: RequestListener = (request: IncomingMessage, response: ServerResponse) =>
  void request.resume().on('end', () => response.end('hello'));

/** With a certificate it speaks TLS. */
export async function startUpstream(certified?: CertifiedKey, listener: RequestListener = quiet): Promise<Upstream> {
  const arrived: Arrived[] = [];
  const listen: RequestListener = (request, response) => {
    arrived.push({ method: request.method ?? '', url: request.url ?? '', raw: [...request.rawHeaders], secure: certified !== undefined });
    listener(request, response);
  };
  const server = certified ? createSecureServer({ cert: certified.certificate, key: certified.key }, listen) : createServer(listen);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    arrived,
    last: (header) => valuesIn(arrived.at(-1), header),
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

export function valuesIn(arrived: Arrived | undefined, header: string): string[] {
  const raw = arrived?.raw ?? [];
  return raw.flatMap((name, index) => (index % 2 === 0 && name.toLowerCase() === header.toLowerCase() ? [raw[index + 1] ?? ''] : []));
}

const hourMs = 3600_000;
export const fresh = () => ({ from: new Date(Date.now() - hourMs), to: new Date(Date.now() + hourMs) });
export const past = () => ({ from: new Date(Date.now() - 2 * hourMs), to: new Date(Date.now() - hourMs) });

/** An authority of tests, as a company has one of its own. */
export const testAuthority = (): CertifiedKey => makeAuthority('Of a test', fresh());
export const certifiedFor = (host: string, authority: CertifiedKey, period = fresh()): CertifiedKey => makeLeaf(host, authority, period);

/** One GET each, as people write them; what they print is the body. */
export const clients: Readonly<Record<string, (url: string) => string>> = {
  curl: (url) => `curl -sS ${url}`,
  Python: (url) => `python3 -c "import urllib.request as u; print(u.urlopen('${url}').read().decode(), end='')"`,
  Node: (url) => `node -e "${nodeClient}" ${url}`,
};

/** Node 20 has no client that reads the variables of proxies: this is what its libraries do. */
const nodeClient = `
const target = new URL(process.argv[1]), proxy = new URL(process.env.HTTPS_PROXY), http = require('http');
const show = (response) => response.on('data', (chunk) => process.stdout.write(chunk));
const headers = { Host: target.host };
if (target.protocol === 'http:') http.get({ host: proxy.hostname, port: proxy.port, path: target.href, headers }, show);
else http.request({ host: proxy.hostname, port: proxy.port, method: 'CONNECT', path: target.host, headers }).on('connect', (answer, socket) => {
  if (answer.statusCode !== 200) { console.log(answer.statusCode); process.exit(1); }
  const secured = require('tls').connect({ socket, servername: target.hostname }, () =>
    require('http').get({ createConnection: () => secured, path: target.pathname, headers }, (response) => { show(response); response.on('end', () => process.exit(0)); }));
}).end();
`
  .replaceAll('\n', ' ')
  .replaceAll('"', '\\"');
