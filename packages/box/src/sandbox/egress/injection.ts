/** Credentials that the proxy adds to requests, and the TLS that it needs for that. The values go to their host and nowhere else. */

import { BoxError, type CredentialRule, type Template } from '@skillbox/protocol';
import type { Vault } from '../../vault/vault.ts';
import type { Who } from './audit.ts';
import type { Authority } from './authority.ts';
import { fillIn, secretOf } from './credentials.ts';
import { type Host, spellHost } from './hosts.ts';
import { Refusal } from './refusal.ts';
import { type Ask, leadsTo, type Policy } from './rules.ts';
import type { Secure } from './trust.ts';

export interface Added {
  /** In place of what the inside sent under these names. Never logged, never in an answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** What the record may say of it. */
  readonly facts: Readonly<Record<string, unknown>>;
}

export interface Injection {
  /** For a request that was allowed; throws a Refusal when a secret is not there. */
  addTo(who: Who, policy: Policy, ask: Ask, scheme: 'http' | 'https'): Promise<Added>;
  /** Answers in place of hosts whose requests must be seen. */
  readonly authority: Authority;
  /** To the true host. */
  readonly secure: Secure;
}

export interface InjectionParts {
  readonly vault: Pick<Vault, 'reveal'>;
  readonly authority: Authority;
  readonly secure: Secure;
}

const nothing: Added = { headers: {}, facts: {} };

/** The value is read at each request: one that was changed or deleted is so from the next request on. */
export function createInjection({ authority, secure, vault }: InjectionParts): Injection {
  return {
    authority,
    secure,
    async addTo(who, { credentials = [] }, { host, method, port }, scheme) {
      const rules = credentials.filter((rule) => rule.scheme === scheme && rule.host === spellHost(host) && rule.port === port);
      if (rules.length === 0) return nothing;
      // Such a server answers with the request as it came.
      if (method === 'TRACE') throw new Refusal('not_allowed', `TRACE would show the credentials for ${spellHost(host)}.`);
      const pairs = await Promise.all(rules.map(async (rule) => [rule.header, fillIn(rule, await valueFor(vault, who, rule))] as const));
      return { headers: Object.fromEntries(pairs), facts: { credentials: rules.map(({ header, secret }) => ({ header, secret })) } };
    },
  };
}

async function valueFor(vault: Pick<Vault, 'reveal'>, who: Who, rule: CredentialRule): Promise<string> {
  const { tenant, name } = secretOf(rule, who.tenant);
  const value = await vault.reveal(tenant, name).catch((cause: Error) => {
    // What is wrong with the database is nothing for the inside.
    throw new Refusal('secret_missing', `The secret ${rule.secret} cannot be read now.`, { cause });
  });
  if (value !== undefined) return value;
  throw new Refusal('secret_missing', `The secret ${rule.secret}, which requests to ${rule.host} need, is not there any more.`);
}

/** Before a sandbox is made, so that its first request does not have to find out. Throws secret_missing. */
export async function requireSecrets(vault: Pick<Vault, 'has'>, tenant: string, { name, network }: Template): Promise<void> {
  const missing: string[] = [];
  for (const rule of network.credentials ?? []) {
    const owned = secretOf(rule, tenant);
    if (!(await vault.has(owned.tenant, owned.name))) missing.push(rule.secret);
  }
  if (missing.length === 0) return;
  const names = [...new Set(missing)];
  throw new BoxError('secret_missing', `The template ${name} sends secrets on that are not there: ${names.join(', ')}.`, {
    details: { missing: names },
  });
}

/** Whether requests in TLS to this host must be seen: they get a credential, or a rule bounds their methods or paths. */
export function mustSee({ credentials = [], mode, rules, tls }: Policy, host: Host, port: number): boolean {
  const leading = rules.filter((rule) => leadsTo(rule, host, port));
  if (!tls || mode !== 'allow' || leading.length === 0) return false;
  if (credentials.some((rule) => rule.scheme === 'https' && rule.host === spellHost(host) && rule.port === port)) return true;
  return leading.some((rule) => rule.methods !== undefined || rule.paths !== undefined);
}
