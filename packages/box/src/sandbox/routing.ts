/** Which provider makes a sandbox: the template's candidates in order, each taken or passed over for a reason that is kept. */

import { BoxError, type Sandbox, type Template } from '@skillbox/protocol';
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

/** Throws when none is left: capability_missing when no candidate could ever do it, no_provider when one might later. */
export async function findCandidates(providers: Providers, wanted: Wanted): Promise<Candidates> {
  const fit: LivingProvider[] = [];
  const route: Route = [];
  let never = true;
  for (const name of wanted.template.providers) {
    const provider = providers.get(name);
    if (!provider) {
      never = false;
      route.push({ provider: name, taken: false, reason: 'this host has no such provider' });
      continue;
    }
    const lack = lackOf(provider, wanted);
    if (lack) {
      route.push({ provider: name, taken: false, reason: lack });
      continue;
    }
    never = false;
    const problem = await problemOf(provider);
    if (problem) route.push({ provider: name, taken: false, reason: problem });
    else fit.push(provider);
  }
  if (fit.length > 0) return { providers: fit, route };
  throw nobody(wanted.template, route, never);
}

/** What findCandidates would do, as a route: the first that fits is the one that is taken. */
export async function explainRoute(providers: Providers, wanted: Wanted): Promise<Route> {
  const route: Route = [];
  for (const name of wanted.template.providers) {
    const only = { ...wanted, template: { ...wanted.template, providers: [name] } };
    try {
      await findCandidates(providers, only);
      const taken = !route.some((candidate) => candidate.taken);
      route.push({ provider: name, taken, reason: taken ? 'the first that can' : 'tried when those before it fail' });
    } catch (error) {
      if (!(error instanceof BoxError)) throw error;
      route.push(...(error.details as { route: Route }).route);
    }
  }
  return route;
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

async function problemOf(provider: LivingProvider): Promise<string | undefined> {
  const { healthy, detail } = await healthOf(provider);
  return healthy ? undefined : `it is not healthy: ${detail}`;
}

export async function healthOf(provider: LivingProvider): Promise<{ readonly healthy: boolean; readonly detail: string }> {
  try {
    return await provider.health();
  } catch (error) {
    return { healthy: false, detail: `its health could not be read: ${(error as Error).message}` };
  }
}
