/** One filter, two readings: as a condition for the database and as a test for events that just arrived. They must agree. */

import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import { startsWith } from '../store/prefix.ts';
import type { EventRow, Tables } from '../store/tables.ts';

export interface EventFilter {
  readonly tenant?: string;
  readonly subject?: { readonly type: string; readonly id?: string };
  readonly type?: string;
  /** Such as `execution.` for all that happens to executions. */
  readonly typePrefix?: string;
  /** ISO 8601 in UTC, inclusive. */
  readonly since?: string;
  /** ISO 8601 in UTC, exclusive. */
  readonly until?: string;
}

/** Times are compared as text, so they must all be written alike. */
export function canonicalFilter(filter: EventFilter): EventFilter {
  const { since, until } = filter;
  return { ...filter, since: since && new Date(since).toISOString(), until: until && new Date(until).toISOString() };
}

export function filterCondition(eb: ExpressionBuilder<Tables, 'events'>, filter: EventFilter): Expression<SqlBool> {
  const { tenant, subject, type, typePrefix, since, until } = filter;
  const conditions: Expression<SqlBool>[] = [];
  if (tenant !== undefined) conditions.push(eb('tenant', '=', tenant));
  if (subject) conditions.push(eb('subject_type', '=', subject.type));
  if (subject?.id !== undefined) conditions.push(eb('subject_id', '=', subject.id));
  if (type !== undefined) conditions.push(eb('type', '=', type));
  if (typePrefix !== undefined) conditions.push(startsWith(eb, 'type', typePrefix));
  if (since !== undefined) conditions.push(eb('time', '>=', since));
  if (until !== undefined) conditions.push(eb('time', '<', until));
  // Events are read in the order of seq. A bound on seq, found in the index on time, spares a walk through all that is
  // older or newer; the few events of one subject need none. `+ 0` keeps the databases from looking for the least seq by
  // walking through the table in the order of seq, which is that very walk.
  const bounded = subject?.id === undefined;
  if (bounded && since !== undefined) {
    conditions.push(eb('seq', '>=', sql<number>`(select min(e.seq + 0) from events as e where e.time >= ${since})`));
  }
  if (bounded && until !== undefined) {
    conditions.push(eb('seq', '<=', sql<number>`(select max(e.seq + 0) from events as e where e.time < ${until})`));
  }
  return eb.and(conditions);
}

export function matchesFilter(row: EventRowRead, { tenant, subject, type, typePrefix, since, until }: EventFilter): boolean {
  if (tenant !== undefined && row.tenant !== tenant) return false;
  if (subject && row.subject_type !== subject.type) return false;
  if (subject?.id !== undefined && row.subject_id !== subject.id) return false;
  if (type !== undefined && row.type !== type) return false;
  if (typePrefix !== undefined && !row.type.startsWith(typePrefix)) return false;
  if (since !== undefined && row.time < since) return false;
  return until === undefined || row.time < until;
}

export type EventRowRead = Omit<EventRow, 'seq'> & { readonly seq: number };
