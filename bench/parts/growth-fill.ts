/** A database as a box would have it after long use: many records of executions, each with its events, like one that really ran. */

import { join } from 'node:path';
import { sql } from 'kysely';
import { encodeCursor } from '../../packages/box/src/store/cursor.ts';
import { type Database, openDatabase } from '../../packages/box/src/store/database.ts';

export interface Filled {
  /** Ids of some of the records, from all over. */
  readonly ids: readonly string[];
  /** For a page in the middle of all records. */
  readonly cursor: string;
}

const batch = 100_000;
/** Records are this far apart in time. */
const gapMs = 2000;

/** Copies the record with its events until there are `count`; older than it, and spread over `skills`. */
export async function fillRecords(
  where: { readonly stateRoot: string; readonly dsn?: string },
  model: string,
  count: number,
  skills: readonly string[],
): Promise<Filled> {
  const database = await openDatabase({ dsn: where.dsn, file: join(where.stateRoot, 'db', 'skillbox.sqlite') });
  try {
    const words = dialectOf(database);
    const executions = await columnsOf(database, 'executions');
    const events = (await columnsOf(database, 'events')).filter((name) => name !== 'seq');
    const time = words.time(`${Date.now()} - n.i * ${gapMs}`);
    const skill = `case n.i % ${skills.length} ${skills.map((name, index) => `when ${index} then '${name}'`).join(' ')} end`;
    const ofExecution: Record<string, string> = {
      id: words.id,
      skill_name: skill,
      status: `case when n.i % 20 = 0 then 'failed' else m.status end`,
      ...{ created_at: time, started_at: time, finished_at: time },
    };
    const ofEvent: Record<string, string> = { id: `'evt_' || ${words.id}`, subject_id: words.id, time };
    const copy = (table: string, columns: readonly string[], values: Record<string, string>, from: number, to: number, filter: string) =>
      `insert into ${table} (${columns.join(', ')}) select ${columns.map((name) => values[name] ?? `m.${name}`).join(', ')}
       from (${words.numbers(from, to)}) n, ${table} m where ${filter}`;
    const indexes = await dropIndexes(database);
    for (let from = 1; from < count; from += batch) {
      const to = Math.min(count - 1, from + batch - 1);
      await database.transaction(async (tx) => {
        await sql.raw(copy('executions', executions, ofExecution, from, to, `m.id = '${model}'`)).execute(tx);
        await sql.raw(copy('events', events, ofEvent, from, to, `m.subject_type = 'execution' and m.subject_id = '${model}'`)).execute(tx);
      });
    }
    for (const index of indexes) await sql.raw(index).execute(database.kysely);
    // What happens by itself within a minute on a server that is not measured.
    await sql.raw(words.tidy).execute(database.kysely);
    return await look(database);
  } finally {
    await database.close();
  }
}

async function look({ kysely }: Database): Promise<Filled> {
  const all = kysely.selectFrom('executions').select(['id', 'created_at']);
  const { count } = await kysely
    .selectFrom('executions')
    .select(({ fn }) => fn.countAll().as('count'))
    .executeTakeFirstOrThrow();
  const newest = all.orderBy('created_at', 'desc').orderBy('id', 'desc');
  const middle = await newest
    .offset(Math.floor(Number(count) / 2))
    .limit(1)
    .executeTakeFirstOrThrow();
  const some = await all.orderBy('id').limit(100).execute();
  return { ids: some.map(({ id }) => id), cursor: encodeCursor(middle.created_at, middle.id) };
}

/** What both databases have under different names. */
function dialectOf({ kind }: Database): {
  readonly id: string;
  readonly tidy: string;
  numbers(from: number, to: number): string;
  time(ms: string): string;
} {
  // Scattered over the index, as random ids are: 2654435761 is odd, so no two are the same.
  const scattered = '(n.i * 2654435761) % 4294967296';
  if (kind === 'postgres') {
    return {
      tidy: 'vacuum analyze executions, events',
      id: `lpad(to_hex(${scattered}), 8, '0') || '-0000-4000-8000-' || lpad(to_hex(n.i), 12, '0')`,
      numbers: (from, to) => `select generate_series(${from}::bigint, ${to}::bigint) as i`,
      time: (ms) => `to_char(to_timestamp((${ms}) / 1000.0) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
    };
  }
  return {
    tidy: 'pragma wal_checkpoint(truncate)',
    id: `printf('%08x-0000-4000-8000-%012x', ${scattered}, n.i)`,
    numbers: (from, to) => `with recursive r(i) as (select ${from} union all select i + 1 from r where i < ${to}) select i from r`,
    time: (ms) => `strftime('%Y-%m-%dT%H:%M:%fZ', (${ms}) / 1000.0, 'unixepoch')`,
  };
}

/** A million rows go in several times faster when the indexes are made afterwards. Returns the statements that do. */
async function dropIndexes({ kind, kysely }: Database): Promise<string[]> {
  const tables = `('executions', 'events')`;
  const query =
    kind === 'postgres'
      ? `select indexname as name, indexdef as sql from pg_indexes
         where tablename in ${tables} and indexname not in (select conname from pg_constraint)`
      : `select name, sql from sqlite_master where type = 'index' and tbl_name in ${tables} and sql is not null`;
  const { rows } = await sql.raw<{ name: string; sql: string }>(query).execute(kysely);
  // Of this connection alone: the server keeps its own.
  if (kind === 'sqlite')
    for (const pragma of ['cache_size = -500000', 'wal_autocheckpoint = 100000']) await sql.raw(`pragma ${pragma}`).execute(kysely);
  for (const { name } of rows) await sql.raw(`drop index ${name}`).execute(kysely);
  return rows.map(({ sql: statement }) => statement);
}

/** Asked of the database, so that a column that is added later is copied too. */
async function columnsOf({ kysely }: Database, table: string): Promise<string[]> {
  const tables = await kysely.introspection.getTables();
  return tables.find(({ name }) => name === table)?.columns.map(({ name }) => name) ?? [];
}
