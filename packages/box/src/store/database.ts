/** The database port: SQLite with nothing installed, PostgreSQL for many hosts, one set of tables on both. */

import type { CompiledQuery, Kysely, Transaction } from 'kysely';
import { openPostgres } from './postgres.ts';
import { openSqlite } from './sqlite.ts';
import type { Tables } from './tables.ts';

export type DatabaseKind = 'sqlite' | 'postgres';

/** A statement of a batch. */
export interface Step {
  /** Asked for when its turn has come. */
  query(): CompiledQuery;
  /** When it changes no row, nothing of the batch is written. */
  readonly mustChange?: boolean;
}

export interface Database {
  readonly kysely: Kysely<Tables>;
  readonly kind: DatabaseKind;
  /** Milliseconds since the epoch by the database's clock, which all hosts share. */
  now(): Promise<number>;
  /**
   * Inside `run` use only `tx`: SQLite has a single connection, and a query on `kysely` would wait for this very transaction.
   * On SQLite it takes the write lock at its start, so what it reads stays true until it commits.
   */
  transaction<T>(run: (tx: Transaction<Tables>) => Promise<T>): Promise<T>;
  /** For statements that are compiled once; see statement.ts. */
  query<R>(query: CompiledQuery<R>): Promise<R[]>;
  /** One transaction of statements that need no answer in between; false when one that had to change something did not. */
  batch(steps: readonly Step[]): Promise<boolean>;
  /** Wakes whoever listens on the channel; on PostgreSQL in every server. A wake-up can get lost with a connection, so listeners poll too. */
  notify(channel: string): void;
  /** `wake` is also called when notifications may have been missed. Returns the way to stop. */
  listen(channel: string, wake: () => void): () => void;
  ping(): Promise<void>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** PostgreSQL connection string; without it SQLite is used. */
  readonly dsn?: string;
  /** Path of the SQLite file. */
  readonly file: string;
  /** How long a statement may take on PostgreSQL; without it, as long as it takes. */
  readonly timeoutMs?: number;
}

export function openDatabase({ dsn, file, timeoutMs }: DatabaseOptions): Promise<Database> {
  return dsn ? openPostgres(dsn, timeoutMs) : openSqlite(file);
}
