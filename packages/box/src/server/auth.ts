/** Who is calling: from the key, never from what a request says about itself. */

import type { IncomingMessage } from 'node:http';
import { BoxError, type Scope, tenantPattern } from '@skillbox/protocol';
import type { Caller } from '../access/caller.ts';
import type { Box } from '../box.ts';
import { insiderOf } from './insiders.ts';

export const nobody: Caller = { tenant: '', actor: { kind: 'atm', id: 'anonymous' }, scopes: [] };

export async function authenticate(box: Box, request: IncomingMessage): Promise<Caller> {
  // The channel said who it is; no header of the request does.
  const insider = insiderOf(request);
  if (insider) return insider;
  const key = /^Bearer ([^\s]+)$/i.exec(request.headers.authorization ?? '')?.[1];
  const identity = key ? await box.keys.identify(key) : undefined;
  if (!identity) throw new BoxError('unauthorized', key ? 'This key is not valid.' : 'A key is needed.');
  const asked = request.headers['x-tenant-id'];
  return {
    tenant: actingTenant(identity.tenant, typeof asked === 'string' ? asked : undefined, identity.scopes.includes('admin')),
    actor: { kind: identity.actor, id: identity.id },
    scopes: identity.scopes,
  };
}

export function requireScope(caller: Caller, scope: Scope | 'any'): void {
  if (scope === 'any' || caller.scopes.includes(scope) || caller.scopes.includes('admin')) return;
  if (caller.inside !== undefined)
    throw new BoxError('forbidden', `The workspace may only read here: this needs ${scope}.`, {
      hint: 'Run it on the machine of the box, or let its operator grant graph: workspace.network.internal in skillbox.yaml.',
    });
  throw new BoxError('forbidden', `This key lacks the scope ${scope}.`);
}

/** Administrators may act for any tenant; everybody else is who the key says. */
function actingTenant(own: string, asked: string | undefined, admin: boolean): string {
  if (asked === undefined || asked === '' || asked === own) return own;
  if (!admin) throw new BoxError('tenant_mismatch', 'X-Tenant-ID names another tenant than the key.');
  if (!tenantPattern.test(asked)) throw new BoxError('bad_request', 'X-Tenant-ID is not the name of a tenant.');
  return asked;
}
