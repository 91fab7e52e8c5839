/**
 * A tunnel that ends here: the box answers as the host, with a certificate of its own authority, so that requests inside are seen,
 * decided one by one and given their credentials. Only HTTP/1.1. The tunnel, the name that TLS asks for and the Host header must
 * be one and the same host.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext, type TLSSocket } from 'node:tls';
import type { Authority } from './authority.ts';
import { agree, checkFraming, type Target, valuesOf } from './heads.ts';
import { type Host, spellHost } from './hosts.ts';
import { Refusal } from './refusal.ts';

export interface Tunnel {
  readonly host: Host;
  readonly port: number;
}

export interface Interception {
  readonly tunnel: Tunnel;
  readonly client: Socket;
  /** What the client sent right behind its CONNECT. */
  readonly head: Buffer;
  readonly limits: { readonly headBytes: number; readonly connectMs: number; readonly idleMs: number; readonly keepAliveMs: number };
  onRequest(request: IncomingMessage, response: ServerResponse): void;
  /** TLS did not come about. */
  onRefused(refusal: Refusal): void;
  onMalformed(error: NodeJS.ErrnoException, socket: Duplex): void;
}

/** Says yes to the CONNECT and takes the connection over. */
export async function intercept(authority: Authority, interception: Interception): Promise<void> {
  const { client, head, limits, tunnel } = interception;
  const { certificate, key } = await authority.leaf(tunnel.host.text);
  const context = createSecureContext({ cert: certificate, key });
  const server = createServer(
    {
      ...{ cert: certificate, key, ALPNProtocols: ['http/1.1'], handshakeTimeout: limits.connectMs },
      ...{ insecureHTTPParser: false, maxHeaderSize: limits.headBytes, keepAliveTimeout: limits.keepAliveMs, requestTimeout: 0 },
      SNICallback: (name, done) => (isNamed(tunnel, name) ? done(null, context) : done(new Error(`it asks for ${JSON.stringify(name)}`))),
    },
    (request, response) => interception.onRequest(request, response),
  );
  server.setTimeout(limits.idleMs);
  server.on('tlsClientError', (error, socket) => {
    interception.onRefused(new Refusal('malformed', `TLS with the client failed for ${spellHost(tunnel.host)}: ${error.message}.`));
    socket.destroy();
    client.destroy();
  });
  server.on('clientError', interception.onMalformed);
  client.setTimeout(0);
  client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
  if (head.length > 0) client.unshift(head);
  server.emit('connection', client);
}

/** Where a request in a tunnel goes: to the host of the tunnel, whatever it says. Throws malformed. */
export function insideTarget(request: IncomingMessage, { host, port }: Tunnel): Extract<Target, { kind: 'http' }> {
  const { servername } = request.socket as TLSSocket;
  if (!host.isAddress && !isNamed({ host, port }, servername || ''))
    throw new Refusal('malformed', `TLS must ask for ${spellHost(host)} by name (SNI).`);
  const hosts = valuesOf(request, 'host');
  if (hosts.length !== 1) throw new Refusal('malformed', 'There must be one Host header.');
  agree(hosts[0], { host, port }, 443);
  checkFraming(request);
  if (valuesOf(request, 'upgrade').length > 0)
    throw new Refusal('malformed', `WebSockets and other upgrades do not pass to ${spellHost(host)}, whose requests the box looks into.`);
  const { url = '' } = request;
  if (!url.startsWith('/')) throw new Refusal('malformed', 'The target of a request in a tunnel is a path.');
  return { kind: 'http', scheme: 'https', host, port, path: url };
}

const isNamed = ({ host }: Tunnel, name: string): boolean => !host.isAddress && name.toLowerCase() === host.text;
