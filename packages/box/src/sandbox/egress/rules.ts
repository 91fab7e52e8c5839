/** What `network.allow` says: which hosts and ports, and for plain HTTP which methods and paths. docs/network.md has the table. */

import type { CredentialRule, EgressRule as GivenRule } from '@skillbox/protocol';
import { type Host, parseAuthority, parseHost, spellHost } from './hosts.ts';
import { Refusal } from './refusal.ts';

export interface Rule {
  /** As people read it, for the audit record. */
  readonly text: string;
  /** any: every name, but no address. suffix: names below it, not it itself. */
  readonly host: { readonly kind: 'any' } | { readonly kind: 'exact' | 'suffix' | 'address'; readonly text: string };
  readonly ports: readonly number[];
  readonly methods: readonly string[] | undefined;
  /** Whole paths, or beginnings that end with *. */
  readonly paths: readonly string[] | undefined;
}

export interface Policy {
  readonly mode: 'none' | 'allow';
  readonly rules: readonly Rule[];
  /** What the proxy adds for which host. */
  readonly credentials?: readonly CredentialRule[];
  /** Requests in TLS are seen where they get a credential, or where a rule bounds methods or paths. */
  readonly tls?: boolean;
  /** Services at box.internal that it has; without a word the one that tells about its network. */
  readonly internal?: readonly string[];
}

/** What somebody wants to do. `path` without the query; undefined when it cannot be seen: a tunnel. */
export interface Ask {
  readonly method: string;
  readonly host: Host;
  readonly port: number;
  readonly path: string | undefined;
}

const webPorts = [80, 443] as const;

/** Throws a Refusal whose message says what is wrong with it. */
export function parseRule(given: GivenRule): Rule {
  const { host, ports, methods, paths } = typeof given === 'string' ? splitPort(given) : given;
  for (const path of paths ?? []) checkPattern(path);
  return {
    text: describe(host, ports, methods, paths),
    host: parsePattern(host),
    ports: ports ?? webPorts,
    methods: methods?.map((method) => method.toUpperCase()),
    paths,
  };
}

export const parsePolicy = (mode: Policy['mode'], allow: readonly GivenRule[]): Policy => ({ mode, rules: allow.map(parseRule) });

/** The rule that allows it, or a Refusal. */
export function decide({ mode, rules }: Policy, ask: Ask): Rule {
  if (mode === 'none') throw new Refusal('network_off', 'The network of this sandbox is off.');
  const rule = rules.find((candidate) => matches(candidate, ask));
  if (rule) return rule;
  const what = `${ask.method} ${spellHost(ask.host)}:${ask.port}${ask.path ?? ''}`;
  throw new Refusal('not_allowed', `No rule of this sandbox's network allows ${what}.`);
}

/** Whether everything that `wanted` allows is allowed by `bound` too. */
export function covers(bound: Rule, wanted: Rule): boolean {
  return (
    coversHost(bound.host, wanted.host) &&
    wanted.ports.every((port) => bound.ports.includes(port)) &&
    (bound.methods === undefined || (wanted.methods?.every((method) => bound.methods?.includes(method)) ?? false)) &&
    (bound.paths === undefined || (wanted.paths?.every((path) => bound.paths?.some((pattern) => coversPath(pattern, path))) ?? false))
  );
}

/** Whatever the method and path are. */
export const leadsTo = (rule: Rule, host: Host, port: number): boolean => matchesHost(rule.host, host) && rule.ports.includes(port);

function matches(rule: Rule, ask: Ask): boolean {
  if (!leadsTo(rule, ask.host, ask.port)) return false;
  // What goes through a tunnel cannot be seen, so what must be seen cannot go through one.
  if (ask.path === undefined) return rule.methods === undefined && rule.paths === undefined;
  if (rule.methods && !rule.methods.includes(ask.method)) return false;
  if (!rule.paths) return true;
  const { path } = ask;
  return isPlainPath(path) && rule.paths.some((pattern) => matchesPath(pattern, path));
}

function matchesHost(pattern: Rule['host'], host: Host): boolean {
  if (pattern.kind === 'address') return host.isAddress && host.text === pattern.text;
  if (host.isAddress) return false;
  if (pattern.kind === 'any') return true;
  return pattern.kind === 'exact' ? host.text === pattern.text : host.text.endsWith(`.${pattern.text}`);
}

const matchesPath = (pattern: string, path: string): boolean =>
  pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern;

/** Servers disagree on these: dots that lead up, encoded slashes and dots, backslashes, doubled slashes. A rule on paths takes none. */
export function isPlainPath(path: string): boolean {
  if (!path.startsWith('/') || /\\|%2e|%2f|%5c|%00|\/\/|[^\x21-\x7e]/i.test(path)) return false;
  return !path.split('/').some((part) => /^\.\.?(;|$)/.test(part));
}

function coversHost(bound: Rule['host'], wanted: Rule['host']): boolean {
  if (bound.kind === 'any') return wanted.kind !== 'address';
  if (wanted.kind === 'any') return false;
  if (bound.kind !== 'suffix') return bound.kind === wanted.kind && bound.text === wanted.text;
  if (wanted.kind === 'address') return false;
  return wanted.text.endsWith(`.${bound.text}`) || (wanted.kind === 'suffix' && wanted.text === bound.text);
}

function coversPath(bound: string, wanted: string): boolean {
  if (!bound.endsWith('*')) return bound === wanted;
  return wanted.replace(/\*$/, '').startsWith(bound.slice(0, -1));
}

function splitPort(text: string): Exclude<GivenRule, string> {
  const at = /^(.*[^:\]]|.*\]):(\d+)$/s.exec(text);
  if (!at) return { host: text };
  const [, host = '', port = ''] = at;
  // The star is no host name; the rest of the authority is checked as any other.
  return { host, ports: [parseAuthority(`x:${port}`).port ?? 0] };
}

function parsePattern(text: string): Rule['host'] {
  if (text === '*') return { kind: 'any' };
  if (text.startsWith('*.')) {
    const { text: suffix, isAddress } = parseHost(text.slice(2));
    if (isAddress) throw new Refusal('bad_host', `${JSON.stringify(text)} is no suffix of names.`);
    return { kind: 'suffix', text: suffix };
  }
  if (text.includes('*')) throw new Refusal('bad_host', `${JSON.stringify(text)}: a star stands alone, or first, as in *.example.com.`);
  const { text: host, isAddress } = parseHost(text);
  return { kind: isAddress ? 'address' : 'exact', text: host };
}

function checkPattern(path: string): void {
  const plain = path.replace(/\*$/, '');
  if (!plain.includes('*') && !/[?#]/.test(plain) && isPlainPath(plain)) return;
  throw new Refusal('malformed', `${JSON.stringify(path)}: a path starts with /, has no query, and a star only at its end.`);
}

function describe(host: string, ports?: readonly number[], methods?: readonly string[], paths?: readonly string[]): string {
  return [methods?.join(','), ports ? `${host}:${ports.join(',')}` : host, paths?.join(',')].filter(Boolean).join(' ');
}
