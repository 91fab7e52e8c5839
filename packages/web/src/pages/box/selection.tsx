/** Which client and profiles are looked at; both stand in the address. */

import type { RuntimeStatus } from '@skillbox/sdk';
import { useBox } from '../../box/box.ts';
import { useOnEvents } from '../../box/live.ts';
import { type Loaded, useLoad } from '../../box/use-load.ts';
import { useQuery } from '../../router.tsx';

export interface Selection {
  readonly client?: string;
  readonly profile?: string;
}

export function useSelection(): Selection {
  const [query] = useQuery();
  const client = query.get('client') ?? '';
  const profile = query.get('profile') ?? '';
  return { ...(client && { client }), ...(profile && { profile }) };
}

const everyMs = 4000;

/** Kept fresh by looking again, and at once when something of the graph happened. */
export function useStatus(selection: Selection): Loaded<RuntimeStatus> {
  const { client } = useBox();
  const found = useLoad(`status ${JSON.stringify(selection)}`, (signal) => client.runtime.status(selection, { signal }), {
    every: everyMs,
  });
  useOnEvents(({ type }) => type.startsWith('graph.') || type.startsWith('audit.'), found.reload);
  return found;
}

export function SelectionFields({ clients, profiles }: { readonly clients: readonly string[]; readonly profiles: readonly string[] }) {
  const [query, change] = useQuery();
  const chosen = (query.get('profile') ?? '').split(',').filter(Boolean);
  const toggle = (profile: string): void =>
    change({ profile: (chosen.includes(profile) ? chosen.filter((each) => each !== profile) : [...chosen, profile]).join(',') });
  // One that is in the address stays visible though nothing names it.
  const shown = [...new Set([...profiles, ...chosen])].filter((profile) => profile !== 'core');
  return (
    <div className="filters">
      <select
        className="input"
        aria-label="Client"
        value={query.get('client') ?? ''}
        onChange={({ target }) => change({ client: target.value, item: '' })}
      >
        <option value="">Default client</option>
        {clients.map((client) => (
          <option key={client}>{client}</option>
        ))}
      </select>
      {shown.length > 0 && (
        <div className="choice" role="group" aria-label="Profiles">
          {shown.map((profile) => (
            <button key={profile} type="button" aria-pressed={chosen.includes(profile)} onClick={() => toggle(profile)}>
              {profile}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
