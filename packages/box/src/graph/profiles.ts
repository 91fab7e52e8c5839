/** Which items are selected: core always, what the profiles name, and whatever those need. */

import { BoxError } from '@skillbox/protocol';
import { nearestName } from '../suggest.ts';
import type { Item } from './graph.ts';

const builtIn = ['core', 'surfaces', 'connectors', 'connectors-dev'] as const;
export const isLocal = (profile: string): boolean => profile.startsWith('local-');
/** Every local-* together; nothing is declared for it. */
export const everyLocal = 'local-all';

export function knownProfiles(items: Iterable<Pick<Item, 'profiles'>>): string[] {
  const named = new Set<string>(builtIn);
  for (const { profiles } of items) for (const profile of profiles) named.add(profile);
  if ([...named].some(isLocal)) named.add(everyLocal);
  return [...named].sort(coreFirst);
}

/** Core first; throws LOCAL_RUNTIME_PROFILE_UNKNOWN. */
export function activeProfiles(asked: readonly string[], known: readonly string[]): string[] {
  for (const profile of asked) if (!known.includes(profile)) throw unknownProfile(profile, known);
  const local = asked.includes(everyLocal) ? known.filter(isLocal) : [];
  return [...new Set(['core', ...asked, ...local])].sort(coreFirst);
}

export function isSelected({ profiles }: Pick<Item, 'profiles'>, active: ReadonlySet<string>): boolean {
  return profiles.length === 0 || profiles.some((profile) => active.has(profile));
}

function coreFirst(one: string, other: string): number {
  if (one === 'core' || other === 'core') return one === other ? 0 : one === 'core' ? -1 : 1;
  return one < other ? -1 : Number(one > other);
}

function unknownProfile(profile: string, known: readonly string[]): BoxError {
  const meant = nearestName(profile, known);
  return new BoxError('LOCAL_RUNTIME_PROFILE_UNKNOWN', `Nothing is declared for the profile ${profile}. There are: ${known.join(', ')}.`, {
    hint: meant ? `Did you mean ${meant}?` : 'Use one of those, name the client that declares it, or declare an item for it.',
    details: { profile, known },
  });
}
