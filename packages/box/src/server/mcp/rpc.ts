/** JSON-RPC 2.0 as MCP has it: one message at a time, ids that are never null. */

import type { ErrorBody } from '@skillbox/protocol';
import { parseJson } from '../../json.ts';

export type RpcId = string | number;
export type Params = Readonly<Record<string, unknown>>;

export interface RpcRequest {
  readonly id: RpcId;
  readonly method: string;
  readonly params: Params;
}

export type RpcMessage =
  | ({ readonly kind: 'request' } & RpcRequest)
  | { readonly kind: 'notification'; readonly method: string; readonly params: Params }
  | { readonly kind: 'response' };

export const codes = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** Of revisions with sessions only. */
  resourceNotFound: -32002,
  headerMismatch: -32020,
  unsupportedRevision: -32022,
} as const;

/** An error of the protocol, as opposed to one of a tool, which is a result. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;
  /** Of the HTTP answer. */
  readonly status: number;

  constructor(code: number, message: string, { data, status = 200 }: { readonly data?: unknown; readonly status?: number } = {}) {
    super(message);
    this.code = code;
    this.data = data;
    this.status = status;
  }
}

export const invalidParams = (message: string, data?: unknown): RpcError => new RpcError(codes.invalidParams, message, { data });

export function parseMessage(bytes: Buffer): RpcMessage {
  let value: unknown;
  try {
    value = parseJson(bytes.toString('utf8'));
  } catch {
    // What could not be read may be a secret: the message of the parser quotes it.
    throw new RpcError(codes.parse, 'The body is not JSON.', { status: 400 });
  }
  if (Array.isArray(value)) throw refused('Batches are not part of this protocol: send one message in each request.');
  if (!isObject(value) || value.jsonrpc !== '2.0') throw refused('The body is not a JSON-RPC 2.0 message.');
  const { id, method, params } = value;
  if (method === undefined) return asResponse(value);
  if (typeof method !== 'string' || method.length > 200) throw refused('method must be a text.');
  if (params !== undefined && !isObject(params)) throw refused('params must be an object.');
  const rest = { method, params: params ?? {} };
  if (!Object.hasOwn(value, 'id')) return { kind: 'notification', ...rest };
  if (!isId(id)) throw refused('id must be a text or an integer.');
  return { kind: 'request', id, ...rest };
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

export const isId = (value: unknown): value is RpcId =>
  (typeof value === 'string' && value.length <= 1000) || (typeof value === 'number' && Number.isSafeInteger(value));

export const resultMessage = (id: RpcId, result: unknown) => ({ jsonrpc: '2.0', id, result }) as const;

export const notificationMessage = (method: string, params?: Params) => ({ jsonrpc: '2.0', method, ...(params && { params }) }) as const;

/** Without an id when the request could not be read so far. */
export const errorMessage = (id: RpcId | undefined, { code, message, data }: Pick<RpcError, 'code' | 'message' | 'data'>) =>
  ({ jsonrpc: '2.0', ...(id !== undefined && { id }), error: { code, message, ...(data !== undefined && { data }) } }) as const;

/** A refusal of the box in the words of JSON-RPC; everything it has to say is in `data`. */
export function asRpcError(body: ErrorBody, status: number): RpcError {
  const { message, ...data } = body;
  return new RpcError(status >= 500 ? codes.internal : codes.invalidRequest, message, { data, status });
}

function asResponse(value: Record<string, unknown>): RpcMessage {
  if (Object.hasOwn(value, 'result') || Object.hasOwn(value, 'error')) return { kind: 'response' };
  throw refused('The message has neither a method nor a result.');
}

const refused = (message: string): RpcError => new RpcError(codes.invalidRequest, message, { status: 400 });
