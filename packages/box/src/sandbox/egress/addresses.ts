/**
 * Which addresses the proxy may connect to. Names are resolved once, every answer is judged, and the connection goes to an address
 * that was judged: whoever changes a name's answer afterwards changes nothing.
 */

import { isIPv4, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { BoxError } from '@skillbox/protocol';
import { type Host, parseAuthority } from './hosts.ts';
import { Refusal } from './refusal.ts';

export type AddressKind = 'public' | 'loopback' | 'private' | 'link-local' | 'metadata' | 'multicast' | 'unspecified' | 'reserved';

/** The narrowest come first. Ranges for documentation are not here: nothing is gained by refusing them, and some networks use them. */
const ranges4: readonly [string, AddressKind][] = [
  ['169.254.169.254/32', 'metadata'],
  ['169.254.170.2/32', 'metadata'],
  ['100.100.100.200/32', 'metadata'],
  ['168.63.129.16/32', 'metadata'],
  ['192.0.0.192/32', 'metadata'],
  ['0.0.0.0/8', 'unspecified'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'private'],
  ['127.0.0.0/8', 'loopback'],
  ['169.254.0.0/16', 'link-local'],
  ['172.16.0.0/12', 'private'],
  ['192.0.0.0/24', 'reserved'],
  ['192.88.99.0/24', 'reserved'],
  ['192.168.0.0/16', 'private'],
  ['198.18.0.0/15', 'private'],
  ['224.0.0.0/4', 'multicast'],
  ['240.0.0.0/4', 'reserved'],
];
const ranges6: readonly [string, AddressKind][] = [
  ['fd00:ec2::254/128', 'metadata'],
  ['fd20:ce::254/128', 'metadata'],
  ['::/128', 'unspecified'],
  ['::1/128', 'loopback'],
  ['64:ff9b:1::/48', 'private'],
  ['100::/64', 'reserved'],
  ['2001::/32', 'reserved'],
  ['fc00::/7', 'private'],
  ['fe80::/10', 'link-local'],
  ['fec0::/10', 'private'],
  ['ff00::/8', 'multicast'],
];
/** IPv6 addresses that stand for an IPv4 one, and where in them it is: mapped, translated, compatible, NAT64, 6to4. */
const embedded: readonly [string, number][] = [
  ['::ffff:0:0/96', 12],
  ['::ffff:0:0:0/96', 12],
  ['64:ff9b::/96', 12],
  ['2002::/16', 2],
  ['::/96', 12],
];

interface Range {
  readonly bytes: Uint8Array;
  readonly bits: number;
}

const table4 = ranges4.map(([text, kind]) => ({ ...parseRange(text), kind }));
const table6 = ranges6.map(([text, kind]) => ({ ...parseRange(text), kind }));
const embeddings = embedded.map(([text, offset]) => ({ ...parseRange(text), offset }));

export function kindOf(address: string): AddressKind {
  const bytes = plainBytes(address);
  const table = bytes.length === 4 ? table4 : table6;
  const known = table.find((range) => isIn(bytes, range));
  if (known) return known.kind;
  const inner = embeddings.find((range) => isIn(bytes, range));
  return inner ? kindOf([...bytes.subarray(inner.offset, inner.offset + 4)].join('.')) : 'public';
}

/** Addresses that rules may reach although they are private, as the operator of the host says. */
export interface PrivateHost {
  readonly host?: string;
  readonly range?: Range;
  readonly port: number | undefined;
}

/** `10.1.2.0/24`, `db.internal`, `127.0.0.1:9000`, with commas between them. */
export function parsePrivateHosts(text: string): PrivateHost[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      try {
        if (part.includes('/')) return { range: parseRange(part), port: undefined };
        const { host, port } = parseAuthority(part);
        return { host: host.text, port, ...(host.isAddress && { range: parseRange(host.text) }) };
      } catch (cause) {
        throw new BoxError('config_invalid', `SKILLBOX_EGRESS_PRIVATE is not usable: ${(cause as Error).message}`, { cause });
      }
    });
}

export interface AddressGuard {
  /** Throws private_address for one that must not be reached, whatever the rules say. */
  check(host: Host, address: string, port: number): void;
}

export interface GuardOptions {
  readonly privateHosts: readonly PrivateHost[];
  /** Where the box itself and its parts listen on this machine. */
  ownPorts(): ReadonlySet<number>;
  /** Of this machine. Given in tests. */
  ownAddresses?(): readonly string[];
}

/** Nothing an operator lists opens these: no service of theirs can be meant. */
const never: readonly AddressKind[] = ['metadata', 'multicast', 'unspecified', 'reserved'];

export function createGuard({ privateHosts, ownPorts, ownAddresses = interfaceAddresses }: GuardOptions): AddressGuard {
  return {
    check(host, address, port) {
      const kind = kindOf(address);
      const bytes = plainBytes(address);
      // An address of this machine that is public is guarded from outside, perhaps, but not from here.
      const own = kind === 'loopback' || ownAddresses().some((one) => sameBytes(plainBytes(one), bytes));
      if (kind === 'public' && !own) return;
      const what = `${host.text} is at ${address}, which is ${own && kind === 'public' ? 'this machine' : `a ${kind} address`}`;
      if (never.includes(kind)) throw new Refusal('private_address', `${what}: no sandbox reaches it.`);
      const listed = privateHosts.filter(
        (entry) => (entry.range ? isIn(bytes, entry.range) : entry.host === host.text) && (entry.port === undefined || entry.port === port),
      );
      if (listed.length === 0) throw new Refusal('private_address', `${what}.`);
      if (!own || !ownPorts().has(port) || listed.some((entry) => entry.port === port)) return;
      throw new Refusal('private_address', `${what}, and port ${port} is the box's own.`);
    },
  };
}

function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
}

function parseRange(text: string): Range {
  const [address = '', length] = text.split('/');
  const bytes = bytesOf(address);
  const bits = length === undefined ? bytes.length * 8 : /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN;
  if (bits <= bytes.length * 8) return { bytes, bits };
  throw new Refusal('bad_host', `${JSON.stringify(text)} is not a range of addresses such as 10.0.0.0/8.`);
}

function isIn(bytes: Uint8Array, range: Range): boolean {
  if (bytes.length !== range.bytes.length) return false;
  for (let bit = 0; bit < range.bits; bit += 1) {
    const mask = 0x80 >> (bit % 8);
    if (((bytes[bit >> 3] ?? 0) & mask) !== ((range.bytes[bit >> 3] ?? 0) & mask)) return false;
  }
  return true;
}

const sameBytes = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0;

/** A mapped IPv4 address is that address to the kernel. */
function plainBytes(address: string): Uint8Array {
  const bytes = bytesOf(address);
  const mapped = bytes.length === 16 && bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff;
  return mapped ? bytes.subarray(12) : bytes;
}

function bytesOf(address: string): Uint8Array {
  if (isIPv4(address)) return Uint8Array.from(address.split('.'), Number);
  const text = address.replace(/%.*$/, '');
  if (!isIPv6(text)) throw new Refusal('bad_host', `${JSON.stringify(address)} is not an address.`);
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text);
  const pair = (high: string | undefined, low: string | undefined): string => (Number(high) * 256 + Number(low)).toString(16);
  const groups = dotted ? `${dotted[1]}${pair(dotted[2], dotted[3])}:${pair(dotted[4], dotted[5])}` : text;
  const [head = '', tail] = groups.split('::');
  const words = (part: string): number[] => (part === '' ? [] : part.split(':').map((word) => Number.parseInt(word, 16)));
  const first = words(head);
  const last = tail === undefined ? [] : words(tail);
  const all = [...first, ...Array.from({ length: 8 - first.length - last.length }, () => 0), ...last];
  return Uint8Array.from(all.flatMap((word) => [word >> 8, word & 0xff]));
}
