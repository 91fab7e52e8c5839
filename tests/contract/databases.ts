/** Runs a contract against SQLite and PostgreSQL, both real. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest';
import { type Database, type DatabaseOptions, openDatabase } from '../../packages/box/src/store/database.ts';
import { migrate } from '../../packages/box/src/store/migrations.ts';
import { postgresFolder, startPostgres, type TestPostgres } from '../support/postgres.ts';

export interface DatabaseFixture {
  readonly kind: 'sqlite' | 'postgres';
  /** An empty database of this test. */
  options(): DatabaseOptions;
  /** A server's connection to it, migrated; closed after the test. */
  server(): Promise<Database>;
  /** Only for PostgreSQL. */
  postgres(): TestPostgres;
}

export function describeDatabases(name: string, contract: (fixture: DatabaseFixture) => void): void {
  const programs = postgresFolder();
  describe(`${name}: sqlite`, () => contract(useFixture('sqlite', undefined)));
  describe.skipIf(!programs)(`${name}: postgres`, () => contract(useFixture('postgres', programs)));
}

function useFixture(kind: 'sqlite' | 'postgres', programs: string | undefined): DatabaseFixture {
  let postgres: TestPostgres | undefined;
  let folder = '';
  let options: DatabaseOptions | undefined;
  let opened: Database[] = [];

  beforeAll(async () => {
    if (kind === 'postgres' && programs) postgres = await startPostgres(programs);
  });
  afterAll(async () => {
    await postgres?.stop();
  });
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'skillbox-db-'));
    options = { file: join(folder, 'db', 'skillbox.sqlite'), dsn: await postgres?.createDatabase() };
  });
  afterEach(async () => {
    await Promise.all(opened.map((database) => database.close()));
    opened = [];
    rmSync(folder, { recursive: true, force: true });
  });

  const present = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error('used outside of a test');
    return value;
  };
  return {
    kind,
    options: () => present(options),
    async server() {
      const database = await openDatabase(present(options));
      opened.push(database);
      await migrate(database);
      return database;
    },
    postgres: () => present(postgres),
  };
}
