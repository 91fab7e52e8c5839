/** Clients of revisions before 2026-07-28: they open a session, send requests in it, listen to its stream, and end it. */

import { BoxError } from '@skillbox/protocol';
import type { Caller } from '../../access/caller.ts';
import { authenticate } from '../auth.ts';
import { jsonResponse, respond, streamResponse } from './exchange.ts';
import { lists } from './listen.ts';
import { runMethod } from './methods.ts';
import { capabilities, instructions, type SessionRevision, serverInfo, sessionRevisions } from './revisions.ts';
import {
  codes,
  invalidParams,
  isId,
  notificationMessage,
  type Params,
  RpcError,
  type RpcMessage,
  type RpcRequest,
  resultMessage,
} from './rpc.ts';
import { newsName, type Session } from './sessions.ts';
import { askOf, type Visit, whileKeyIsGood } from './visit.ts';

export async function answerInSession(visit: Visit, message: RpcMessage, streams: boolean): Promise<Response> {
  if (message.kind === 'request' && message.method === 'initialize') return initialize(visit, message);
  const session = sessionOf(visit);
  if (message.kind === 'request') return call(visit, session, message, streams);
  if (message.kind === 'notification' && message.method === 'notifications/cancelled') cancel(session, message.params);
  return new Response(null, { status: 202 });
}

/** What is not about one request, or the rest of an answer that was cut off. */
export async function streamOfSession(visit: Visit): Promise<Response> {
  const { box, mcp, request, gone } = visit;
  const session = sessionOf(visit);
  const [, name = newsName, number] = /^([a-z]+\d*)-(\d{1,9})$/.exec(String(request.headers['last-event-id'] ?? '')) ?? [];
  const stream = session.streamOf(name);
  if (!stream) throw new RpcError(codes.invalidRequest, 'What this event belongs to is not kept any more.', { status: 400 });
  const end = new AbortController();
  const release = session.hold();
  const stopLooking = whileKeyIsGood(
    visit,
    () => authenticate(box, request),
    () => end.abort(),
  );
  const over = AbortSignal.any([gone, session.over, mcp.stopping, end.signal]);
  const letGo = (): void => {
    stopLooking();
    release();
  };
  over.addEventListener('abort', letGo, { once: true });
  if (over.aborted) letGo();
  if (name === newsName) await listenForNews(visit, session);
  return streamResponse(stream, number === undefined ? stream.last : Number(number), encodingOf(session, name), over);
}

export async function endSession(visit: Visit): Promise<Response> {
  visit.mcp.sessions.close(sessionOf(visit));
  return new Response(null, { status: 204 });
}

function initialize({ mcp, caller }: Visit, { id, params }: RpcRequest): Response {
  const { protocolVersion } = params;
  if (typeof protocolVersion !== 'string') throw invalidParams('protocolVersion must be a text.');
  const asked = sessionRevisions.find((revision) => revision === protocolVersion);
  const revision: SessionRevision = asked ?? sessionRevisions[0];
  const session = mcp.sessions.open(ownerOf(caller), revision);
  const result = { protocolVersion: revision, capabilities, serverInfo, instructions };
  return jsonResponse(resultMessage(id, result), 200, { 'Mcp-Session-Id': session.id });
}

/** A client that is cut off may come back for the answer; one that wants none says so. */
async function call(visit: Visit, session: Session, { id, method, params }: RpcRequest, streams: boolean): Promise<Response> {
  if (session.calls.has(id)) throw new RpcError(codes.invalidRequest, 'A request with this id is under way.', { status: 400 });
  const { box, requestId, gone } = visit;
  const controller = new AbortController();
  const taken = AbortSignal.any([controller.signal, session.over]);
  const { name, stream } = session.openStream();
  const ask = askOf(visit, params, false, taken, streams ? stream : undefined);
  session.calls.set(id, controller);
  const work = async (): Promise<unknown> => {
    try {
      return await runMethod(ask, method, params);
    } finally {
      session.calls.delete(id);
    }
  };
  return respond({ ...{ box, requestId, id, stream, streams, taken, work }, encoding: encodingOf(session, name), gone });
}

function cancel({ calls }: Session, { requestId }: Params): void {
  if (isId(requestId)) calls.get(requestId)?.abort();
}

function sessionOf({ mcp, caller, request }: Visit): Session {
  const id = request.headers['mcp-session-id'];
  if (typeof id !== 'string') {
    throw new RpcError(codes.invalidRequest, 'Mcp-Session-Id is missing: begin with initialize, or name the revision in every request.', {
      status: 400,
    });
  }
  const session = mcp.sessions.find(id, ownerOf(caller));
  if (session) return session;
  // The same for one that is over, another key's and another host's.
  throw new BoxError('not_found', 'There is no such session. Begin anew with initialize.');
}

const ownerOf = ({ actor, tenant }: Caller): string => `${actor.id} ${tenant}`;

const encodingOf = ({ revision }: Session, name: string) => ({ name, primed: revision === '2025-11-25' });

const listening = new WeakSet<Session>();

async function listenForNews({ mcp, caller }: Visit, session: Session): Promise<void> {
  if (listening.has(session) || session.over.aborted) return;
  listening.add(session);
  const end = await mcp.changes.listen(caller.tenant, () => {
    for (const list of Object.values(lists)) session.news.say(notificationMessage(`notifications/${list}/list_changed`));
  });
  session.over.addEventListener('abort', end, { once: true });
  if (session.over.aborted) end();
}
