import { type RawBuilder, sql } from 'kysely';
import type { DatabaseKind } from './database.ts';

/** Milliseconds since the epoch as an expression. A SQLite file is used by one machine, so its own clock is the database's. */
export function clockMs(kind: DatabaseKind): RawBuilder<number> {
  if (kind === 'sqlite') return sql<number>`${Date.now()}`;
  return sql<number>`floor(extract(epoch from clock_timestamp()) * 1000)::bigint`;
}
