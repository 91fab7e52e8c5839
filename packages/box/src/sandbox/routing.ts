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

interface Problem {
  readonly reason: string;
  /** What mends it. */
  readonly hint?: string | undefined;
}

interface Verdict extends Partial<Problem> {
  readonly name: string;
  readonly provider?: LivingProvider;
  /** Nothing that the operator does would change it. */
  readonly never: boolean;
}

/** Providers that are there only when they are configured. */
const howToHave: ReadonlyMap<string, string> = new Map([
  ['docker', 'Set SKILLBOX_DOCKER_HOST to the engine of this machine, such as unix:///var/run/docker.sock.'],
  ['ssh', 'Set SKILLBOX_SSH_HOSTS to a file that names the machines.'],
  ['compose-ssh', 'Set SKILLBOX_SSH_HOSTS to a file that names the machines.'],
  ['e2b', 'Set SKILLBOX_E2B_API_KEY.'],
]);

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

  const problemOf = async (provider: LivingProvider, room: Capacity['look']): Promise<Problem | undefined> => {
    const { healthy, detail, hint } = await recentHealth(provider);
    if (!healthy) return { reason: `it is not healthy: ${detail}`, hint };
    const full = provider.location === 'here' ? await room() : undefined;
    return full === undefined ? undefined : { reason: full };
  };

  const judge = async (wanted: Wanted, room: Capacity['look']) => {
    const verdicts: Verdict[] = [];
    for (const name of inOrder(wanted.template)) {
      const provider = providers.get(name);
      if (!provider) {
        verdicts.push({ name, reason: 'this host has no such provider', hint: howToHave.get(name), never: false });
        continue;
      }
      const lack = lackOf(provider, wanted);
      const problem = lack === undefined ? await problemOf(provider, room) : { reason: lack };
      verdicts.push({ name, provider, never: lack !== undefined, ...problem });
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
        verdicts.find(({ hint }) => hint !== undefined)?.hint,
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

/** `hint`: what would have made the best of them fit. */
export function nobody(template: Template, route: Route, never: boolean, hint?: string): BoxError {
  const reasons = route.map(({ provider, reason }) => `${provider}: ${reason}`).join('; ');
  const message = `No provider can make a sandbox of template ${template.name}@${template.version}. ${reasons}.`;
  return new BoxError(never ? 'capability_missing' : 'no_provider', message, { details: { route }, ...(hint !== undefined && { hint }) });
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
