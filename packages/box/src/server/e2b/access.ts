/** Who calls: a key of the box on the control plane, a token of one sandbox on the data plane. */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { BoxError } from '@skillbox/protocol';
import type { Caller } from '../../access/caller.ts';
import type { Box } from '../../box.ts';
import type { Secrets } from '../../secrets.ts';
import { requireScope } from '../auth.ts';
import { E2bError } from './answer.ts';

export async function callerOf(box: Box, request: IncomingMessage, scope: 'sandboxes:read' | 'sandboxes:use'): Promise<Caller> {
  const key = request.headers['x-api-key'];
  const identity = typeof key === 'string' ? await box.keys.identify(key) : undefined;
  if (!identity)
    throw new BoxError('unauthorized', key ? 'This key is not valid.' : 'A key is needed.', {
      hint: 'Set E2B_API_KEY to a key of the box.',
    });
  const caller: Caller = { tenant: identity.tenant, actor: { kind: identity.actor, id: identity.id }, scopes: identity.scopes };
  requireScope(caller, scope);
  box.rate.take(caller.tenant);
  return caller;
}

/** Names the tenant too, so that the data plane finds the sandbox without asking whose it may be. */
export const tokenOf = (secrets: Secrets, tenant: string, sandbox: string): string =>
  `${tenant}.${secrets.sign(`e2b:${tenant}:${sandbox}`)}`;

/** The tenant a token speaks for, if it is this sandbox's token. */
export function tenantOfToken(secrets: Secrets, sandbox: string, token: string): string | undefined {
  const [tenant = '', signature = ''] = token.split('.', 2);
  return secrets.verify(`e2b:${tenant}:${sandbox}`, signature) ? tenant : undefined;
}

export interface SignedAddress {
  readonly path: string;
  readonly operation: 'read' | 'write';
  readonly user: string;
  readonly expiration: string | null;
  readonly signature: string;
}

/** Whether the holder of this token made the address. Expiry is a separate question. */
export function isSignedBy(token: string, { path, operation, user, expiration, signature }: SignedAddress): boolean {
  const claim = [path, operation, user, token, ...(expiration === null ? [] : [expiration])].join(':');
  const expected = Buffer.from(`v1_${createHash('sha256').update(claim).digest('base64').replace(/=+$/, '')}`);
  const given = Buffer.from(signature);
  return expected.length === given.length && timingSafeEqual(expected, given);
}

/** Programs and files belong to one user here; the SDK names a user to choose one, not to prove anything. */
export function requireKnownUser(request: IncomingMessage, query: URLSearchParams): void {
  const basic = /^Basic ([A-Za-z0-9+/=]+)$/i.exec(request.headers.authorization ?? '')?.[1];
  const named = basic ? Buffer.from(basic, 'base64').toString('utf8').split(':', 1)[0] : undefined;
  for (const user of [named, query.get('username')])
    if (user && user !== 'user') throw new E2bError(401, `There is no user ${user} in this sandbox; everything in it belongs to user.`);
}
