/**
 * Names and addresses as they may be spelled, in rules and in requests. There is one spelling for each host: what other programs
 * would read as an address (octal, hexadecimal, short forms), what is not ASCII and what ends with a dot is refused, not mended,
 * so that no two readers of one request can mean different hosts.
 */

import { isIPv4, isIPv6, SocketAddress } from 'node:net';
import { Refusal } from './refusal.ts';

export interface Host {
  /** Lower case; an address in its shortest form, without brackets. */
  readonly text: string;
  readonly isAddress: boolean;
}

const longestName = 253;
const label = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;
/** The last label of a name is never a number; parsers of addresses take it for one. */
const numeric = /^(\d+|0x[0-9a-f]*)$/;

/** Throws bad_host. Brackets belong to an IPv6 address, as in a URL. */
export function parseHost(given: string): Host {
  if (given.startsWith('[') && given.endsWith(']')) {
    const inner = given.slice(1, -1);
    if (!isIPv6(inner) || inner.includes('%')) throw badHost(given, 'is not an IPv6 address');
    return { text: new SocketAddress({ address: inner, family: 'ipv6' }).address, isAddress: true };
  }
  const text = given.toLowerCase();
  // Lower case of some letters that are not ASCII is ASCII: the given text is what must be plain.
  if (/[^\x21-\x7e]/.test(given)) throw badHost(given, 'has characters that are not ASCII, or blanks; write international names as xn--');
  if (isIPv4(text)) return { text, isAddress: true };
  if (text.endsWith('.')) throw badHost(given, 'ends with a dot');
  const labels = text.split('.');
  if (text.length > longestName || !labels.every((part) => label.test(part))) throw badHost(given, 'is not a host name');
  if (numeric.test(labels.at(-1) ?? '')) throw badHost(given, 'reads like an address in an odd spelling');
  return { text, isAddress: false };
}

export interface Authority {
  readonly host: Host;
  readonly port: number | undefined;
}

/** `host`, `host:port`, `[address]:port`; nothing before an @. Throws bad_host. */
export function parseAuthority(given: string): Authority {
  if (given.includes('@')) throw badHost(given, 'has a user name in it');
  const match = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/s.exec(given);
  if (!match) throw badHost(given, 'is not a host with a port');
  const [, host = '', port] = match;
  return { host: parseHost(host), port: port === undefined ? undefined : parsePort(port) };
}

/** Decimal digits without a sign or leading zeros, 1 to 65535. Throws bad_host. */
export function parsePort(given: string): number {
  const port = /^[1-9]\d{0,4}$/.test(given) ? Number(given) : 0;
  if (port >= 1 && port <= 65_535) return port;
  throw badHost(given, 'is not a port');
}

/** As it stands in a Host header or a URL. */
export const spellHost = ({ text }: Host): string => (text.includes(':') ? `[${text}]` : text);

function badHost(given: string, problem: string): Refusal {
  return new Refusal('bad_host', `${JSON.stringify(given.slice(0, 100))} ${problem}.`);
}
