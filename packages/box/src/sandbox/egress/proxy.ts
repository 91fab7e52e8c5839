/**
 * The way out of one sandbox: an HTTP/1.1 proxy on its channel. Each request on a connection is decided by itself; bodies stream
 * with backpressure and have no limit; heads, connections and idle times have. The inside is hostile: nothing it sends is trusted,
 * and what it can hold open is bounded.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse, request as sendRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { giveAnswerTo, giveLastAnswer, hasLastAnswer } from '../../last-answer.ts';
import { rawHead } from '../../raw-head.ts';
import type { AddressGuard } from './addresses.ts';
import type { Audit, Who } from './audit.ts';
import { createExchanges, type Exchange, type Exchanges, facts } from './exchanges.ts';
import { endToEnd, framingOf, targetOf, tunnelOf } from './heads.ts';
import { type Host, spellHost } from './hosts.ts';
import { type Injection, mustSee } from './injection.ts';
import { insideTarget, intercept, type Tunnel } from './intercept.ts';
import { type InternalServices, serveInternal } from './internal.ts';
import { Refusal, type RefusalReason } from './refusal.ts';
import type { Resolve } from './resolver.ts';
import type { Ask, Policy } from './rules.ts';

export interface EgressCounters {
  allowed(): void;
  refused(reason: RefusalReason): void;
  bytes(sent: number, received: number): void;
}

export interface ProxyParts {
  readonly resolve: Resolve;
  readonly guard: AddressGuard;
  readonly audit: Audit;
  readonly counters: EgressCounters;
  readonly services: InternalServices;
  readonly injection?: Injection;
}

export interface EgressProxy {
  /** To listen on the channel of the sandbox. */
  readonly server: Server;
  /** New requests are decided by it at once; what is under way and no longer allowed is cut. */
  change(policy: Policy): void;
  /** Connections from inside. */
  readonly open: number;
  /** Cuts everything. */
  close(): void;
}

export const limits = {
  /** At once, for one sandbox. */
  connections: 256,
  headBytes: 32 * 1024,
  headMs: 15_000,
  connectMs: 15_000,
  idleMs: 300_000,
  keepAliveMs: 60_000,
} as const;

export function createProxy(parts: ProxyParts, who: Who, policy: Policy): EgressProxy {
  const exchanges = createExchanges(who, policy, parts.audit, parts.counters);
  const sockets = new Set<Socket>();
  const server = createServer(
    {
      insecureHTTPParser: false,
      maxHeaderSize: limits.headBytes,
      headersTimeout: limits.headMs,
      // A body may take as long as it flows.
      requestTimeout: 0,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: 5000,
    },
    (request, response) => inTurn(request.socket, () => answer(parts, who, exchanges, request, response)),
  );
  server.maxConnections = limits.connections;
  server.setTimeout(limits.idleMs);
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    // Its closing tells the same, and ends what hangs on it.
    socket.on('error', () => undefined);
  });
  server.on('connect', (request, socket, head) => void answerConnect(parts, who, exchanges, request, socket, head));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => refuseMalformed(exchanges, error, socket));
  return {
    server,
    change: exchanges.change,
    get open() {
      return sockets.size;
    },
    close() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Requests of one connection that were sent without waiting for the answers before them. */
const turns = new WeakMap<Duplex, { waiting: number; over: boolean; last: Promise<void> }>();
const mostWaiting = 8;

/** One at a time: a connection is one connection to the outside at most, however many requests are sent down it. */
function inTurn(socket: Duplex, work: () => Promise<void>): void {
  if (hasLastAnswer(socket)) return;
  const turn = turns.get(socket) ?? { waiting: 0, over: false, last: Promise.resolve() };
  turns.set(socket, turn);
  turn.waiting += 1;
  if (turn.waiting > mostWaiting) {
    turn.over = true;
    socket.destroy();
  }
  turn.last = turn.last.then(async () => {
    if (!turn.over) await work();
    turn.waiting -= 1;
  });
}

function refuseMalformed(exchanges: Exchanges, error: NodeJS.ErrnoException, socket: Duplex): void {
  if (hasLastAnswer(socket)) return;
  if (error.code === 'ECONNRESET' || !socket.writable || turns.get(socket)?.over) {
    socket.destroy();
    return;
  }
  const refusal = new Refusal('malformed', `The request could not be read: ${error.message}.`);
  exchanges.refused({}, refusal);
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
  giveAnswerTo(error, socket, rawAnswer(status, refusal));
}

/** One request of any kind but CONNECT; with `tunnel`, one that came in TLS through it. */
async function answer(
  parts: ProxyParts,
  who: Who,
  exchanges: Exchanges,
  request: IncomingMessage,
  response: ServerResponse,
  tunnel?: Tunnel,
): Promise<void> {
  // A client that goes away while it is answered.
  request.on('error', () => undefined);
  response.on('error', () => undefined);
  let what: Record<string, unknown> = { method: request.method };
  try {
    const target = tunnel ? insideTarget(request, tunnel) : targetOf(request);
    if (target.kind === 'internal') {
      what = { method: request.method, host: 'box.internal', path: target.path.replace(/\?.*/s, '').slice(0, 500) };
      await serveInternal(parts.services, target.path, { who, policy: exchanges.policy, request, response });
      return;
    }
    const { host, port, path, scheme } = target;
    const ask: Ask = { method: request.method ?? '', host, port, path: path.replace(/\?.*/s, '') };
    what = facts(ask);
    await forward(parts, who, exchanges, { ask, path, request, response, scheme });
  } catch (error) {
    const refusal = asRefusal(error);
    exchanges.refused(what, refusal);
    const turn = turns.get(request.socket);
    if (turn) turn.over = true;
    refuse(request, response, refusal);
  }
}

interface Forwarding {
  readonly ask: Ask;
  readonly scheme: 'http' | 'https';
  /** With the query. */
  readonly path: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Throws a Refusal as long as nothing of an answer was sent. */
async function forward(parts: ProxyParts, who: Who, exchanges: Exchanges, forwarding: Forwarding): Promise<void> {
  const { ask, path, request, response, scheme } = forwarding;
  const { host, port, method } = ask;
  const exchange = exchanges.open(ask, () => request.socket.destroy());
  let upstream: Socket | undefined;
  try {
    const reached = await reach(parts, host, port, request.socket);
    upstream = reached.socket;
    if (response.destroyed) throw new Refusal('unreachable', 'The client went away.');
    const secured = scheme === 'https' ? await parts.injection?.secure(upstream, host, limits.connectMs) : undefined;
    // Last of all, when it is certain whom the request goes to.
    const added = await parts.injection?.addTo(who, exchanges.policy, ask, scheme);
    exchange.begin(upstream, reached.address, added?.facts);
    const framing = framingOf(request);
    const headers = endToEnd(request.rawHeaders, {
      Host: port === (scheme === 'http' ? 80 : 443) ? spellHost(host) : `${spellHost(host)}:${port}`,
      ...(framing === 'chunked' && { 'Transfer-Encoding': 'chunked' }),
      ...added?.headers,
    });
    await pass(secured ?? upstream, { method, path, headers, framing }, request, response);
    exchange.end();
  } catch (error) {
    exchange.end((error as Error).message);
    if (!response.headersSent) throw error;
    // Half an answer must not look like a whole one.
    response.destroy();
  } finally {
    upstream?.destroy();
  }
}

interface Outgoing {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string[]>;
  readonly framing: 'none' | 'length' | 'chunked';
}

/** Sends it on over this connection, which serves no second request, and the answer back. */
async function pass(upstream: Socket, outgoing: Outgoing, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, path, headers, framing } = outgoing;
  const sent = sendRequest({ createConnection: () => upstream, method, path, headers, setHost: false, maxHeaderSize: limits.headBytes });
  const gone = (): void => void sent.destroy();
  response.once('close', gone);
  try {
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      sent.once('response', resolve);
      sent.once('error', (cause) => reject(new Refusal('unreachable', `${headers.Host} did not answer: ${cause.message}.`, { cause })));
    });
    // An answer may come before all of the request was read; what becomes of the rest is then of no interest.
    if (framing === 'none') sent.end();
    else pipeline(request, sent).catch(() => sent.destroy());
    const reply = await answered;
    sent.on('error', () => undefined);
    try {
      response.writeHead(reply.statusCode ?? 502, reply.statusMessage, endToEnd(reply.rawHeaders));
    } catch (cause) {
      throw new Refusal('unreachable', `${headers.Host} answered with a head that cannot be passed on.`, { cause });
    }
    await pipeline(reply, response);
  } finally {
    response.off('close', gone);
  }
}

/** A tunnel. The only place where one is made: through to the host, or to the box in its place where requests must be seen. */
async function answerConnect(
  parts: ProxyParts,
  who: Who,
  exchanges: Exchanges,
  request: IncomingMessage,
  client: Duplex,
  head: Buffer,
): Promise<void> {
  client.on('error', () => undefined);
  let what: Record<string, unknown> = { method: 'CONNECT' };
  let exchange: Exchange | undefined;
  let upstream: Socket | undefined;
  try {
    const { host, port } = tunnelOf(request);
    const ask: Ask = { method: 'CONNECT', host, port, path: undefined };
    what = facts(ask);
    if (parts.injection && mustSee(exchanges.policy, host, port)) {
      await intercept(parts.injection.authority, {
        ...{ head, limits, client: client as Socket, tunnel: { host, port } },
        onRequest: (inner, response) => inTurn(inner.socket, () => answer(parts, who, exchanges, inner, response, { host, port })),
        onRefused: (refusal) => exchanges.refused(what, refusal),
        onMalformed: (error, socket) => refuseMalformed(exchanges, error, socket),
      });
      return;
    }
    exchange = exchanges.open(ask, () => {
      client.destroy();
      upstream?.destroy();
    });
    const reached = await reach(parts, host, port, client as Socket);
    upstream = reached.socket;
    exchange.begin(upstream, reached.address);
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    if (head.length > 0) upstream.write(head);
    joinBoth(client as Socket, upstream, exchange);
  } catch (error) {
    upstream?.destroy();
    exchange?.end((error as Error).message);
    const refusal = asRefusal(error);
    exchanges.refused(what, refusal);
    giveLastAnswer(client, rawAnswer(refusal.status, refusal));
  }
}

/** Bytes both ways, each end closing by itself, until both have or nothing flows any more. */
function joinBoth(client: Socket, upstream: Socket, exchange: Exchange): void {
  const idle = (): void => {
    exchange.end('idle');
    client.destroy();
    upstream.destroy();
  };
  client.pipe(upstream).pipe(client);
  for (const end of [client, upstream]) end.setTimeout(limits.idleMs, idle);
  upstream.once('error', (error: Error) => exchange.end(error.message));
  upstream.once('close', () => {
    exchange.end();
    // What has arrived is still delivered.
    client.end(() => client.destroy());
  });
  client.once('close', () => upstream.destroy());
}

/** Resolves the name, checks every address it has, connects to one of those. `client` gone is a reason to give up. */
async function reach(parts: ProxyParts, host: Host, port: number, client: Socket): Promise<{ socket: Socket; address: string }> {
  const addresses = host.isAddress ? [host.text] : await parts.resolve(host.text);
  for (const address of addresses) parts.guard.check(host, address, port);
  const deadline = Date.now() + limits.connectMs;
  let failure: Error | undefined;
  for (const [index, address] of addresses.entries()) {
    if (client.destroyed) throw new Refusal('unreachable', 'The client went away.');
    const left = Math.max(1, (deadline - Date.now()) / (addresses.length - index));
    try {
      return { socket: await connectTo(address, port, left), address };
    } catch (error) {
      failure = error as Error;
    }
  }
  throw new Refusal('unreachable', `${spellHost(host)}:${port} could not be reached: ${failure?.message ?? 'it has no address'}.`, {
    cause: failure,
  });
}

function connectTo(address: string, port: number, withinMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port, allowHalfOpen: true, noDelay: true });
    const fail = (error: Error): void => {
      socket.destroy();
      reject(error);
    };
    const timer = setTimeout(() => fail(new Error('it takes too long')), withinMs);
    socket.once('error', fail);
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.off('error', fail);
      socket.on('error', () => undefined);
      socket.setTimeout(limits.idleMs, () => socket.destroy());
      resolve(socket);
    });
    socket.once('close', () => clearTimeout(timer));
  });
}

function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  return new Refusal('unreachable', `The connection broke: ${(error as Error).message}.`, { cause: error });
}

const bodyOf = ({ reason, message }: Refusal): string => `${JSON.stringify({ error: `egress_${reason}`, message })}\n`;

/** The connection ends with it: what else was sent on it is not heard. */
function refuse(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  request.resume();
  giveLastAnswer(request.socket, rawAnswer(refusal.status, refusal, request.method));
}

function rawAnswer(status: number, refusal: Refusal, method?: string): string {
  const body = bodyOf(refusal);
  const head = rawHead(status, 'Refused', {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  });
  return method === 'HEAD' ? head : `${head}${body}`;
}
