/** The one table of events: append to it, list it, follow it. */

import type { BoxEvent } from '@skillbox/protocol';
import type { CompiledQuery, Kysely } from 'kysely';
import type { Database } from '../store/database.ts';
import { statement } from '../store/statement.ts';
import type { Tables } from '../store/tables.ts';
import { afterCommit } from '../store/transaction.ts';
import { canonicalFilter, type EventFilter } from './filter.ts';
import { followEvents } from './follow.ts';
import { type EventQuery, listEvents } from './list.ts';
import { asEvent, asRow, eventColumns, type NewEvent } from './row.ts';
import { createSettledReader } from './settled.ts';
import { createTail, eventChannel } from './tail.ts';

export interface Events {
  /** In a transaction of the caller the events appear when it commits. All of them or none. */
  append(events: NewEvent | readonly NewEvent[], tx?: Kysely<Tables>): Promise<BoxEvent[]>;
  /** For a batch of the caller, who announces once it is written. */
  entry(event: NewEvent): CompiledQuery;
  announce(): void;
  /** Ascending pages end where numbers are still being given out, so that going on after the last event loses none. */
  list(query: EventQuery): Promise<BoxEvent[]>;
  /** Events after `afterSeq`, then each new one, until the signal aborts. Once it is live it waits out an outage of the database. */
  follow(filter: EventFilter, from: { readonly afterSeq: number }, signal: AbortSignal): AsyncIterable<BoxEvent>;
  /** Where to follow from to get only what is new; 0 when there is nothing yet. */
  lastSeq(): Promise<number>;
}

/** Ten columns each: far below the limits on parameters of both databases. */
const rowsPerInsert = 500;

export function createEvents({ database, host }: { readonly database: Database; readonly host: string }): Events {
  const readSettled = createSettledReader(database);

  const insertOne = statement<ReturnType<typeof asRow>, unknown>(eventColumns, (row) => database.kysely.insertInto('events').values(row));
  const announce = (): void => database.notify(eventChannel);

  async function append(events: NewEvent | readonly NewEvent[], tx?: Kysely<Tables>): Promise<BoxEvent[]> {
    const rows = [events].flat().map((event) => asRow(event as NewEvent, host));
    if (rows.length === 0) return [];
    if (!tx && rows.length > rowsPerInsert) return database.transaction((own) => append(events, own));
    const kysely = tx ?? database.kysely;
    const appended: BoxEvent[] = [];
    for (let from = 0; from < rows.length; from += rowsPerInsert) {
      const part = rows.slice(from, from + rowsPerInsert);
      const numbers = await kysely.insertInto('events').values(part).returning(['id', 'seq']).execute();
      const seqOf = new Map(numbers.map(({ id, seq }) => [id, seq]));
      for (const row of part) appended.push(asEvent({ ...row, seq: seqOf.get(row.id) ?? Number.NaN }));
    }
    afterCommit(kysely, announce);
    return appended;
  }

  /** The bound is read before anything else: an event that is appended meanwhile must not be missing below one that is there. */
  async function list(query: EventQuery): Promise<BoxEvent[]> {
    const upTo = query.order === 'desc' ? Number.MAX_SAFE_INTEGER : await lastSeq();
    return listEvents(database.kysely, upTo, query);
  }

  async function lastSeq(): Promise<number> {
    const settled = await readSettled();
    const newest = await database.kysely
      .selectFrom('events')
      .select(({ fn }) => fn.max('seq').as('seq'))
      .executeTakeFirst();
    return Math.min(settled.seq, newest?.seq ?? 0);
  }

  const tail = createTail(database, readSettled, lastSeq);
  return {
    append,
    entry: (event) => insertOne(asRow(event, host)),
    announce,
    list,
    follow: (filter, { afterSeq }, signal) =>
      followEvents(
        { tail, readPage: (pageFilter, after, limit) => list({ ...pageFilter, afterSeq: after, limit }) },
        canonicalFilter(filter),
        afterSeq,
        signal,
      ),
    lastSeq,
  };
}
