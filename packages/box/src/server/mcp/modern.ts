/** Requests of 2026-07-28 and later: each says everything about itself, in its body and once more in its headers. */

import { BoxError } from '@skillbox/protocol';
import { errorResponse, respond } from './exchange.ts';
import { listen } from './listen.ts';
import { createMessageStream } from './message-stream.ts';
import { runMethod } from './methods.ts';
import { allRevisions, metaNames, modernRevision } from './revisions.ts';
import { codes, isObject, type Params, RpcError, type RpcMessage, type RpcRequest } from './rpc.ts';
import { askOf, type Visit } from './visit.ts';

export async function answerModern(visit: Visit, message: RpcMessage, streams: boolean): Promise<Response> {
  if (message.kind === 'response')
    throw new RpcError(codes.invalidRequest, 'The box asks nothing: there is nothing to respond to.', { status: 400 });
  if (message.kind === 'notification') return new Response(null, { status: 202 });
  const { id, method, params } = message;
  try {
    checkHeaders(visit, message);
    checkMeta(params);
  } catch (error) {
    if (error instanceof RpcError) return errorResponse(id, error);
    throw error;
  }
  if (method === 'subscriptions/listen') {
    if (!streams) throw new BoxError('not_acceptable', 'What is listened to is text/event-stream.');
    return listen(visit, message);
  }
  const { box, requestId, gone } = visit;
  const stream = createMessageStream();
  const ask = askOf(visit, params, true, gone, streams ? stream : undefined);
  // A client that hangs up has taken the request back.
  return respond({
    ...{ box, requestId, id, stream, streams, gone, taken: gone },
    encoding: {},
    work: () => runMethod(ask, method, params),
  });
}

export const unsupported = (requested: string): RpcError =>
  new RpcError(codes.unsupportedRevision, 'Unsupported protocol version', {
    status: 400,
    data: { supported: allRevisions, requested: requested.slice(0, 100) },
  });

function checkMeta({ _meta: meta }: Params): void {
  const revision = isObject(meta) ? meta[metaNames.revision] : undefined;
  if (!isObject(meta) || typeof revision !== 'string') throw malformed(`_meta must have ${metaNames.revision}.`);
  if (revision !== modernRevision) throw unsupported(revision);
  if (!isObject(meta[metaNames.clientCapabilities])) throw malformed(`_meta must have ${metaNames.clientCapabilities}.`);
}

const malformed = (message: string): RpcError => new RpcError(codes.invalidParams, message, { status: 400 });

/** Whoever stands between the two reads the headers, the box the body: they must say the same. */
function checkHeaders({ request: { headers } }: Visit, { method, params }: RpcRequest): void {
  const meta = isObject(params._meta) ? params._meta : {};
  const named: Readonly<Record<string, unknown>> = { 'tools/call': params.name, 'prompts/get': params.name, 'resources/read': params.uri };
  const revision = meta[metaNames.revision];
  // What the body lacks is told as such.
  if (revision !== undefined) mustBe('MCP-Protocol-Version', headers['mcp-protocol-version'], revision);
  mustBe('Mcp-Method', headers['mcp-method'], method);
  if (Object.hasOwn(named, method)) mustBe('Mcp-Name', decoded(headers['mcp-name']), named[method]);
}

function mustBe(name: string, header: string | string[] | undefined, value: unknown): void {
  if (header === value) return;
  const problem = header === undefined ? 'is missing' : 'does not match the body';
  throw new RpcError(codes.headerMismatch, `Header mismatch: ${name} ${problem}`, { status: 400 });
}

function decoded(header: string | string[] | undefined): string | string[] | undefined {
  const encoded = typeof header === 'string' ? /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(header)?.[1] : undefined;
  return encoded === undefined ? header : Buffer.from(encoded, 'base64').toString('utf8');
}
