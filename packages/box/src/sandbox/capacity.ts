/** Whether one more sandbox fits on this machine, by what its operator set. */

import { freemem } from 'node:os';
import type { Database } from '../store/database.ts';
import { formatSize } from '../units.ts';

export interface Capacity {
  /** Why one more does not fit; undefined when it does. The room is then kept for it until `release`. */
  take(sandbox: string): Promise<string | undefined>;
  /** The same, without taking it. */
  look(): Promise<string | undefined>;
  release(sandbox: string): void;
}

export interface CapacityOptions {
  readonly database: Database;
  readonly host: string;
  /** Names of the providers that make sandboxes on this machine. */
  readonly providers: readonly string[];
  /** Sandboxes on this machine, those that are paused aside; 0: as many as come. */
  readonly most: number;
  /** Memory that must be available for one more. */
  readonly leastFreeBytes: number;
  /** Given in tests. */
  freeBytes?(): number;
}

/** A paused one costs disk only. */
const countedStates = ['requested', 'provisioning', 'ready', 'destroying'];

export function createCapacity({ database, host, providers, most, leastFreeBytes, freeBytes = freemem }: CapacityOptions): Capacity {
  /** Being made: the table does not say yet who makes them. */
  const taken = new Set<string>();

  const settled = async (): Promise<string[]> => {
    if (most === 0) return [];
    const rows = await database.kysely
      .selectFrom('sandboxes')
      .select('id')
      .where('host', '=', host)
      .where('state', 'in', countedStates)
      .where('provider', 'in', [...providers])
      .execute();
    return rows.map(({ id }) => id);
  };

  /** Without a pause between the count and the taking: of two that ask at once one gets the last room. */
  const lackFor = (sandbox: string, ids: readonly string[]): string | undefined => {
    const free = freeBytes();
    if (free < leastFreeBytes)
      return `this host is full: ${formatSize(free)} of memory are available, ${formatSize(leastFreeBytes)} must be`;
    const others = new Set([...ids, ...taken]);
    others.delete(sandbox);
    return most > 0 && others.size >= most ? `this host is full: it has ${others.size} of ${most} sandboxes` : undefined;
  };

  return {
    async take(sandbox) {
      const lack = lackFor(sandbox, await settled());
      if (lack === undefined) taken.add(sandbox);
      return lack;
    },
    look: async () => lackFor('', await settled()),
    release: (sandbox) => void taken.delete(sandbox),
  };
}
