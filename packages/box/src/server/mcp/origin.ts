/**
 * Web pages that may speak to /mcp: those of the box itself. A page elsewhere can make a name of its own lead here (DNS rebinding), so the
 * Host header proves nothing; an address written as digits cannot be led elsewhere, and neither can localhost.
 */

import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { BoxError } from '@skillbox/protocol';
import type { Config } from '../../config.ts';

export function requireOwnOrigin({ headers }: IncomingMessage, { publicUrl }: Pick<Config, 'publicUrl'>): void {
  const { origin, host } = headers;
  if (origin === undefined) return;
  if (publicUrl !== undefined && URL.canParse(publicUrl) && new URL(publicUrl).origin === origin) return;
  if (URL.canParse(origin) && new URL(origin).origin === origin) {
    const { hostname, host: asked } = new URL(origin);
    const fixed = hostname === 'localhost' || isIP(hostname.replace(/^\[(.*)\]$/, '$1')) !== 0;
    if (fixed && asked === host) return;
  }
  throw new BoxError('forbidden', 'Pages of this origin may not use the box.', {
    hint: 'Programs send no Origin header. For a page of the box itself behind a name, set SKILLBOX_PUBLIC_URL to that address.',
  });
}
