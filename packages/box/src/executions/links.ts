/** Signed links to artifacts: made when a record is read, good for an hour, never stored. */

import { BoxError } from '@skillbox/protocol';
import type { Secrets } from '../secrets.ts';

const lifetimeMs = 3600_000;

export function artifactsLink(secrets: Secrets, origin: string, id: string, now = Date.now()): string {
  const expires = now + lifetimeMs;
  return `${origin}/v1/executions/${id}/files.tar.gz?expires=${expires}&signature=${secrets.sign(claim(id, expires))}`;
}

/** Throws link_expired for a link that is wrong or too old; which of the two is nobody's business. */
export function checkLink(secrets: Secrets, id: string, expires: string, signature: string, now = Date.now()): void {
  const time = /^\d{10,16}$/.test(expires) ? Number(expires) : 0;
  if (time > now && secrets.verify(claim(id, time), signature)) return;
  throw new BoxError('link_expired', 'This link is not valid, or not valid any more.');
}

const claim = (id: string, expires: number): string => `artifacts:${id}:${expires}`;
