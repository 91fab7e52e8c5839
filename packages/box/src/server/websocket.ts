/** Connections that stop being HTTP: terminals in sandboxes, and WebSockets to servers inside them. */

import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { BoxError, sandboxIdPattern } from '@skillbox/protocol';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { z } from 'zod';
import type { Caller } from '../access/caller.ts';
import type { Box } from '../box.ts';
import { rawHead } from '../raw-head.ts';
import type { Program } from '../sandbox/living.ts';
import { metricsHistory } from '../sandbox/metrics-history.ts';
import { homeFolder, programSpec } from '../sandbox/programs.ts';
import { authenticate, requireScope } from './auth.ts';
import { errorAnswer } from './errors.ts';
import { passOnUpgrade } from './forward.ts';
import { previewTarget, upgradePreview } from './preview.ts';

/** What a slow reader may leave unread before the program has to wait. */
const mostUnread = 1024 * 1024;
const largestMessage = 1024 * 1024;
const pingEveryMs = 30_000;

export interface Upgrades {
  /** Ends what is open: the server cannot close before. */
  close(): void;
}

export function serveUpgrades(server: Server, box: Box): Upgrades {
  const sockets = new Set<Duplex>();
  const terminals = new WebSocketServer({
    noServer: true,
    maxPayload: largestMessage,
    perMessageDeflate: false,
    // A key among the protocols is not repeated in the answer.
    handleProtocols: (offered) => (offered.has('skillbox') ? 'skillbox' : false),
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    if (request.headers.upgrade?.toLowerCase() !== 'websocket' && isBodiless(request)) {
      answerAnyway(server, request, socket);
      return;
    }
    upgrade(box, terminals, request, socket, head).catch((error) => refuse(box, error, socket));
  });
  return {
    close() {
      for (const socket of sockets) socket.destroy();
      terminals.close();
    },
  };
}

const isBodiless = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;

/** An offer of another protocol may be ignored, as before there were WebSockets here: curl makes one for HTTP/2. */
function answerAnyway(server: Server, request: IncomingMessage, socket: Duplex): void {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as Socket);
  response.once('finish', () => socket.end());
  server.emit('request', request, response);
}

async function upgrade(box: Box, terminals: WebSocketServer, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
  if (request.headers.upgrade?.toLowerCase() !== 'websocket')
    throw new BoxError('bad_request', 'The box speaks HTTP/1.1 and WebSocket.', { hint: 'Leave the Upgrade header out.' });
  if (await passOnUpgrade(box, request, socket, head)) return;
  requireOwnOrigin(box, request);
  const preview = previewTarget(box, request);
  if (preview) return upgradePreview(box, preview, request, socket, head);
  const url = new URL(request.url ?? '/', 'http://box');
  const id = /^\/v1\/sandboxes\/([^/]+)\/pty$/.exec(url.pathname)?.[1];
  if (id === undefined) throw new BoxError('not_found', `Nothing at ${url.pathname} speaks WebSocket.`);
  const caller = await callerOf(box, request);
  if (!sandboxIdPattern.test(id)) throw new BoxError('bad_request', 'This is not the id of a sandbox.');
  const { program, done } = await openTerminal(box, caller, id, url.searchParams);
  socket.once('close', () => {
    program.detach();
    done();
  });
  if (socket.destroyed) {
    program.detach();
    done();
    return;
  }
  terminals.handleUpgrade(request, socket, head, (connection) => void converse(connection, program));
}

/** A page of another site may not use what a browser sends along by itself. */
function requireOwnOrigin({ config }: Box, { headers }: IncomingMessage): void {
  const { origin } = headers;
  if (origin === undefined) return;
  const host = URL.canParse(origin) ? new URL(origin).host : '';
  const own = [headers.host, config.publicUrl && new URL(config.publicUrl).host];
  if (host !== '' && own.includes(host)) return;
  throw new BoxError('forbidden', 'This origin may not open connections to the box.', {
    hint: 'Connect from a page of the box itself, or from outside a browser.',
  });
}

/** Browsers cannot set headers here: they offer the protocols skillbox, key.<key> and, as an administrator, tenant.<tenant>. */
async function callerOf(box: Box, request: IncomingMessage): Promise<Caller> {
  const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim());
  const named = (name: string): string | undefined => offered.find((protocol) => protocol.startsWith(name))?.slice(name.length);
  const [key, tenant] = [named('key.'), named('tenant.')];
  if (request.headers.authorization === undefined && key !== undefined) request.headers.authorization = `Bearer ${key}`;
  if (request.headers['x-tenant-id'] === undefined && tenant !== undefined) request.headers['x-tenant-id'] = tenant;
  const caller = await authenticate(box, request);
  requireScope(caller, 'sandboxes:use');
  box.rate.take(caller.tenant);
  return caller;
}

const side = (fallback: number) => z.coerce.number().int().min(1).max(1000).default(fallback);
const terminalQuery = z.strictObject({
  cols: side(80),
  rows: side(24),
  cmd: z
    .string()
    .min(1)
    .max(128 * 1024)
    .refine((text) => !text.includes('\0'))
    .optional(),
  program: z.coerce.number().int().positive().optional(),
  after: z.coerce.number().int().nonnegative().default(0),
});

/** A new program with a terminal, or one that runs already. */
async function openTerminal(box: Box, caller: Caller, id: string, query: URLSearchParams): Promise<{ program: Program; done(): void }> {
  const parsed = terminalQuery.safeParse(Object.fromEntries(query));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new BoxError('bad_request', `/${issue?.path.join('/')}: ${issue?.message}`);
  }
  const { cols, rows, cmd, program, after } = parsed.data;
  const { handle, done } = await box.sandboxes.use(caller.tenant, id);
  try {
    if (program !== undefined) return { program: await handle.join(program, after), done };
    const spec = programSpec(box.sandboxes.nextProgramId(id), {
      ...(cmd === undefined ? { argv: ['/bin/bash', '-l'] } : { cmd }),
      ...{ env: {}, cwd: homeFolder, stdin: true, pty: { columns: cols, rows } },
    });
    const started = await handle.start(spec);
    metricsHistory(box.sandboxes).follow(id, handle);
    return { program: started, done };
  } catch (error) {
    done();
    throw error;
  }
}

/** Bytes both ways; text frames are orders and news: {program}, {resize}, {lost}, {exit}. */
async function converse(connection: WebSocket, program: Program): Promise<void> {
  const say = (news: unknown): void => connection.send(JSON.stringify(news));
  const ping = setInterval(() => connection.ping(), pingEveryMs);
  connection.once('close', () => {
    clearInterval(ping);
    program.detach();
  });
  connection.on('error', () => connection.terminate());
  let last = Promise.resolve();
  connection.on('message', (data: RawData, binary: boolean) => {
    // In order: keys typed one after the other arrive so.
    connection.pause();
    last = last
      .then(() => obey(program, data as Buffer, binary))
      .catch((error: Error) => connection.close(1008, error.message.slice(0, 100)));
    void last.finally(() => connection.resume());
  });
  say({ program: program.id });
  try {
    for await (const event of program.events) {
      if (event.type === 'end') say({ exit: { code: event.exitCode, signal: event.signal } });
      else if (event.type === 'lost') say({ lost: { before: event.before } });
      else connection.send(event.bytes);
      while (connection.bufferedAmount > mostUnread && connection.readyState === connection.OPEN)
        await new Promise((resolve) => setTimeout(resolve, 10));
    }
    connection.close(1000);
  } catch (error) {
    if (connection.readyState !== connection.OPEN) return;
    say({ error: { code: error instanceof BoxError ? error.code : 'internal', message: 'The sandbox went away.' } });
    connection.close(1011);
  }
}

const order = z.strictObject({
  resize: z.strictObject({ cols: z.number().int().min(1).max(1000), rows: z.number().int().min(1).max(1000) }),
});

async function obey(program: Program, data: Buffer, binary: boolean): Promise<void> {
  if (binary) {
    // What is typed after the end goes nowhere.
    await program.write(data).catch((error) => {
      if (!(error instanceof BoxError)) throw error;
    });
    return;
  }
  const { resize } = order.parse(JSON.parse(data.toString('utf8')));
  await program.resize(resize.cols, resize.rows);
}

function refuse(box: Box, error: unknown, socket: Duplex): void {
  if (!socket.writable) return;
  const { status, headers, body } = errorAnswer(error, randomUUID(), box.log);
  const text = JSON.stringify(body);
  const more = { ...headers, 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text), Connection: 'close' };
  socket.end(rawHead(status, STATUS_CODES[status] ?? '', { ...more, 'X-Request-ID': body.request_id }) + text);
}
