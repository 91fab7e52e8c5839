/** What /metrics tells of the graph, from what pulse and the services left on disk. */

import { isAlive } from '../process/identity.ts';
import { livingPulse, readPulseState } from './pulse/state.ts';
import { readServiceRecords } from './services/records.ts';

export interface GraphFigures {
  readonly pulseUp: boolean;
  /** Of services that were ever started, by state. */
  readonly services: ReadonlyMap<string, number>;
  /** By pulse, of the services there are. */
  readonly restarts: number;
  readonly heals: number;
  readonly givenUp: number;
  readonly failingChecks: number;
}

export function graphFigures(stateRoot: string): GraphFigures {
  const state = readPulseState(stateRoot);
  const pulseUp = livingPulse(state) !== undefined;
  const records = readServiceRecords(stateRoot);
  // Without pulse nobody has looked: whether the process is there can still be told.
  const states = pulseUp
    ? Object.values(state.service_states)
    : records.map(({ wanted, process, sandbox }) => {
        if (!wanted) return 'declared';
        if (sandbox) return 'unknown';
        return process && isAlive(process) ? 'running' : 'down';
      });
  const services = new Map<string, number>();
  for (const one of states) services.set(one, (services.get(one) ?? 0) + 1);
  return {
    pulseUp,
    services,
    restarts: records.reduce((sum, { restarts }) => sum + restarts, 0),
    heals: state.heals,
    givenUp: state.given_up.length,
    failingChecks: Object.values(state.check_states).filter((one) => one !== 'ok').length,
  };
}
