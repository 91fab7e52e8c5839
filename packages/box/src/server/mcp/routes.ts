/** /mcp: the Model Context Protocol over streamable HTTP. Who asks, and in which revision; the rest is in modern.ts and by-session.ts. */

import type { HttpBindings } from '@hono/node-server';
import { BoxError } from '@skillbox/protocol';
import type { Hono } from 'hono';
import type { Box } from '../../box.ts';
import { type AppContext, answer } from '../answer.ts';
import { authenticate } from '../auth.ts';
import { readBytes } from '../body.ts';
import { originOf } from '../http-heads.ts';
import type { Pacer } from '../pacer.ts';
import { callerOf } from '../turnstile.ts';
import { answerInSession, endSession, streamOfSession } from './by-session.ts';
import { errorResponse } from './exchange.ts';
import type { Mcp } from './mcp.ts';
import { answerModern, unsupported } from './modern.ts';
import { requireOwnOrigin } from './origin.ts';
import { metaNames, modernRevision, sessionRevisions } from './revisions.ts';
import { asRpcError, errorMessage, isObject, parseMessage, RpcError, type RpcMessage } from './rpc.ts';
import type { Visit } from './visit.ts';

const path = '/mcp';

type Handle = (visit: Visit) => Promise<Response>;

/** Returns what it serves. */
export function mountMcp(app: Hono<{ Bindings: HttpBindings }>, box: Box, pacer: Pacer, mcp: Mcp): { method: string; path: string }[] {
  const handles: Readonly<Record<string, Handle>> = { POST: post, GET: get, DELETE: endSession };
  for (const [method, handle] of Object.entries(handles)) app.on(method, path, (c) => serve(c, handle));
  const serve = (c: AppContext, handle: Handle): Promise<Response> =>
    answer(
      box,
      c,
      path,
      async (requestId, receivedAt) => {
        const { incoming: request } = c.env;
        try {
          requireOwnOrigin(request, box.config);
          const caller = await authenticate(box, request);
          box.rate.take(caller.tenant);
          const visit = { box, mcp, caller, request, requestId, receivedAt, origin: originOf(box, request), gone: c.req.raw.signal };
          return await handle(visit);
        } catch (error) {
          if (error instanceof RpcError) return errorResponse(undefined, error);
          if (error instanceof BoxError && error.status === 429) await pacer.refusal(callerOf(request));
          throw error;
        }
      },
      (body, status) => errorMessage(undefined, asRpcError(body, status)),
    );
  return Object.keys(handles).map((method) => ({ method, path }));
}

async function post(visit: Visit): Promise<Response> {
  const { box, request } = visit;
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new BoxError('unsupported_media_type', 'A message to /mcp is application/json.', { hint: 'Set Content-Type: application/json.' });
  if (!accepts(request.headers.accept, 'application/json'))
    throw new BoxError('not_acceptable', 'Answers of /mcp are application/json or text/event-stream; Accept must allow for both.');
  const message = parseMessage(await readBytes(request, box.config.maxRequestSize));
  const revision = headerOf(visit, 'mcp-protocol-version');
  if (isModern(message, revision)) return answerModern(visit, message, accepts(request.headers.accept, 'text/event-stream'));
  const opens = message.kind === 'request' && message.method === 'initialize';
  if (!opens && revision !== undefined && !(sessionRevisions as readonly string[]).includes(revision)) throw unsupported(revision);
  return answerInSession(visit, message, accepts(request.headers.accept, 'text/event-stream'));
}

async function get(visit: Visit): Promise<Response> {
  const { method, headers } = visit.request;
  const modern = (headerOf(visit, 'mcp-protocol-version') ?? '') >= modernRevision;
  if (method === 'HEAD' || modern || headerOf(visit, 'mcp-session-id') === undefined)
    throw new BoxError('method_not_allowed', 'There is a stream here for sessions of revisions before 2026-07-28 only.');
  if (!accepts(headers.accept, 'text/event-stream')) throw new BoxError('not_acceptable', 'The stream is text/event-stream.');
  return streamOfSession(visit);
}

/** A client of the newer kind says its revision in every request. */
function isModern(message: RpcMessage, revision: string | undefined): boolean {
  const meta = message.kind === 'response' ? undefined : message.params._meta;
  return (isObject(meta) && meta[metaNames.revision] !== undefined) || (revision ?? '') >= modernRevision;
}

const headerOf = ({ request }: Visit, name: string): string | undefined => {
  const value = request.headers[name];
  return typeof value === 'string' ? value : undefined;
};

function accepts(header: string | undefined, type: string): boolean {
  if (header === undefined) return type === 'application/json';
  const wanted = header.split(',').map((part) => part.split(';')[0]?.trim().toLowerCase());
  return wanted.some((one) => one === type || one === '*/*' || one === `${type.split('/')[0]}/*`);
}
