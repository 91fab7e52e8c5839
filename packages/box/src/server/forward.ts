/**
 * Passes a request on to the host it belongs to, as it comes: bytes both ways at the pace of whoever is slower, and an end
 * at one side ends the other. Who may ask, and what for, is the owner's to judge: it sees the caller's own key.
 */

import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import { connect as connectPlain, type Socket } from 'node:net';
import { type Duplex, pipeline, Readable } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { BoxError } from '@skillbox/protocol';
import type { Box } from '../box.ts';
import { rawHead } from '../raw-head.ts';
import { messagesOf, orBrokenOff } from './broken-off.ts';
import { errorAnswer } from './errors.ts';
import { requestIdOf, withoutHops } from './http-heads.ts';
import { insiderOf } from './insiders.ts';
import { type Owner, ownerOf, targetOf } from './owner.ts';

/** Only a guard against running in circles: whoever sends it gets what this host alone can answer. */
const passedOn = 'x-skillbox-forwarded';
const connectWithinMs = 3000;
/** Their owner was not there; asking a second time would only take longer. */
const triedInVain = new WeakSet<IncomingMessage>();

/** False when this host has to answer: it is the owner, or the owner cannot be reached and this host knows what to say. */
export async function passOn(box: Box, request: IncomingMessage, response: ServerResponse): Promise<boolean> {
  const way = await wayToOwner(box, request);
  if (!way) return false;
  const { owner, socket } = way;
  const requestId = requestIdOf(request);
  const started = performance.now();
  response.once('close', () => {
    const ms = Number((performance.now() - started).toFixed(2));
    const { statusCode: status } = response;
    box.metrics.requests.inc({ method: request.method ?? '', route: 'forwarded', status });
    box.log.info({ request_id: requestId, method: request.method, route: 'forwarded', owner: owner.host, status, ms }, 'request');
  });
  const outgoing = ask(box, request, way, requestId);
  const unwatch = endWithLease(box, owner.host, () => outgoing.destroy(wentAway()));
  response.once('close', () => {
    unwatch();
    outgoing.destroy();
  });
  let answered = false;
  outgoing.on('error', (cause) => {
    // Once there is an answer, how it ends is told there.
    if (!answered) refuse(box, cause, requestId, request, response);
  });
  outgoing.once('response', (answer) => {
    answered = true;
    response.writeHead(answer.statusCode ?? 502, withoutHops(answer.headers));
    response.flushHeaders();
    const messages = messagesOf(answer, owner);
    const body = messages ? Readable.from(orBrokenOff(answer, messages), { objectMode: false }) : answer;
    pipeline(body, response, () => socket.destroy());
  });
  // An owner that answers early closes its ear; the answer still comes.
  pipeline(request, outgoing, () => undefined);
  return true;
}

/** The same for a connection that stops being HTTP. */
export async function passOnUpgrade(box: Box, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<boolean> {
  const way = await wayToOwner(box, request);
  if (!way) return false;
  const more = { connection: 'Upgrade', upgrade: request.headers.upgrade ?? 'websocket' };
  const outgoing = ask(box, request, way, requestIdOf(request), more);
  const unwatch = endWithLease(box, way.owner.host, () => way.socket.destroy());
  socket.once('close', () => {
    unwatch();
    way.socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    outgoing.on('error', (cause) => reject(wentAway(cause)));
    outgoing.once('upgrade', (answer, tunnel, rest) => {
      const headers = { ...withoutHops(answer.headers), Connection: 'Upgrade', Upgrade: answer.headers.upgrade ?? 'websocket' };
      socket.write(rawHead(101, 'Switching Protocols', headers), 'latin1');
      if (rest.length > 0) socket.write(rest);
      if (head.length > 0) tunnel.write(head);
      tunnel.on('error', () => tunnel.destroy());
      tunnel.once('close', () => socket.destroy());
      socket.pipe(tunnel).pipe(socket);
      resolve();
    });
    outgoing.once('response', (answer) => {
      const headers = { ...withoutHops(answer.headers), Connection: 'close' };
      socket.write(rawHead(answer.statusCode ?? 502, answer.statusMessage ?? '', headers), 'latin1');
      pipeline(answer, socket, () => undefined);
      resolve();
    });
    outgoing.end();
  });
  return true;
}

/**
 * For a request whose body had to be read to see that it belongs elsewhere. undefined when that host cannot be reached, or the
 * request came from another host already.
 */
export async function passOnRead(
  box: Box,
  request: IncomingMessage,
  host: string,
  body: Buffer,
  headers: OutgoingHttpHeaders = {},
): Promise<Response | undefined> {
  // What came from inside of a sandbox is answered here or not at all: its headers are nobody's key.
  if (request.headers[passedOn] || triedInVain.has(request) || insiderOf(request)) return undefined;
  const socket = await reach(box, host);
  if (!socket) return undefined;
  const more = { ...headers, 'content-length': body.length };
  const outgoing = ask(box, request, { owner: { host, words: 'v1' }, socket }, requestIdOf(request), more);
  const unwatch = endWithLease(box, host, () => outgoing.destroy(wentAway()));
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve);
    outgoing.on('error', (cause) => reject(wentAway(cause)));
    outgoing.end(body);
  }).finally(unwatch);
  const heads = Object.entries(withoutHops(answer.headers)).map(([name, value]) => [name, String(value)] as [string, string]);
  const empty = answer.statusCode === 204 || answer.statusCode === 304;
  return new Response(empty ? null : (Readable.toWeb(answer) as ReadableStream), { status: answer.statusCode ?? 502, headers: heads });
}

interface Way {
  readonly owner: Owner;
  /** Connected: nothing of the request is spent on an owner that is not there. */
  readonly socket: Socket;
}

async function wayToOwner(box: Box, request: IncomingMessage): Promise<Way | undefined> {
  if (request.headers[passedOn]) return undefined;
  const owner = await ownerOf(box, request);
  if (!owner) return undefined;
  const socket = await reach(box, owner.host);
  if (socket) return { owner, socket };
  triedInVain.add(request);
  return undefined;
}

async function reach(box: Box, host: string): Promise<Socket | undefined> {
  let tried: string | undefined;
  for (const anew of [false, true]) {
    const address = await box.hosts.addressOf(host, anew);
    if (address === undefined || address === tried) return undefined;
    tried = address;
    try {
      return await connect(new URL(address));
    } catch (error) {
      box.log.warn({ err: error, owner: host, address }, 'another host of the box cannot be reached');
    }
  }
  return undefined;
}

function connect({ protocol, hostname, port }: URL): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    const secure = protocol === 'https:';
    const socket = secure
      ? connectTls({ host, port: Number(port || 443), servername: host, ALPNProtocols: ['http/1.1'] })
      : connectPlain({ host, port: Number(port || 80) });
    const timer = setTimeout(() => socket.destroy(new Error(`no connection within ${connectWithinMs} ms`)), connectWithinMs);
    socket.once('error', reject);
    socket.once('close', () => clearTimeout(timer));
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      socket.off('error', reject);
      socket.setNoDelay(true);
      resolve(socket);
    });
  });
}

function ask(box: Box, request: IncomingMessage, { owner, socket }: Way, requestId: string, more: OutgoingHttpHeaders = {}) {
  const { headers, method = 'GET' } = request;
  const chunked = headers['transfer-encoding'] !== undefined && more['content-length'] === undefined;
  return httpRequest({
    ...{ method, path: targetOf(request), setHost: false, createConnection: () => socket },
    headers: {
      // With the Host of the caller: names lead to sandboxes, and links in answers start with it.
      ...withoutHops(headers),
      ...(chunked && { 'transfer-encoding': 'chunked' }),
      ...(owner.signedFor !== undefined && { 'e2b-sandbox-id': owner.signedFor }),
      ...{ 'x-request-id': requestId, [passedOn]: box.host, ...more },
    },
  });
}

/** A machine that vanishes closes no connection, but its lease runs out. Returns what ends the watching. */
function endWithLease(box: Box, host: string, end: () => void): () => void {
  const look = async (): Promise<void> => {
    if ((await box.hosts.addressOf(host)) === undefined) end();
  };
  // Without the database nobody knows; the next look may.
  const timer = setInterval(() => void look().catch(() => undefined), box.config.leaseTtl);
  timer.unref();
  return () => clearInterval(timer);
}

const wentAway = (cause?: unknown): BoxError =>
  new BoxError('unavailable', 'The host that this belongs to went away before it answered.', {
    hint: 'Look whether it was done before you try again.',
    ...(cause !== undefined && { cause }),
  });

function refuse(box: Box, cause: unknown, requestId: string, request: IncomingMessage, response: ServerResponse): void {
  if (response.destroyed) return;
  const { status, headers, body } = errorAnswer(cause instanceof BoxError ? cause : wentAway(cause), requestId, box.log);
  const text = JSON.stringify(body);
  const more = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text), 'X-Request-ID': requestId };
  response.writeHead(status, { ...headers, ...more, ...(!request.complete && { Connection: 'close' }) }).end(text);
}
