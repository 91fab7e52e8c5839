/** Heads of requests and answers: what they ask for, whether they are sound, and what of them travels on. */

import type { IncomingMessage } from 'node:http';
import { type Authority, parseAuthority, spellHost } from './hosts.ts';
import { internalAuthorities } from './internal.ts';
import { Refusal } from './refusal.ts';

export type Target =
  | { readonly kind: 'internal'; readonly path: string }
  | {
      readonly kind: 'http';
      readonly scheme: 'http' | 'https';
      readonly host: Authority['host'];
      readonly port: number;
      readonly path: string;
    };

/** Of one hop only (RFC 9110, 7.6.1), and what is between the client and this proxy. Expect was answered here. */
export const hopByHop: ReadonlySet<string> = new Set(
  'connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade expect http2-settings'.split(
    ' ',
  ),
);

/** Throws malformed or bad_host. */
export function targetOf(request: IncomingMessage): Target {
  const { url = '' } = request;
  const hosts = valuesOf(request, 'host');
  if (hosts.length > 1) throw new Refusal('malformed', 'There is more than one Host header.');
  if (request.httpVersionMajor !== 1) throw new Refusal('malformed', 'This proxy speaks versions 1.0 and 1.1 of HTTP.');
  checkFraming(request);
  if (url.startsWith('/')) {
    if (internalAuthorities.has((hosts[0] ?? '').toLowerCase())) return { kind: 'internal', path: url };
    throw new Refusal('malformed', 'This is a proxy: name the whole address, as in GET http://example.com/ HTTP/1.1.');
  }
  const match = /^http:\/\/([^/?#\\]*)([/?][^#\\]*)?$/i.exec(url);
  if (!match) throw new Refusal('malformed', /^https:/i.test(url) ? 'Use CONNECT for https.' : 'The target is not an http:// address.');
  const { host, port = 80 } = parseAuthority(match[1] ?? '');
  const rest = match[2] ?? '/';
  const path = rest.startsWith('/') ? rest : `/${rest}`;
  agree(hosts[0], { host, port }, 80);
  if (internalAuthorities.has(`${host.text}:${port}`) && host.text !== 'localhost' && !host.isAddress) return { kind: 'internal', path };
  return { kind: 'http', scheme: 'http', host, port, path };
}

/** Throws malformed or bad_host. */
export function tunnelOf(request: IncomingMessage): { readonly host: Authority['host']; readonly port: number } {
  const hosts = valuesOf(request, 'host');
  if (hosts.length > 1) throw new Refusal('malformed', 'There is more than one Host header.');
  const { host, port } = parseAuthority(request.url ?? '');
  if (port === undefined) throw new Refusal('malformed', 'CONNECT needs a host with a port.');
  agree(hosts[0], { host, port }, undefined);
  return { host, port };
}

/** What travels on, by the name it was given first; with these in place of its own. */
export function endToEnd(rawHeaders: readonly string[], replaced: Readonly<Record<string, string>> = {}): Record<string, string[]> {
  const named = new Set(
    pairs(rawHeaders).flatMap(([name, value]) =>
      name.toLowerCase() === 'connection' ? value.split(',').map((word) => word.trim().toLowerCase()) : [],
    ),
  );
  const replacing = new Set(Object.keys(replaced).map((name) => name.toLowerCase()));
  const kept = new Map<string, { name: string; values: string[] }>();
  for (const [name, value] of pairs(rawHeaders)) {
    const key = name.toLowerCase();
    // Connection may not name what keeps the message whole or says whom it is for.
    if (hopByHop.has(key) || replacing.has(key) || (named.has(key) && key !== 'content-length' && key !== 'host')) continue;
    const entry = kept.get(key) ?? { name, values: [] };
    entry.values.push(value);
    kept.set(key, entry);
  }
  return Object.fromEntries([
    ...[...kept.values()].map(({ name, values }) => [name, values] as const),
    ...Object.entries(replaced).map(([name, value]) => [name, [value]] as const),
  ]);
}

/** Whether a body follows, and how long it is said to be. */
export function framingOf(request: IncomingMessage): 'none' | 'length' | 'chunked' {
  if (valuesOf(request, 'transfer-encoding').length > 0) return 'chunked';
  const [length] = valuesOf(request, 'content-length');
  return length === undefined || length === '0' ? 'none' : 'length';
}

/** The parser refuses most of this; a second look costs nothing, and does not depend on its version. */
export function checkFraming(request: IncomingMessage): void {
  const lengths = valuesOf(request, 'content-length');
  const encodings = valuesOf(request, 'transfer-encoding');
  if (lengths.length > 1 || encodings.length > 1 || (lengths.length > 0 && encodings.length > 0))
    throw new Refusal('malformed', 'The length of the body is said in two ways.');
  if (encodings.some((value) => value.toLowerCase() !== 'chunked'))
    throw new Refusal('malformed', 'The only Transfer-Encoding is chunked.');
  if (lengths.some((value) => !/^\d{1,16}$/.test(value))) throw new Refusal('malformed', 'Content-Length is not a number.');
}

/** Two names for one request are a trick: the one that is checked and the one that the server obeys. */
export function agree(
  header: string | undefined,
  { host, port }: { readonly host: Authority['host']; readonly port: number },
  usual: number | undefined,
): void {
  if (header === undefined) return;
  const said = parseAuthority(header);
  const samePort = said.port === undefined ? usual === undefined || port === usual : said.port === port;
  if (said.host.text === host.text && samePort) return;
  throw new Refusal('malformed', `The Host header says ${JSON.stringify(header.slice(0, 100))}, the target ${spellHost(host)}:${port}.`);
}

export function valuesOf({ rawHeaders }: IncomingMessage, name: string): string[] {
  return pairs(rawHeaders).flatMap(([key, value]) => (key.toLowerCase() === name ? [value] : []));
}

function pairs(rawHeaders: readonly string[]): [string, string][] {
  const list: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) list.push([rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '']);
  return list;
}
