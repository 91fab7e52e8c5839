/** Kysely's driver for SQLite, with what the hot path needs: statements prepared once, a fair queue, and waiting that lets other work go on. */

import { setTimeout as delay } from 'node:timers/promises';
import { BoxError } from '@skillbox/protocol';
import type { Database as Connection, Statement } from 'better-sqlite3';
import { CompiledQuery, type DatabaseConnection, type Driver, type QueryResult } from 'kysely';
import type { Checkpoints } from './checkpoints.ts';
import type { Step } from './database.ts';

const patienceMs = 5000;
const preparedLimit = 500;

export class SqliteDriver implements Driver {
  readonly #connection: Connection;
  readonly #shared: SqliteConnection;
  readonly #checkpoints: Checkpoints;
  readonly #waiting: (() => void)[] = [];
  #taken = false;
  #closed = false;

  constructor(connection: Connection, checkpoints: Checkpoints) {
    this.#connection = connection;
    this.#shared = new SqliteConnection(connection);
    this.#checkpoints = checkpoints;
  }

  async init(): Promise<void> {
    // The connection was opened, and its pragmas set, before Kysely saw it.
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    if (this.#closed) throw new BoxError('shutting_down', 'The database is closed.');
    await this.#takeTurn();
    return this.#shared;
  }

  async releaseConnection(): Promise<void> {
    const next = this.#waiting.shift();
    if (next) return next();
    this.#taken = false;
  }

  async query<R>(query: CompiledQuery<R>): Promise<R[]> {
    const connection = await this.acquireConnection();
    try {
      return (await connection.executeQuery<R>(query)).rows;
    } finally {
      await this.releaseConnection();
    }
  }

  /** In one go, without a pause in which others could come in between. */
  async batch(steps: readonly Step[]): Promise<boolean> {
    await this.acquireConnection();
    try {
      return await withPatience(() => this.#runAll(steps));
    } finally {
      await this.releaseConnection();
    }
  }

  #runAll(steps: readonly Step[]): boolean {
    this.#shared.run('begin immediate');
    try {
      for (const { query, mustChange = false } of steps) {
        const { sql, parameters } = query();
        if (this.#shared.run(sql, parameters) > 0 || !mustChange) continue;
        this.#shared.run('rollback');
        return false;
      }
      this.#shared.run('commit');
      this.#checkpoints.committed();
      return true;
    } catch (error) {
      if (this.#connection.inTransaction) this.#shared.run('rollback');
      throw error;
    }
  }

  /** Immediate: a transaction that reads first and writes later could otherwise fail halfway, when another process wrote in between. */
  async beginTransaction(): Promise<void> {
    await this.#shared.executeQuery(CompiledQuery.raw('begin immediate'));
  }

  async commitTransaction(): Promise<void> {
    await this.#shared.executeQuery(CompiledQuery.raw('commit'));
    this.#checkpoints.committed();
  }

  async rollbackTransaction(): Promise<void> {
    // A full disk makes SQLite roll back on its own; a second rollback would hide the cause.
    if (this.#connection.inTransaction) await this.#shared.executeQuery(CompiledQuery.raw('rollback'));
  }

  /** Waits for the transactions that are under way or in line. */
  async destroy(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#takeTurn();
    this.#checkpoints.close();
    this.#connection.close();
  }

  /** Kysely's own mutex wakes all waiters for each release; under load that alone costs more than the queries. */
  #takeTurn(): Promise<void> {
    if (!this.#taken) {
      this.#taken = true;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

/**
 * Tries again for five seconds while another process holds the write lock. SQLite's busy_timeout would do the same but stop
 * the event loop meanwhile, for ever when the lock's holder is a second connection of this very process.
 */
export async function withPatience<T>(attempt: () => T): Promise<T> {
  const deadline = Date.now() + patienceMs;
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, 25)) {
    try {
      return attempt();
    } catch (cause) {
      if (!isBusy(cause)) throw translated(cause);
      if (Date.now() > deadline) {
        throw new BoxError('unavailable', 'The database stayed locked by another process for five seconds.', { cause, retryAfter: 1 });
      }
    }
    await delay(pauseMs * (0.5 + Math.random()));
  }
}

class SqliteConnection implements DatabaseConnection {
  readonly #connection: Connection;
  readonly #prepared = new Map<string, Statement>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    return withPatience(() => {
      const statement = this.#prepare(sql);
      if (statement.reader) return { rows: statement.all(parameters) as R[] };
      const { changes, lastInsertRowid } = statement.run(parameters);
      return { numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid), rows: [] };
    });
  }

  /** How many rows it changed. For what gives no rows. */
  run(sql: string, parameters: readonly unknown[] = []): number {
    return this.#prepare(sql).run(parameters).changes;
  }

  streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new BoxError('internal', 'A stream would hold the only connection for as long as its reader likes; read pages instead.');
  }

  /** Least recently used out first: lists of values make statements of many lengths. */
  #prepare(sql: string): Statement {
    const known = this.#prepared.get(sql);
    if (known) this.#prepared.delete(sql);
    const statement = known ?? this.#connection.prepare(sql);
    this.#prepared.set(sql, statement);
    if (this.#prepared.size > preparedLimit) {
      const [oldest] = this.#prepared.keys();
      if (oldest !== undefined) this.#prepared.delete(oldest);
    }
    return statement;
  }
}

function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED');
}

function translated(error: unknown): unknown {
  const code = sqliteCode(error);
  if (!/^SQLITE_(FULL|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB)/.test(code)) return error;
  return new BoxError('unavailable', `The database cannot be used: ${(error as Error).message} (${code}).`, { cause: error });
}

function sqliteCode(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
}
