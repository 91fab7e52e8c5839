/** The E2B protocol as a client speaks it: JSON for the control plane, Connect with JSON for the data plane. */

import { BoxError, type ErrorCode } from '@skillbox/protocol';

export interface E2bAddress {
  /** Of the control plane, such as https://api.e2b.app or <box>/e2b. */
  readonly apiUrl: string;
  /** One address for the data plane of all sandboxes. Default: a host for each, below the domain. */
  readonly sandboxUrl?: string | undefined;
  readonly domain: string;
  readonly key: string;
}

/** Where one sandbox is, and the token to use it. */
export interface Session {
  readonly base: string;
  readonly headers: Readonly<Record<string, string>>;
}

export type Json = Record<string, unknown>;

const requestLimitMs = 60_000;
const dataPort = 49983;
const maxMessage = 64 * 2 ** 20;

/** `allowed` statuses are no failure. */
export async function control(
  { apiUrl, key }: E2bAddress,
  method: string,
  path: string,
  body?: Json,
  allowed: readonly number[] = [],
): Promise<{ status: number; body: unknown; next: string | null }> {
  const response = await send(`${apiUrl.replace(/\/$/, '')}${path}`, {
    ...{ method, headers: { 'X-API-KEY': key, ...(body && { 'Content-Type': 'application/json' }) } },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(requestLimitMs),
  });
  const text = await response.text();
  if (!response.ok && !allowed.includes(response.status)) throw refusal(response.status, text);
  return { status: response.status, body: response.ok && text ? parse(text) : null, next: response.headers.get('x-next-token') };
}

export function sessionOf({ sandboxUrl, domain }: E2bAddress, sandbox: string, answer: Json): Session {
  const host = `https://${dataPort}-${sandbox}.${typeof answer.domain === 'string' ? answer.domain : domain}`;
  const token = answer.envdAccessToken;
  return {
    base: (sandboxUrl ?? host).replace(/\/$/, ''),
    headers: {
      ...{ 'E2b-Sandbox-Id': sandbox, 'E2b-Sandbox-Port': String(dataPort) },
      ...(typeof token === 'string' && { 'X-Access-Token': token }),
    },
  };
}

export async function unary({ base, headers }: Session, method: string, message: Json): Promise<Json> {
  const response = await send(`${base}/${method}`, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json', 'Connect-Protocol-Version': '1' },
    body: JSON.stringify(message),
    signal: AbortSignal.timeout(requestLimitMs),
  });
  const text = await response.text();
  if (!response.ok) throw refusal(response.status, text);
  return parse(text) as Json;
}

/** Ends with the stream; throws what the other side says went wrong. */
export async function* stream({ base, headers }: Session, method: string, message: Json, signal: AbortSignal): AsyncGenerator<Json> {
  const text = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(text.length, 1);
  const response = await send(`${base}/${method}`, {
    method: 'POST',
    headers: {
      ...headers,
      ...{ 'Content-Type': 'application/connect+json', 'Connect-Protocol-Version': '1', 'Keepalive-Ping-Interval': '50' },
    },
    body: Buffer.concat([head, text]),
    signal,
  });
  if (!response.ok || !response.body) throw refusal(response.status, await response.text());
  let pending: Buffer = Buffer.alloc(0);
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= 5 && pending.length >= 5 + pending.readUInt32BE(1)) {
      const length = pending.readUInt32BE(1);
      const content = parse(pending.subarray(5, 5 + length).toString('utf8')) as Json;
      const ended = (pending[0] ?? 0) & 2;
      pending = pending.subarray(5 + length);
      if (!ended) yield content;
      else if (content.error) throw rpcRefusal(content.error as Json);
      else return;
    }
    if (pending.length >= 5 && pending.readUInt32BE(1) > maxMessage) throw new BoxError('sandbox_failed', 'A message was too large.');
  }
  throw new BoxError('unavailable', 'The sandbox went away.');
}

export async function send(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (cause) {
    if (init.signal?.aborted && (init.signal.reason as Error).name === 'AbortError') throw cause;
    const why = ((cause as Error).cause as Error | undefined)?.message ?? (cause as Error).message;
    throw new BoxError('unavailable', `The E2B server at ${new URL(url).host} is not reached: ${why}`, { cause });
  }
}

export function refusal(status: number, text: string): BoxError {
  const said = parse(text) as Json;
  if (typeof said.code === 'string') return rpcRefusal(said);
  const message = typeof said.message === 'string' ? said.message : `The E2B server answered ${status}.`;
  if (status === 401 || status === 403) return new BoxError('sandbox_unavailable', `The E2B server refuses the key: ${message}`);
  return new BoxError(statuses[status] ?? 'sandbox_failed', message);
}

const statuses: Record<number, ErrorCode> = {
  400: 'bad_request',
  404: 'not_found',
  409: 'already_exists',
  429: 'unavailable',
  502: 'unavailable',
  503: 'unavailable',
  507: 'quota_exceeded',
};

function rpcRefusal({ code, message }: Json): BoxError {
  return new BoxError(codes[String(code)] ?? 'sandbox_failed', String(message ?? code));
}

const codes: Record<string, ErrorCode> = {
  invalid_argument: 'bad_request',
  permission_denied: 'bad_request',
  failed_precondition: 'bad_request',
  not_found: 'not_found',
  already_exists: 'already_exists',
  resource_exhausted: 'quota_exceeded',
  unavailable: 'unavailable',
  unauthenticated: 'sandbox_unavailable',
};

/** What is no JSON came from something in between, such as a proxy. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text || '{}');
  } catch {
    return { message: text.slice(0, 200) };
  }
}
