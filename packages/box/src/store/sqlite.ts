import { EventEmitter } from 'node:events';
import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import Sqlite from 'better-sqlite3';
import { Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, sql } from 'kysely';
import { createCheckpoints } from './checkpoints.ts';
import type { Database } from './database.ts';
import { SqliteDriver, withPatience } from './sqlite-driver.ts';
import type { Tables } from './tables.ts';
import { runTransaction } from './transaction.ts';

export async function openSqlite(file: string): Promise<Database> {
  const connection = await connect(file);
  const driver = new SqliteDriver(connection, createCheckpoints(connection));
  const kysely = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => driver,
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
  const wakeups = new EventEmitter().setMaxListeners(0);

  return {
    kysely,
    kind: 'sqlite',
    now: () => Promise.resolve(Date.now()),
    transaction: (run) => runTransaction(kysely, run),
    query: (query) => driver.query(query),
    batch: (steps) => driver.batch(steps),
    notify: (channel) => {
      wakeups.emit(channel);
    },
    listen(channel, wake) {
      wakeups.on(channel, wake);
      return () => wakeups.off(channel, wake);
    },
    async ping() {
      await sql`select 1`.execute(kysely);
    },
    // Not through Kysely, whose own complaint about late queries is no BoxError.
    close: () => driver.destroy(),
  };
}

async function connect(file: string): Promise<Sqlite.Database> {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    // SQLite gives -wal and -shm the mode of the file itself.
    closeSync(openSync(file, 'a', 0o600));
    chmodSync(file, 0o600);
    // No waiting inside SQLite: it would stop the event loop, see withPatience.
    const connection = new Sqlite(file, { timeout: 0 });
    await withPatience(() => connection.pragma('journal_mode = WAL'));
    connection.pragma('synchronous = NORMAL');
    connection.pragma('foreign_keys = ON');
    connection.pragma('temp_store = MEMORY');
    connection.pragma('cache_size = -32768');
    // A checkpoint that a long reader held up leaves a long log behind; give the space back afterwards.
    connection.pragma('journal_size_limit = 67108864');
    return connection;
  } catch (cause) {
    throw new BoxError('start_failed', `The database ${file} cannot be opened: ${(cause as Error).message}.`, {
      hint: 'The file and its folder must be writable for the user that runs the box, on a local disk.',
      cause,
    });
  }
}
