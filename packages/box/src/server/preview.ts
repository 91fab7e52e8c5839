/**
 * The way to servers inside sandboxes: /preview/<sandbox>/<port>/… and, with a domain, hosts <port>-<sandbox>.<domain>.
 * What answers is hostile: it gets nothing of the box's keys and cookies, and its pages no say over the box's origin.
 */

import {
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream';
import { BoxError, keyPattern, sandboxIdPattern } from '@skillbox/protocol';
import type { Box } from '../box.ts';
import { rawHead } from '../raw-head.ts';
import { checkPreviewToken, previewLinkMs } from '../sandbox/preview-link.ts';
import { authenticate, requireScope } from './auth.ts';
import { sandboxOfHost } from './e2b/hosts.ts';
import { errorAnswer } from './errors.ts';
import { requestIdOf, withoutHops } from './http-heads.ts';

export interface PreviewTarget {
  readonly sandbox: string;
  readonly port: number;
  /** Path and query inside. */
  readonly path: string;
  /** What the path inside starts with outside: empty at a host of its own. */
  readonly prefix: string;
}

const cookieName = 'skillbox_preview';
const longestSilenceMs = 600_000;

/** undefined when the request is not for a preview. */
export function previewTarget({ config }: Box, request: IncomingMessage): PreviewTarget | undefined {
  const url = request.url ?? '/';
  const host = (request.headers.host ?? '').replace(/:\d+$/, '').toLowerCase();
  if (sandboxOfHost(host)) return undefined;
  if (config.previewDomain && host.endsWith(`.${config.previewDomain}`)) {
    const [, port = '', sandbox = ''] = /^(\d{1,5})-([a-z0-9]+)$/.exec(host.slice(0, -config.previewDomain.length - 1)) ?? [];
    return { sandbox, port: Number(port), path: url.startsWith('/') ? url : '/', prefix: '' };
  }
  if (!/^\/preview(\/|\?|$)/.test(url)) return undefined;
  const [, sandbox = '', port = '', path = ''] = /^\/preview\/([^/?]*)\/([^/?]*)(.*)$/s.exec(url) ?? [];
  return { sandbox, port: /^\d{1,5}$/.test(port) ? Number(port) : 0, path, prefix: `/preview/${sandbox}/${port}` };
}

export async function servePreview(box: Box, target: PreviewTarget, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const requestId = requestIdOf(request);
  const started = performance.now();
  response.once('close', () => {
    const ms = Number((performance.now() - started).toFixed(2));
    const status = response.statusCode;
    box.metrics.requests.inc({ method: request.method ?? '', route: '/preview', status });
    box.log.info({ request_id: requestId, method: request.method, route: '/preview', sandbox: target.sandbox, status, ms }, 'request');
  });
  try {
    // Relative addresses in a page need the slash.
    if (!target.path.startsWith('/')) {
      response.writeHead(308, { Location: `${target.prefix}/${target.path}`, 'X-Request-ID': requestId }).end();
      return;
    }
    const { inside, cookie, done } = await reach(box, target, request);
    response.once('close', done);
    await exchange(target, request, response, inside, { 'X-Request-ID': requestId, ...(cookie && { 'Set-Cookie': cookie }) });
  } catch (error) {
    answerError(box, error, requestId, request, response);
  }
}

/** A WebSocket to a server inside; `socket` is the caller's connection. */
export async function upgradePreview(
  box: Box,
  target: PreviewTarget,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const { inside, done } = await reach(box, target, request);
  socket.once('close', done);
  const headers = { ...insideHeaders(request, target), Connection: 'Upgrade', Upgrade: request.headers.upgrade ?? 'websocket' };
  const outgoing = httpRequest({ method: 'GET', path: insidePath(target), headers, setHost: false, createConnection: () => inside });
  await new Promise<void>((resolve, reject) => {
    outgoing.once('error', (cause) => reject(nothingAnswers(target, cause)));
    socket.once('close', () => outgoing.destroy());
    outgoing.once('upgrade', (answer, tunnel, rest) => {
      const { connection: _c, ...headersOut } = outsideHeaders(answer, target, {});
      socket.write(
        rawHead(101, 'Switching Protocols', { ...headersOut, Connection: 'Upgrade', Upgrade: answer.headers.upgrade ?? 'websocket' }),
        'latin1',
      );
      if (rest.length > 0) socket.write(rest);
      if (head.length > 0) tunnel.write(head);
      socket.pipe(tunnel).pipe(socket);
      socket.once('close', () => tunnel.destroy());
      tunnel.once('close', () => socket.destroy());
      resolve();
    });
    outgoing.once('response', (answer) => {
      const headersOut = { ...outsideHeaders(answer, target, {}), Connection: 'close' };
      socket.write(rawHead(answer.statusCode ?? 502, answer.statusMessage ?? '', headersOut), 'latin1');
      pipeline(answer, socket, () => undefined);
      resolve();
    });
    outgoing.end();
  });
}

/** Who asks, and the connection inside. */
async function reach(
  box: Box,
  { sandbox, port, prefix, path }: PreviewTarget,
  request: IncomingMessage,
): Promise<{ inside: Duplex; cookie: string | undefined; done(): void }> {
  const at = path.indexOf('?');
  const token = (at < 0 ? null : new URLSearchParams(path.slice(at)).get('token')) ?? undefined;
  const isTarget = sandboxIdPattern.test(sandbox) && port > 0 && port < 65_536;
  const tenant = await tenantOf(box, request, token, sandbox, port);
  if (!isTarget) throw new BoxError('not_found', 'There is no such preview: /preview/<sandbox>/<port>/.');
  box.rate.take(tenant);
  const { handle, done } = await box.sandboxes.use(tenant, sandbox);
  try {
    const inside = await handle.connect(port).catch((cause) => {
      throw nothingAnswers({ port }, cause);
    });
    // Its end is told by the exchange; an error before that must not end the server.
    inside.on('error', () => undefined);
    return { inside, done, cookie: token && linkCookie(box, request, token, prefix) };
  } catch (error) {
    done();
    throw error;
  }
}

async function tenantOf(box: Box, request: IncomingMessage, token: string | undefined, sandbox: string, port: number): Promise<string> {
  const key = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (key && keyPattern.test(key)) {
    const caller = await authenticate(box, request);
    requireScope(caller, 'sandboxes:use');
    return caller.tenant;
  }
  const given = token ?? cookiesOf(request.headers).find(([name]) => name === cookieName)?.[1];
  if (given !== undefined) return checkPreviewToken(box.secrets, given, sandbox, port);
  throw new BoxError('unauthorized', 'A key or a signed link is needed.');
}

/** Pages under /preview/ have an origin of their own (see below), so their own requests count as those of another site. */
function linkCookie({ config }: Box, request: IncomingMessage, token: string, prefix: string): string {
  const host = (request.headers.host ?? '').replace(/:\d+$/, '');
  const trusted = config.publicUrl?.startsWith('https:') || host === 'localhost' || /^127\./.test(host);
  const site = prefix !== '' && trusted ? 'SameSite=None; Secure' : 'SameSite=Lax';
  return `${cookieName}=${token}; Path=${prefix}/; Max-Age=${previewLinkMs / 1000}; HttpOnly; ${site}`;
}

function exchange(
  target: PreviewTarget,
  request: IncomingMessage,
  response: ServerResponse,
  inside: Duplex,
  more: OutgoingHttpHeaders,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = insideHeaders(request, target);
    const { method = 'GET' } = request;
    const outgoing = httpRequest({ method, path: insidePath(target), headers, setHost: false, createConnection: () => inside });
    outgoing.setTimeout(longestSilenceMs, () => outgoing.destroy(new Error('no answer in time')));
    outgoing.once('error', (cause) => reject(nothingAnswers(target, cause)));
    outgoing.once('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, outsideHeaders(answer, target, more));
      response.flushHeaders();
      pipeline(answer, response, () => {
        inside.destroy();
        resolve();
      });
    });
    outgoing.on('information', () => undefined);
    response.once('close', () => outgoing.destroy());
    // An inside that answers early closes its ear; the answer still comes.
    pipeline(request, outgoing, () => undefined);
  });
}

/** What the request says, without what is the box's. */
function insideHeaders(request: IncomingMessage, { port, prefix }: PreviewTarget): OutgoingHttpHeaders {
  const { headers } = request;
  const kept: OutgoingHttpHeaders = withoutHops(headers);
  const key = /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1];
  if (key && keyPattern.test(key)) delete kept.authorization;
  for (const name of ['cookie', 'x-tenant-id', 'forwarded', 'x-skillbox-forwarded', 'x-api-key']) delete kept[name];
  const cookies = cookiesOf(headers).filter(([name]) => !name.startsWith('skillbox_'));
  const proto = (request.socket as { encrypted?: boolean }).encrypted ? 'https' : 'http';
  return {
    ...kept,
    ...(cookies.length > 0 && { cookie: cookies.map(([name, value]) => `${name}=${value}`).join('; ') }),
    ...(headers['transfer-encoding'] !== undefined && { 'transfer-encoding': 'chunked' }),
    host: `localhost:${port}`,
    'x-forwarded-for': request.socket.remoteAddress ?? '',
    'x-forwarded-host': headers.host ?? '',
    'x-forwarded-proto': proto,
    ...(prefix !== '' && { 'x-forwarded-prefix': prefix }),
  };
}

/** Headers with which a server inside would reach beyond its own pages. */
const notForOutside = ['service-worker-allowed', 'clear-site-data', 'strict-transport-security', 'alt-svc', 'set-cookie', 'x-request-id'];

function outsideHeaders(answer: IncomingMessage, target: PreviewTarget, more: OutgoingHttpHeaders): OutgoingHttpHeaders {
  const kept: OutgoingHttpHeaders = withoutHops(answer.headers);
  for (const name of notForOutside) delete kept[name];
  if (typeof kept.location === 'string') kept.location = outsideLocation(kept.location, target);
  const { 'Set-Cookie': own, ...rest } = more;
  const cookies = [
    ...(answer.headers['set-cookie'] ?? []).flatMap((cookie) => outsideCookie(cookie, target)),
    ...(own ? [String(own)] : []),
  ];
  return {
    ...kept,
    ...(cookies.length > 0 && { 'set-cookie': cookies }),
    'referrer-policy': kept['referrer-policy'] ?? 'same-origin',
    // On the origin of the box a page must not be of that origin: it could act as whoever looks at it.
    ...(target.prefix !== '' && { 'content-security-policy': contentPolicy(kept['content-security-policy']) }),
    ...rest,
  };
}

const pageSandbox =
  'sandbox allow-scripts allow-forms allow-modals allow-popups allow-downloads allow-pointer-lock allow-top-navigation-by-user-activation';

/** Several policies hold together: the page's own can only take away more. */
const contentPolicy = (own: unknown): string => (typeof own === 'string' ? `${own}, ${pageSandbox}` : pageSandbox);

/** A cookie of the inside stays with its own pages, and cannot pass for one of ours. */
function outsideCookie(cookie: string, { prefix }: PreviewTarget): string[] {
  const [pair = '', ...attributes] = cookie.split(';').map((part) => part.trim());
  if (pair.startsWith('skillbox_') || /^__(host|secure)-/i.test(pair)) return [];
  const path = attributes.find((attribute) => /^path=\//i.test(attribute))?.slice(5) ?? '/';
  const kept = attributes.filter((attribute) => !/^(domain|path)=/i.test(attribute));
  return [[pair, ...kept, `Path=${prefix}${path.includes('..') ? '/' : path}`].join('; ')];
}

function outsideLocation(location: string, { port, prefix }: PreviewTarget): string {
  const local = new RegExp(`^https?://(localhost|127\\.0\\.0\\.1)(:${port})?(?=/|$)`, 'i');
  const path = location.replace(local, '') || '/';
  return path.startsWith('/') && !path.startsWith('//') ? prefix + path : location;
}

/** The token is for the box: it does not go inside. */
function insidePath({ path }: PreviewTarget): string {
  const at = path.indexOf('?');
  if (at < 0) return path;
  const query = path
    .slice(at + 1)
    .split('&')
    .filter((part) => !/^token=/.test(part))
    .join('&');
  return query === '' ? path.slice(0, at) : `${path.slice(0, at)}?${query}`;
}

const cookiesOf = (headers: IncomingHttpHeaders): [string, string][] =>
  (headers.cookie ?? '').split(';').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at > 0 ? [[pair.slice(0, at).trim(), pair.slice(at + 1).trim()] as [string, string]] : [];
  });

const nothingAnswers = ({ port }: Pick<PreviewTarget, 'port'>, cause: unknown): BoxError =>
  new BoxError('nothing_listens', `Nothing answers on port ${port} in this sandbox.`, { cause });

function answerError(box: Box, error: unknown, requestId: string, request: IncomingMessage, response: ServerResponse): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { status, headers, body } = errorAnswer(error, requestId, box.log);
  const text = JSON.stringify(body);
  response.writeHead(status, {
    ...{ ...headers, 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text), 'X-Request-ID': requestId },
    ...(!request.complete && { Connection: 'close' }),
  });
  response.end(text);
}
