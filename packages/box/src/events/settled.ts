/** How far the event numbers are final: no event with a number up to there will still appear. */

import { sql } from 'kysely';
import type { Database } from '../store/database.ts';
import { eventLockTag } from '../store/migrations/event-order.ts';

export interface Settled {
  /** Readers who go on from the last number they saw must not read beyond this. */
  readonly seq: number;
  /** Events above it are on their way, and nobody will tell when the transaction that holds them up is rolled back. */
  readonly waiting: boolean;
}

export function createSettledReader(database: Database): () => Promise<Settled> {
  // SQLite has one writer at a time: numbers appear in their order.
  if (database.kind === 'sqlite') return () => Promise.resolve({ seq: Number.MAX_SAFE_INTEGER, waiting: false });

  // What was settled once stays so. A transaction that read an old number just before it took its lock (see
  // store/migrations/event-order.ts) can make a later answer smaller, but its events get new numbers.
  let known = 0;
  return async () => {
    // The locks must be read after the number: whoever took a number up to `given` already held its lock then. Being
    // correlated, the inner query cannot run before the row of the outer one is there.
    const { rows } = await sql<{ given: number; above: number | null }>`
      select given, (
        select min(((classid::bigint & 65535) << 32) | objid::bigint) from pg_locks
        where locktype = 'advisory' and objsubid = 1 and classid::bigint >> 16 = ${sql.lit(eventLockTag)} and given >= 0
          and database = (select oid from pg_database where datname = current_database())
      ) as above
      from (select case when is_called then last_value else 0 end as given from events_seq_seq) as numbers`.execute(database.kysely);
    const { given = 0, above = null } = rows[0] ?? {};
    known = Math.max(known, Math.min(given, above ?? given));
    return { seq: known, waiting: known < given };
  };
}
