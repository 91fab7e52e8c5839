/** Heads of HTTP messages that are passed on: what belongs to one connection stays with it. */

import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import type { Box } from '../box.ts';

const hopByHop = [
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'http2-settings', 'expect'],
];

export function withoutHops(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const named = String(headers.connection ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase());
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !hopByHop.includes(name) && !named.includes(name)));
}

export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}

/** Where links in an answer start. */
export function originOf({ config }: Box, request: IncomingMessage): string {
  if (config.publicUrl !== undefined) return config.publicUrl.replace(/\/$/, '');
  const host = request.headers.host ?? '';
  return /^[\w.:[\]-]{1,255}$/.test(host) ? `http://${host}` : '';
}
