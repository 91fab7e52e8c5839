/** Pages of events, each from an index that has them in order: a sort of a million rows would stop the server. */

import type { BoxEvent } from '@skillbox/protocol';
import { type Expression, type Kysely, type SqlBool, sql } from 'kysely';
import type { Tables } from '../store/tables.ts';
import { canonicalFilter, type EventFilter, filterCondition } from './filter.ts';
import { asEvent } from './row.ts';

export interface EventQuery extends EventFilter {
  readonly afterSeq?: number;
  readonly beforeSeq?: number;
  /** Default: asc. */
  readonly order?: 'asc' | 'desc';
  readonly limit: number;
}

/** Reads nothing above `upTo`. */
export async function listEvents(kysely: Kysely<Tables>, upTo: number, query: EventQuery): Promise<BoxEvent[]> {
  const { typePrefix, type, subject, order = 'asc', limit } = query;
  // The events of one subject are few, and those of one type are in order already.
  if (typePrefix === undefined || type !== undefined || subject?.id !== undefined) return readPage(kysely, upTo, query);
  const types = await typesWithPrefix(kysely, typePrefix, query.tenant);
  const pages = await Promise.all(types.map((each) => readPage(kysely, upTo, { ...query, type: each })));
  const sign = order === 'asc' ? 1 : -1;
  return pages
    .flat()
    .sort((a, b) => sign * (a.seq - b.seq))
    .slice(0, limit);
}

async function readPage(
  kysely: Kysely<Tables>,
  upTo: number,
  { afterSeq, beforeSeq, order = 'asc', limit, ...filter }: EventQuery,
): Promise<BoxEvent[]> {
  const rows = await kysely
    .selectFrom('events')
    .selectAll()
    .where((eb) => {
      const bounds: Expression<SqlBool>[] = [eb('seq', '<=', upTo)];
      if (afterSeq !== undefined) bounds.push(eb('seq', '>', afterSeq));
      if (beforeSeq !== undefined) bounds.push(eb('seq', '<', beforeSeq));
      return eb.and([filterCondition(eb, canonicalFilter(filter)), ...bounds]);
    })
    .orderBy('seq', order)
    .limit(limit)
    .execute();
  return rows.map(asEvent);
}

/** Jumps from one type to the next in the index, so it takes as many steps as there are types, however many events. */
async function typesWithPrefix(kysely: Kysely<Tables>, prefix: string, tenant: string | undefined): Promise<string[]> {
  const end = `${prefix}\u{10ffff}`;
  const ofTenant = tenant === undefined ? sql`` : sql`tenant = ${tenant} and`;
  const { rows } = await sql<{ type: string }>`
    with recursive found(type) as (
      select min(type) from events where ${ofTenant} type >= ${prefix} and type < ${end}
      union all
      select (select min(type) from events where ${ofTenant} type > found.type and type < ${end}) from found where found.type is not null
    )
    select type from found where type is not null`.execute(kysely);
  return rows.map(({ type }) => type);
}
