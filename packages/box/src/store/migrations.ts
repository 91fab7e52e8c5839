/**
 * Brings the tables up to date. Not Kysely's Migrator: it does not keep several processes apart on SQLite. Here everything
 * happens in one transaction under a lock, so that of many servers that start at once one migrates and the others wait.
 */

import { BoxError } from '@skillbox/protocol';
import { type Kysely, sql } from 'kysely';
import type { Database, DatabaseKind } from './database.ts';
import { firstTables } from './migrations/0001-first-tables.ts';
import { sandboxTables } from './migrations/0002-sandboxes.ts';
import { creditTables } from './migrations/0003-credits.ts';
import { networkColumn } from './migrations/0004-network.ts';
import { secretTable } from './migrations/0005-secrets.ts';
import { dependencyTables } from './migrations/0006-dependencies.ts';
import { webhookTables } from './migrations/0007-webhooks.ts';
import { programLimitTable } from './migrations/0008-program-limits.ts';
import { timingColumns } from './migrations/0009-timings.ts';
import { signInTable } from './migrations/0010-sign-in.ts';
import { originColumn } from './migrations/0011-origin.ts';

export interface Migration {
  readonly name: string;
  up(kysely: Kysely<unknown>, kind: DatabaseKind): Promise<void>;
}

interface MigrationTables {
  schema_migrations: { name: string; applied_at: string };
}

/** In order; a released one never changes. */
export const migrations: readonly Migration[] = [
  firstTables,
  sandboxTables,
  creditTables,
  networkColumn,
  secretTable,
  dependencyTables,
  webhookTables,
  programLimitTable,
  timingColumns,
  signInTable,
  originColumn,
];

/** An advisory lock is just a number; this one is "sbox" in ASCII. */
const lockKey = 0x73_62_6f_78;

/** Returns the names of what it applied. */
export function migrate(database: Database, known: readonly Migration[] = migrations): Promise<string[]> {
  return database.transaction(async (tx) => {
    // On SQLite the transaction itself is the lock.
    if (database.kind === 'postgres') await sql`select pg_advisory_xact_lock(${lockKey})`.execute(tx);
    const kysely = tx as unknown as Kysely<MigrationTables>;
    await kysely.schema
      .createTable('schema_migrations')
      .ifNotExists()
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('applied_at', 'text', (column) => column.notNull())
      .execute();
    const applied = new Set((await kysely.selectFrom('schema_migrations').select('name').execute()).map((row) => row.name));
    refuseNewer(applied, known);

    const missing = known.filter(({ name }) => !applied.has(name));
    for (const { name, up } of missing) {
      await up(tx as unknown as Kysely<unknown>, database.kind);
      await kysely.insertInto('schema_migrations').values({ name, applied_at: new Date().toISOString() }).execute();
    }
    return missing.map(({ name }) => name);
  });
}

function refuseNewer(applied: ReadonlySet<string>, known: readonly Migration[]): void {
  const names = new Set(known.map(({ name }) => name));
  const unknown = [...applied].filter((name) => !names.has(name)).sort();
  if (unknown.length === 0) return;
  throw new BoxError('start_failed', `The database was made by a newer Skillbox: this version does not know ${unknown.join(', ')}.`, {
    hint: 'Start the newer version again, or restore the backup from before the upgrade. Nothing was changed.',
    details: { unknown },
  });
}
