import { BoxError } from '@skillbox/protocol';
import { Kysely, PostgresDialect, type PostgresPoolClient, sql } from 'kysely';
import pg from 'pg';
import { clockMs } from './clock.ts';
import type { Database, Step } from './database.ts';
import { PostgresListener } from './postgres-listener.ts';
import { PostgresNotifier } from './postgres-notifier.ts';
import type { Tables } from './tables.ts';
import { runTransaction } from './transaction.ts';

const connectTimeoutMs = 5000;
const pingTimeoutMs = 5000;
const int8 = 20;
const numeric = 1700;

/** `timeoutMs`: a statement that takes longer, or whose answer does not come, is given up; 0 waits as long as it takes. */
export async function openPostgres(dsn: string, timeoutMs = 0): Promise<Database> {
  const settings = clientSettings(dsn);
  // The server gives up too, so that nothing is done later that the caller was told had failed, and no lock is held for ever.
  const limits = {
    ...{ query_timeout: timeoutMs, statement_timeout: timeoutMs, idle_in_transaction_session_timeout: timeoutMs },
    connectionTimeoutMillis: Math.min(connectTimeoutMs, timeoutMs),
  };
  const pool = new pg.Pool({ ...settings, ...(timeoutMs > 0 && limits), max: 10 });
  // An 'error' nobody listens to ends the process. The pool drops a client that lost its connection, and whoever
  // waited for its answer gets the error there, so there is nothing left to do here.
  pool.on('error', ignore);
  pool.on('connect', (client) => client.on('error', ignore));

  const kysely = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: { connect: () => checkOut(pool), end: () => pool.end() } }),
  });
  const listener = new PostgresListener(settings);
  const ping = async () => {
    await withTimeout(sql`select 1`.execute(kysely), pingTimeoutMs);
  };
  const notifier = new PostgresNotifier(kysely);

  try {
    await ping();
  } catch (error) {
    await pool.end();
    throw error;
  }

  let closing: Promise<void> | undefined;
  return {
    kysely,
    kind: 'postgres',
    async now() {
      const { rows } = await sql<{ now: number }>`select ${clockMs('postgres')} as now`.execute(kysely);
      return rows[0]?.now ?? Number.NaN;
    },
    transaction: (run) => runTransaction(kysely, run),
    query: async (query) => (await kysely.executeQuery(query)).rows,
    batch: (steps) => runBatch(kysely, steps),
    notify(channel) {
      listener.wake(channel);
      notifier.send(channel);
    },
    listen: (channel, wake) => listener.listen(channel, wake),
    ping,
    close() {
      closing ??= Promise.all([listener.close(), pool.end()]).then(ignore);
      return closing;
    },
  };
}

async function runBatch(kysely: Kysely<Tables>, steps: readonly Step[]): Promise<boolean> {
  const unchanged = new Error('nothing was changed');
  try {
    await runTransaction(kysely, async (tx) => {
      for (const { query, mustChange = false } of steps) {
        const { numAffectedRows } = await tx.executeQuery(query());
        if (mustChange && !numAffectedRows) throw unchanged;
      }
    });
    return true;
  } catch (error) {
    if (error === unchanged) return false;
    throw error;
  }
}

function clientSettings(dsn: string): pg.ClientConfig {
  const types = new pg.TypeOverrides();
  // Counts, sizes and milliseconds stay far below 2^53.
  types.setTypeParser(int8, Number);
  types.setTypeParser(numeric, Number);
  return {
    connectionString: dsn,
    types,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: 'skillbox',
  };
}

async function checkOut(pool: pg.Pool): Promise<PostgresPoolClient> {
  if (pool.ending) throw new BoxError('shutting_down', 'The database is closed.');
  const client = await connect(pool);
  let late: BoxError | undefined;
  const query = (text: string, parameters: readonly unknown[]) => {
    // What is asked after an answer that did not come, such as the rollback, would only wait in the same line.
    if (late) return Promise.reject(late);
    return client.query(text, [...parameters]).catch((cause: Error) => {
      if (isLate(cause)) {
        late = new BoxError('unavailable', `PostgreSQL did not answer in time: ${reason(cause)}.`, { cause, retryAfter: 1 });
        throw late;
      }
      throw isConnectionLoss(cause)
        ? new BoxError('unavailable', `The connection to PostgreSQL broke: ${reason(cause)}.`, { cause, retryAfter: 1 })
        : cause;
    });
  };
  // An answer that comes after all must not be taken for that to the next question.
  return { query: query as unknown as PostgresPoolClient['query'], release: () => client.release(late !== undefined) };
}

async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect();
  } catch (cause) {
    throw new BoxError('unavailable', `PostgreSQL cannot be reached: ${reason(cause as Error)}.`, { cause, retryAfter: 1 });
  }
}

/** pg's own words when it waited for an answer; 57014 is the server that gave up, 55P03 a lock it did not get. */
const isLate = (error: Error): boolean =>
  error.message === 'Query read timeout' || ['57014', '55P03'].includes((error as { code?: string }).code ?? '');

/** Class 08 is connection trouble, 57P a server that stops or starts, 53300 no free connection; without an SQLSTATE it is pg itself or the socket. */
function isConnectionLoss(error: Error): boolean {
  const { code } = error as { code?: string };
  if (!code)
    return /^(Connection terminated|Client has encountered a connection error|Client was closed|timeout exceeded)/.test(error.message);
  return /^(08|57P|53300$)/.test(code) || /^E[A-Z]+$/.test(code);
}

/** Several addresses for one name make an AggregateError, whose own message is empty. */
function reason(error: Error): string {
  if (error instanceof AggregateError) return error.errors.map((each: Error) => each.message).join('; ');
  return error.message.replace(/\.$/, '');
}

async function withTimeout<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new BoxError('unavailable', `PostgreSQL did not answer within ${ms} ms.`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function ignore(): undefined {
  return undefined;
}
