/** Who owns what, for how long. All times are the database's, so hosts with wrong clocks still agree. */

import { sql } from 'kysely';
import { clockMs } from './clock.ts';
import type { Database } from './database.ts';
import { startsWith } from './prefix.ts';
import type { LeaseRow } from './tables.ts';

export type LeaseData = Record<string, unknown>;

export interface Lease {
  readonly name: string;
  readonly owner: string;
  /** What the owner publishes, such as its address. */
  readonly data: LeaseData;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export interface ListedLease extends Lease {
  readonly expired: boolean;
}

export interface TakenLease extends Lease {
  readonly previousOwner: string;
}

export interface Leases {
  /** Succeeds when the lease is free, expired or already the owner's; null when somebody else holds it. */
  acquire(name: string, owner: string, ttlMs: number, data?: LeaseData): Promise<Lease | null>;
  /** False when somebody else has it now or it was released: then stop acting as its owner. A late renewal is fine as long as nobody took it. */
  renew(name: string, owner: string, ttlMs: number, data?: LeaseData): Promise<boolean>;
  release(name: string, owner: string): Promise<void>;
  list(prefix: string): Promise<ListedLease[]>;
  /**
   * Makes `owner` the owner of the expired leases under the prefix, each for exactly one caller however many try. The data
   * stays that of the dead owner. Clean up, then release; if the cleaner dies too, the lease expires and the next one takes it.
   */
  takeExpired(prefix: string, owner: string, ttlMs: number): Promise<TakenLease[]>;
}

export function createLeases(database: Database): Leases {
  const { kysely, kind } = database;
  const now = () => clockMs(kind);
  const inFuture = (ttlMs: number) => sql<number>`${now()} + ${Math.round(ttlMs)}`;

  return {
    async acquire(name, owner, ttlMs, data = {}) {
      // One statement: the loser of a race waits for the winner's row and then sees that it is held.
      const row = await kysely
        .insertInto('leases')
        .values({ name, owner, data: JSON.stringify(data), expires_at: inFuture(ttlMs) })
        .onConflict((conflict) =>
          conflict
            .column('name')
            .doUpdateSet((eb) => ({
              owner: eb.ref('excluded.owner'),
              data: eb.ref('excluded.data'),
              // Anew, not `excluded`: that was computed before the wait for a competitor's row.
              expires_at: inFuture(ttlMs),
            }))
            .where((eb) => eb.or([eb('leases.owner', '=', owner), eb('leases.expires_at', '<=', now())])),
        )
        .returningAll()
        .executeTakeFirst();
      return row ? asLease(row) : null;
    },

    async renew(name, owner, ttlMs, data) {
      const { numUpdatedRows } = await kysely
        .updateTable('leases')
        .set({ expires_at: inFuture(ttlMs), ...(data && { data: JSON.stringify(data) }) })
        .where('name', '=', name)
        .where('owner', '=', owner)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },

    async release(name, owner) {
      await kysely.deleteFrom('leases').where('name', '=', name).where('owner', '=', owner).execute();
    },

    async list(prefix) {
      const rows = await kysely
        .selectFrom('leases')
        .selectAll()
        .select(now().as('now'))
        .where((eb) => startsWith(eb, 'name', prefix))
        .orderBy('name')
        .execute();
      return rows.map((row) => ({ ...asLease(row), expired: row.expires_at <= row.now }));
    },

    takeExpired(prefix, owner, ttlMs) {
      return database.transaction(async (tx) => {
        const expired = tx
          .selectFrom('leases')
          .selectAll()
          .where((eb) => startsWith(eb, 'name', prefix))
          .where('expires_at', '<=', now());
        // What another host is taking right now is not ours to wait for.
        const gone = await (kind === 'postgres' ? expired.forUpdate().skipLocked() : expired).execute();
        const taken: TakenLease[] = [];
        for (const { name, owner: previousOwner } of gone) {
          const row = await tx
            .updateTable('leases')
            .set({ owner, expires_at: inFuture(ttlMs) })
            .where('name', '=', name)
            .returningAll()
            .executeTakeFirstOrThrow();
          taken.push({ ...asLease(row), previousOwner });
        }
        return taken;
      });
    },
  };
}

function asLease(row: LeaseRow): Lease {
  return { name: row.name, owner: row.owner, data: JSON.parse(row.data) as LeaseData, expiresAt: row.expires_at };
}
