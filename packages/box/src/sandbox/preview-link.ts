/** Signed links to servers inside sandboxes: good for an hour, for one port of one sandbox. */

import { BoxError } from '@skillbox/protocol';
import type { Secrets } from '../secrets.ts';

export const previewLinkMs = 3600_000;

export function previewToken(secrets: Secrets, tenant: string, sandbox: string, port: number, expires: number): string {
  return `${expires}.${tenant}.${secrets.sign(claim(tenant, sandbox, port, expires))}`;
}

/** The tenant that the link speaks for. Throws link_expired for one that is wrong or too old; which of the two is nobody's business. */
export function checkPreviewToken(secrets: Secrets, token: string, sandbox: string, port: number, now = Date.now()): string {
  const [, expires = '', tenant = '', signature = ''] = /^(\d{10,16})\.([a-z0-9][a-z0-9_-]{0,62})\.([\w-]{20,100})$/.exec(token) ?? [];
  if (Number(expires) > now && secrets.verify(claim(tenant, sandbox, port, Number(expires)), signature)) return tenant;
  throw new BoxError('link_expired', 'This link is not valid, or not valid any more.', {
    hint: 'Make a new one: skillbox sandbox preview ID PORT.',
  });
}

const claim = (tenant: string, sandbox: string, port: number, expires: number): string => `preview:${tenant}:${sandbox}:${port}:${expires}`;
