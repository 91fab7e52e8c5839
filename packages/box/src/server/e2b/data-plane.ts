/** Requests to one sandbox: which one, whether the caller may, whether it is there. */

import type { IncomingMessage } from 'node:http';
import { BoxError, type Sandbox } from '@skillbox/protocol';
import type { Box } from '../../box.ts';
import { isSignedBy, type SignedAddress, tenantOfToken, tokenOf } from './access.ts';
import { E2bError, noContent } from './answer.ts';
import { rpcFailure, serveRpc } from './rpc.ts';
import { serveFiles } from './transfer.ts';
import type { Use } from './use.ts';

export interface DataRequest {
  readonly box: Box;
  readonly method: string;
  readonly path: string;
  /** As the header or the host name says. */
  readonly sandbox: string | undefined;
  readonly request: IncomingMessage;
  readonly query: URLSearchParams;
  readonly signal: AbortSignal;
}

export async function answerData(data: DataRequest): Promise<Response> {
  const { box, method, path, request, signal } = data;
  const { tenant, id } = await whose(data);
  const known = await box.sandboxes.get(tenant, id).catch(goneFor(id));
  if (known.state !== 'ready' && !isAsleep(known)) throw gone(id);
  if (path === '/health') return noContent();
  try {
    box.rate.take(tenant);
  } catch (error) {
    if (path === '/files') throw error;
    return rpcFailure(error, request, box.log);
  }
  const { done, handle, sandbox } = await box.sandboxes.use(tenant, id).catch(goneFor(id));
  const use: Use = { box, done: once(done), handle, sandbox, signal };
  try {
    if (path === '/files') return await serveFiles(use, method, request, data.query);
    return await serveRpc(use, path, request);
  } catch (error) {
    use.done();
    throw error;
  }
}

/** Which sandbox, and the tenant that the token or the signature speaks for. */
export async function whose(data: Omit<DataRequest, 'signal'>): Promise<{ tenant: string; id: string }> {
  const { box, path, query, request, sandbox } = data;
  const token = request.headers['x-access-token'];
  if (typeof token === 'string' && sandbox) {
    const tenant = tenantOfToken(box.secrets, sandbox, token);
    if (tenant === undefined) throw new E2bError(401, 'The access token is not of this sandbox.');
    return { tenant, id: sandbox };
  }
  const signature = query.get('signature');
  if (path !== '/files' || signature === null) throw new E2bError(401, 'An access token or a signature is needed.');
  const address: SignedAddress = {
    path: query.get('path') ?? '',
    operation: data.method === 'GET' ? 'read' : 'write',
    user: query.get('username') ?? '',
    expiration: query.get('signature_expiration'),
    signature,
  };
  if (address.expiration !== null && !(Number(address.expiration) > Date.now() / 1000))
    throw new E2bError(401, 'The signature has expired.');
  const signer = await signerOf(box, address, sandbox);
  if (!signer) throw new E2bError(401, 'The signature is not valid.');
  return signer;
}

/** A signed address names no sandbox: the one whose token made the signature is meant. */
async function signerOf(
  box: Box,
  address: SignedAddress,
  sandbox: string | undefined,
): Promise<{ tenant: string; id: string } | undefined> {
  if (!/^v1_[A-Za-z0-9+/]{43}$/.test(address.signature)) return undefined;
  let cursor: string | undefined;
  do {
    const page = await box.sandboxes.list({ states: ['ready', 'paused'], limit: 200, ...(cursor && { cursor }) });
    const candidates = sandbox ? page.items.filter(({ id }) => id === sandbox) : page.items;
    const signer = candidates.find(({ tenant, id }) => isSignedBy(tokenOf(box.secrets, tenant, id), address));
    if (signer) return signer;
    cursor = page.next_cursor ?? undefined;
  } while (cursor);
  return undefined;
}

/**
 * Using would wake any; this protocol wants what was paused on purpose to stay so until somebody connects. What the box
 * itself put away while nobody used it is woken: in this protocol there is no such thing, and nobody would know to connect.
 */
const isAsleep = ({ state, pause_cause }: Sandbox): boolean => state === 'paused' && pause_cause === 'idle';

const gone = (id: string): E2bError => new E2bError(502, `The sandbox ${id} is not running.`);

const goneFor =
  (id: string) =>
  (error: unknown): never => {
    throw error instanceof BoxError && error.code === 'not_found' ? gone(id) : error;
  };

function once(action: () => void): () => void {
  let called = false;
  return () => {
    if (called) return;
    called = true;
    action();
  };
}
