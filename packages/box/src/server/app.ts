/** The HTTP face of the registry: routes, keys, limits, answers. It translates; what is done is in the commands. */

import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { HttpBindings } from '@hono/node-server';
import { BoxError } from '@skillbox/protocol';
import { Hono } from 'hono';
import type { Caller } from '../access/caller.ts';
import type { Box } from '../box.ts';
import { type Command, type CommandContext, Reply, type StreamEvent } from '../commands/command.ts';
import { commands } from '../commands/registry.ts';
import { checkLink } from '../executions/links.ts';
import { type AppContext, answer } from './answer.ts';
import { authenticate, nobody, requireScope } from './auth.ts';
import { dashboardPaths, openDashboard } from './dashboard.ts';
import { docsPage } from './docs-page.ts';
import { mountE2b } from './e2b/routes.ts';
import { orElsewhere } from './elsewhere.ts';
import { errorAnswer } from './errors.ts';
import { isGone } from './gone.ts';
import { originOf } from './http-heads.ts';
import { readInput } from './input.ts';
import type { Mcp } from './mcp/mcp.ts';
import { mountMcp } from './mcp/routes.ts';
import { openApiDocument } from './openapi.ts';
import type { Pacer } from './pacer.ts';
import { perform } from './perform.ts';
import { progressEvents } from './progress-events.ts';
import { eventStream } from './sse.ts';
import { callerOf } from './turnstile.ts';

export type App = Hono<{ Bindings: HttpBindings }>;

export function createApp(box: Box, pacer: Pacer, mcp: Mcp): App {
  const app: App = new Hono();
  mountE2b(app, box);
  for (const command of commands) mountCommand(app, box, pacer, command);
  const pages = mountPages(app, box);
  const others = [...pages.map((path) => ({ method: 'GET', path })), ...mountMcp(app, box, pacer, mcp)];
  const routes = [...commands.map(({ http }) => http), ...others].map(({ method, path }) => ({ method, pattern: pathPattern(path) }));
  app.all('*', async (c) => {
    const methods = routes.filter(({ pattern }) => pattern.test(c.req.path)).map(({ method }) => method);
    const allowed = [...new Set([...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'])].join(', ');
    const response = await answer(box, c, 'unmatched', async () => {
      if (methods.length === 0) throw new BoxError('not_found', `There is nothing at ${c.req.path}.`);
      if (c.req.method === 'OPTIONS') return new Response(null, { status: 204 });
      throw new BoxError('method_not_allowed', `${c.req.method} is not a method of this path.`);
    });
    if (methods.length > 0) response.headers.set('Allow', allowed);
    return response;
  });
  return app;
}

export function mountCommand(app: App, box: Box, pacer: Pacer, command: Command): void {
  const route = command.http.path.replace(/:(\w+)\*$/, ':$1{.+}');
  app.on(command.http.method, route, (c) =>
    answer(box, c, command.http.path, (requestId, receivedAt) =>
      run(c, requestId, receivedAt).catch(async (error) => {
        if (error instanceof BoxError && error.status === 429) await pacer.refusal(callerOf(c.env.incoming));
        return orElsewhere(box, c.env.incoming, error);
      }),
    ),
  );
  const run = async (c: AppContext, requestId: string, receivedAt: number): Promise<Response> => {
    const { incoming } = c.env;
    const headOnly = c.req.method === 'HEAD';
    const unread = new AbortController();
    const query = new URL(c.req.url).searchParams;
    const params = c.req.param() as Record<string, string>;
    const caller = await identify(box, command, incoming, params, query);
    // Before the body is read: what will be refused anyway should cost as little as it can.
    if (headerOf(incoming, 'idempotency-key') === undefined) command.admit?.(box, caller);
    const input = await readInput(command, incoming, params, query, box.config);
    const context: CommandContext = {
      box,
      caller,
      requestId,
      receivedAt,
      origin: originOf(box, incoming),
      idempotencyKey: idempotencyKey(incoming),
      lastEventId: headerOf(incoming, 'last-event-id'),
      signal: headOnly ? AbortSignal.any([c.req.raw.signal, unread.signal]) : c.req.raw.signal,
    };
    const events = acceptsEvents(incoming) && !headOnly ? await eventsOf(command, context, input) : undefined;
    if (events) return eventResponse(eventStream(events, context.signal));
    const result = await perform(command, context, input);
    const response = toResponse(command, result, context.signal, headOnly);
    // A stream that nobody will read has not begun, and so does not end: this lets go of what it holds.
    if (headOnly) unread.abort();
    return response;
  };
}

/** The other face of a command's answer: what goes on until it is there, or after it. undefined for a command that has none. */
async function eventsOf(command: Command, context: CommandContext, input: unknown): Promise<AsyncIterable<StreamEvent> | undefined> {
  if (command.follow) return command.follow.run(context, input as never);
  if (!command.tellsProgress) return undefined;
  const { box, requestId, signal } = context;
  return progressEvents(
    (progress) => perform(command, { ...context, progress }, input),
    (error) => {
      // Nobody reads it.
      if (isGone(error, signal)) return { error: 'cancelled' };
      const { status, body } = errorAnswer(error, requestId, box.log);
      return { status, ...body };
    },
  );
}

async function identify(
  box: Box,
  command: Command,
  request: IncomingMessage,
  params: Record<string, string>,
  query: URLSearchParams,
): Promise<Caller> {
  if (command.scope === null) return nobody;
  const signature = query.get('signature');
  if (command.http.signed && signature !== null) {
    checkLink(box.secrets, params.id ?? '', query.get('expires') ?? '', signature);
    return nobody;
  }
  const caller = await authenticate(box, request);
  requireScope(caller, command.scope);
  box.rate.take(caller.tenant);
  return caller;
}

function toResponse(command: Command, result: unknown, signal: AbortSignal, headOnly: boolean): Response {
  const reply = result instanceof Reply ? result : new Reply(result);
  const { status, headers } = reply.options;
  const { output } = command;
  if (output.kind === 'empty') return new Response(null, { status: 204, headers });
  if (output.kind === 'text')
    return new Response(String(reply.body), { status: 200, headers: { 'Content-Type': 'text/plain; charset=utf-8', ...headers } });
  if (output.kind === 'json') {
    return new Response(JSON.stringify(reply.body), {
      status: status ?? output.status ?? 200,
      headers: { 'Content-Type': 'application/json', ...headers },
    });
  }
  const stream = output.kind === 'events' ? eventStream(reply.body as AsyncIterable<StreamEvent>, signal) : (reply.body as Readable);
  const kind =
    output.kind === 'events'
      ? eventHeaders
      : { 'Content-Type': output.contentType, 'Content-Security-Policy': "sandbox; default-src 'none'" };
  const options = { status: 200, headers: { ...kind, ...headers } };
  if (!headOnly) return new Response(Readable.toWeb(stream) as ReadableStream, options);
  // Nobody will read it: an open file would stay open.
  stream.destroy();
  return new Response(null, options);
}

const eventHeaders = { 'Content-Type': 'text/event-stream; charset=utf-8', 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' };

const eventResponse = (stream: Readable): Response =>
  new Response(Readable.toWeb(stream) as ReadableStream, { status: 200, headers: eventHeaders });

/** Only who names it: browsers and programs that take anything get JSON. */
const acceptsEvents = (request: IncomingMessage): boolean =>
  /(^|,)\s*text\/event-stream\s*(;|,|$)/i.test(headerOf(request, 'accept') ?? '');

/** What is not a command. Returns the paths. */
function mountPages(app: App, box: Box): string[] {
  const document = JSON.stringify(openApiDocument());
  const page = docsPage();
  const json = { 'Content-Type': 'application/json' };
  app.get('/openapi.json', (c) => answer(box, c, '/openapi.json', async () => new Response(document, { headers: json })));
  app.get('/docs', (c) =>
    answer(box, c, '/docs', async () => {
      const headers = {
        'Content-Type': 'text/html; charset=utf-8',
        'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'",
      };
      return new Response(page, { headers });
    }),
  );
  app.get('/livez', (c) => answer(box, c, '/livez', async () => new Response('ok\n', { headers: { 'Content-Type': 'text/plain' } })));
  app.get('/', (c) => answer(box, c, '/', async () => new Response(null, { status: 302, headers: { Location: '/ui/' } })));
  app.get('/metrics', (c) =>
    answer(box, c, '/metrics', async () => {
      // On the machine itself a scraper needs no key; from elsewhere figures are for administrators.
      if (!isLoopback(c.env.incoming.socket.remoteAddress)) requireScope(await authenticate(box, c.env.incoming), 'admin');
      return new Response(await box.metrics.render(), { headers: { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' } });
    }),
  );
  const dashboard = openDashboard();
  for (const path of dashboardPaths)
    app.get(path.replace(/:(\w+)\*$/, ':$1{.+}'), (c) =>
      answer(box, c, '/ui', async () => dashboard.answer(c.req.path, c.req.header('accept-encoding'), c.req.header('if-none-match'))),
    );
  return ['/openapi.json', '/docs', '/livez', '/', '/metrics', ...dashboardPaths];
}

const isLoopback = (address: string | undefined): boolean => address === '::1' || /^(::ffff:)?127\./.test(address ?? '');

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : undefined;
}

function idempotencyKey(request: IncomingMessage): string | undefined {
  const key = headerOf(request, 'idempotency-key');
  if (key === undefined || /^[\x21-\x7e]{1,200}$/.test(key)) return key;
  throw new BoxError('bad_request', 'Idempotency-Key must be 1 to 200 printable characters without blanks.');
}

function pathPattern(path: string): RegExp {
  return new RegExp(
    `^${path
      .replaceAll('.', '\\.')
      .replace(/:\w+\*/g, '.+')
      .replace(/:\w+/g, '[^/]+')}$`,
  );
}
