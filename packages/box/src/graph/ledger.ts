/** The parity ledger: what older tools did and the box does not do yet is refused by name, and what the two say must agree. */

import { BoxError, isErrorCode, type LedgerEntry } from '@skillbox/protocol';
import type { Graph } from './graph.ts';

/** A request for a surface that is not covered ends here, before anything is looked for under its name. */
export function refuseDeferred({ parityLedger, services }: Pick<Graph, 'parityLedger' | 'services'>, named: readonly string[]): void {
  const entry = parityLedger.find((candidate) => named.includes(candidate.legacy_surface) && !isServed(candidate, services));
  if (!entry) return;
  const { legacy_surface, ownership_state, bridge_dependency, intended_profiles, request_error } = entry;
  const why = {
    covered: '',
    deferred: 'is deferred: the box does not run it yet',
    'bridge-only': `runs through the bridge ${bridge_dependency ?? 'of its client'} only`,
    external: 'belongs to somebody else',
  }[ownership_state];
  const planned = intended_profiles.length > 0 ? ` It is meant for ${intended_profiles.join(', ')}.` : '';
  const code = request_error !== null && isErrorCode(request_error) ? request_error : 'LOCAL_RUNTIME_SERVICE_DEFERRED';
  throw new BoxError(code, `${legacy_surface} ${why}, says the parity ledger.${planned}`, { details: { legacy_surface, ownership_state } });
}

/** Where the ledger and the declared services disagree; what other profiles or clients hold is not looked at. */
export function coverageGaps({ parityLedger, services, profiles }: Pick<Graph, 'parityLedger' | 'services' | 'profiles'>): string[] {
  const entries = parityLedger.filter(({ surface_type }) => surface_type === 'service');
  const declared = new Set(services.map(({ id }) => id));
  const isActive = ({ intended_profiles }: LedgerEntry): boolean =>
    intended_profiles.length === 0 || intended_profiles.some((profile) => profiles.includes(profile));
  const promised = entries
    .filter((entry) => entry.ownership_state === 'covered' && isActive(entry) && !declared.has(entry.legacy_surface))
    .map(({ legacy_surface }) => `the ledger says that ${legacy_surface} is covered, and no such service is declared`);
  const denied = entries
    .filter(({ ownership_state, legacy_surface }) => ownership_state !== 'covered' && declared.has(legacy_surface))
    .map(({ ownership_state, legacy_surface }) => `${legacy_surface} is a declared service, and the ledger says ${ownership_state}`);
  // Only who keeps a ledger of services can forget one.
  const listed = new Set(entries.map(({ legacy_surface }) => legacy_surface));
  const keepers = new Set(entries.map(({ client }) => client));
  const forgotten = services
    .filter(
      ({ id, client, profiles: own }) => keepers.has(client ?? null) && own.some((name) => name.startsWith('local-')) && !listed.has(id),
    )
    .map(({ id }) => `${id} is a declared service of a local profile, and the ledger does not know it`);
  return [...promised, ...denied, ...forgotten];
}

/** Covered; or another kind of surface whose name a service of the graph has. */
function isServed({ ownership_state, surface_type, legacy_surface }: LedgerEntry, services: Graph['services']): boolean {
  return ownership_state === 'covered' || (surface_type !== 'service' && services.some(({ id }) => id === legacy_surface));
}
