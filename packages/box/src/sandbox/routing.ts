/**
 * Which provider makes a sandbox. The template's candidates are asked one by one, what is self-hosted before what is paid for, the
 * cheaper first; each is taken or passed over for a reason that is kept.
 */

import { BoxError, type Sandbox, type Template } from '@skillbox/protocol';
import type { Capacity } from './capacity.ts';
import type { Capability, LivingProvider, NetworkMode } from './living.ts';

export type Route = Sandbox['route'];
export type Providers = ReadonlyMap<string, LivingProvider>;

export interface Wanted {
  readonly template: Template;
  readonly capabilities: readonly Capability[];
  /** Administrators may use providers that hold nothing back. */
  readonly trusted: boolean;
  readonly network: NetworkMode;
  /** Only there: a snapshot cannot be used elsewhere. */
  readonly only?: string;
}

export interface Candidates {
  readonly providers: readonly LivingProvider[];
  /** Why the others were passed over. */
  readonly route: Route;
}

export interface Router {
  /**
   * Throws when none is left: capability_missing when no candidate could ever do it, no_provider when one might later. Room on
   * this machine is kept for the sandbox until it is released.
   */
  find(wanted: Wanted, sandbox: string): Promise<Candidates>;
  release(sandbox: string): void;
  /** What `find` would do, as a route: the first that fits is the one that is taken. */
  explain(wanted: Wanted): Promise<Route>;
  /** Its health is asked anew: it failed just now. */
  doubt(provider: LivingProvider): void;
}

export interface RouterOptions {
  readonly providers: Providers;
  readonly capacity: Capacity;
  /** What an hour at a provider costs the operator. */
  readonly prices: ReadonlyMap<string, number>;
}

type Health = Awaited<ReturnType<LivingProvider['health']>>;

/** A create does not wait for a question that was answered a moment ago. */
const healthForMs = 2000;

export function createRouter({ providers, capacity, prices }: RouterOptions): Router {
  const known = new Map<LivingProvider, { readonly at: number; readonly health: Promise<Health> }>();

  const recentHealth = (provider: LivingProvider): Promise<Health> => {
    const recent = known.get(provider);
    if (recent && performance.now() - recent.at < healthForMs) return recent.health;
    const health = healthOf(provider);
    known.set(provider, { at: performance.now(), health });
    return health;
  };

  const costOf = (name: string): number => prices.get(name) ?? (providers.get(name)?.location === 'metered' ? Number.MAX_VALUE : 0);
  /** Those that cost the same stay as the template has them. */
  const inOrder = (template: Template): string[] => [...template.providers].sort((one, other) => costOf(one) - costOf(other));

  const problemOf = async (provider: LivingProvider, room: Capacity['look']): Promise<string | undefined> => {
    const { healthy, detail } = await recentHealth(provider);
    if (!healthy) return `it is not healthy: ${detail}`;
    return provider.location === 'here' ? room() : undefined;
  };

  const judge = async (wanted: Wanted, room: Capacity['look']) => {
    const verdicts: { readonly name: string; readonly provider?: LivingProvider; readonly reason?: string; readonly never: boolean }[] = [];
    for (const name of inOrder(wanted.template)) {
      const provider = providers.get(name);
      if (!provider) {
        verdicts.push({ name, reason: 'this host has no such provider', never: false });
        continue;
      }
      const lack = lackOf(provider, wanted);
      const reason = lack ?? (await problemOf(provider, room));
      verdicts.push({ name, provider, never: lack !== undefined, ...(reason !== undefined && { reason }) });
    }
    return verdicts;
  };

  return {
    async find(wanted, sandbox) {
      const verdicts = await judge(wanted, () => capacity.take(sandbox));
      const route = verdicts.flatMap(({ name, reason }) => (reason === undefined ? [] : [{ provider: name, taken: false, reason }]));
      const fit = verdicts.flatMap(({ provider, reason }) => (provider && reason === undefined ? [provider] : []));
      if (fit.length > 0) return { providers: fit, route };
      throw nobody(
        wanted.template,
        route,
        verdicts.every(({ never }) => never),
      );
    },

    release: (sandbox) => capacity.release(sandbox),

    async explain(wanted) {
      const verdicts = await judge(wanted, () => capacity.look());
      const first = verdicts.find(({ reason }) => reason === undefined);
      return verdicts.map((verdict) => {
        const taken = verdict === first;
        const price = prices.get(verdict.name);
        const paid = price === undefined || price === 0 ? '' : `, at ${price} an hour`;
        return {
          provider: verdict.name,
          taken,
          reason: verdict.reason ?? `${taken ? 'the first that can' : 'tried when those before it fail'}${paid}`,
        };
      });
    },

    doubt: (provider) => void known.delete(provider),
  };
}

/** `e2b=0.12,other=1`, as the setting's schema has it. */
export function parsePrices(text: string): Map<string, number> {
  return new Map([...text.matchAll(/([a-z0-9-]+)=([\d.]+)/g)].map(([, name = '', price]) => [name, Number(price)]));
}

export function nobody(template: Template, route: Route, never: boolean): BoxError {
  const reasons = route.map(({ provider, reason }) => `${provider}: ${reason}`).join('; ');
  const message = `No provider can make a sandbox of template ${template.name}@${template.version}. ${reasons}.`;
  return new BoxError(never ? 'capability_missing' : 'no_provider', message, { details: { route } });
}

function lackOf(provider: LivingProvider, { network, capabilities, trusted, only }: Wanted): string | undefined {
  if (only !== undefined && provider.name !== only) return `the snapshot is one of ${only}`;
  if (provider.tier === 'trusted' && !trusted) return 'what runs there is not held back, so it is for administrators';
  if (!provider.networks.has(network)) return `it has no network mode ${network}`;
  const missing = capabilities.filter((capability) => !provider.capabilities.has(capability));
  return missing.length > 0 ? `it lacks ${missing.join(', ')}` : undefined;
}

export async function healthOf(provider: LivingProvider): Promise<Health> {
  try {
    return await provider.health();
  } catch (error) {
    return { healthy: false, detail: `its health could not be read: ${(error as Error).message}` };
  }
}
