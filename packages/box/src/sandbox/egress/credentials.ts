/** `network.credentials` of a template: which header the proxy adds for which host, from which secret. docs/secrets.md explains it. */

import { type CredentialRule, secretNamePattern } from '@skillbox/protocol';
import { z } from 'zod';
import { hopByHop } from './heads.ts';
import { parseHost, spellHost } from './hosts.ts';
import { covers, parseRule, type Rule } from './rules.ts';

/** Where the value of the secret goes. */
const placeholder = '${secret}';
/** Secrets of the box's operator, for templates that say so: those of this tenant. */
const operatorTenant = 'default';
const usualPort = { http: 80, https: 443 } as const;
/** They frame the message or say whom it is for. */
const untouchable = new Set([...hopByHop, 'host', 'content-length', 'via', 'forwarded']);

const visible = /^[\x20-\x7e]+$/;

/** As people write it. */
export const credentialDefinition = z.strictObject({
  host: z.string().min(1).max(300).describe('The one host that gets it, covered by the list; no star'),
  scheme: z.enum(['https', 'http']).optional().describe('https needs network.tls. Default: https'),
  port: z.number().int().min(1).max(65_535).optional().describe('Default: that of the scheme'),
  header: z
    .string()
    .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, 'a name of a header, such as Authorization')
    .describe('The header; what the inside sends under this name is replaced'),
  value: z.string().max(1000).regex(visible, 'printable ASCII').optional().describe('Text with ${secret} in it. Default: ${secret}'),
  secret: z
    .string()
    .refine((text) => secretNamePattern.test(text.replace(`${operatorTenant}/`, '')), 'a name such as TOKEN, or default/TOKEN')
    .describe('Secret of the tenant whose sandbox it is; default/NAME is one of the operator'),
});
type CredentialDefinition = z.output<typeof credentialDefinition>;

export const toCredential = ({ host, scheme = 'https', port, header, value, secret }: CredentialDefinition): CredentialRule => ({
  ...{ host: spelled(host), scheme, port: port ?? usualPort[scheme], header, value: value ?? placeholder, secret },
});

interface Network {
  readonly mode?: string | undefined;
  readonly allow?: readonly Parameters<typeof parseRule>[0][] | undefined;
  readonly credentials?: readonly CredentialDefinition[] | undefined;
  readonly tls?: boolean | undefined;
}

/** What the schema cannot say; for a list whose own rules are sound. */
export function credentialProblems({ mode, allow = [], credentials = [], tls }: Network): { path: string[]; message: string }[] {
  const problems: { path: string[]; message: string }[] = [];
  if (tls && mode !== 'allow') problems.push({ path: ['tls'], message: 'there is no TLS to look into without mode: allow' });
  const seen = new Set<string>();
  for (const [index, given] of credentials.entries()) {
    const wrong = (field: string, message: string): number => problems.push({ path: ['credentials', String(index), field], message });
    const rule = toCredential(given);
    if (mode !== 'allow') wrong('host', 'credentials need mode: allow');
    else if (rule.host.includes('*')) wrong('host', 'one host, without a star');
    else if (!isCovered(rule, allow)) wrong('host', `network.allow does not let ${rule.host}:${rule.port} through`);
    if (rule.scheme === 'https' && !tls) wrong('scheme', 'https needs tls: true, so that the box sees the request');
    if (untouchable.has(rule.header.toLowerCase())) wrong('header', 'this header belongs to the connection, not to the request');
    if (!rule.value.includes(placeholder)) wrong('value', `the text needs ${placeholder} in it`);
    const key = [rule.scheme, rule.host, rule.port, rule.header.toLowerCase()].join(' ');
    if (seen.has(key)) wrong('header', 'another rule sets the same header for the same host');
    seen.add(key);
  }
  return problems;
}

/** Whose secret it is and what it is called. */
export function secretOf({ secret }: CredentialRule, tenant: string): { readonly tenant: string; readonly name: string } {
  const [first = '', second] = secret.split('/');
  return second === undefined ? { tenant, name: first } : { tenant: operatorTenant, name: second };
}

export const fillIn = ({ value }: CredentialRule, secret: string): string => value.replaceAll(placeholder, () => secret);

/** What is not a host stays as it is, and is reported as not covered. */
function spelled(host: string): string {
  try {
    return spellHost(parseHost(host));
  } catch {
    // Reported by whoever checks the list.
    return host;
  }
}

/** Methods and paths of the list bound which requests there are, not who gets the credential. */
function isCovered({ host, port }: CredentialRule, allow: Network['allow'] = []): boolean {
  try {
    parseHost(host);
    const wanted = parseRule({ host, ports: [port] });
    return allow.some((bound) => covers(withoutPaths(parseRule(bound)), wanted));
  } catch {
    // Not a host, or a rule of the list that is reported by itself.
    return false;
  }
}

const withoutPaths = (rule: Rule): Rule => ({ ...rule, methods: undefined, paths: undefined });
