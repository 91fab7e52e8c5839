/**
 * The outbox: for each webhook a position in the table of events, and the deliveries that came out of what lies before it.
 * Both move in one transaction, so that a crash neither loses nor adds one. The deliveries of one subject are taken one
 * after the other. Every change names the state it expects: a host that was taken for gone changes nothing.
 */

import { BoxError, type BoxEvent, type DeliveryState } from '@skillbox/protocol';
import { sql } from 'kysely';
import { clockMs } from '../../store/clock.ts';
import type { Database } from '../../store/database.ts';
import type { WebhookDeliveryRow } from '../../store/tables.ts';
import type { Events } from '../events.ts';
import { asEvent } from '../row.ts';
import type { Hook } from './hooks.ts';
import { matchesPattern } from './patterns.ts';
import type { Timing } from './timing.ts';

export interface Head {
  readonly seq: number;
  readonly subject: string;
  readonly attempts: number;
  /** How long it has been failing; 0 when it has not. */
  readonly failingMs: number;
}

export interface HeadsQuery {
  readonly limit: number;
  /** Subjects with an attempt under way. */
  readonly except: ReadonlySet<string>;
  /** Also those whose time has not come, the least tried first: a question whether the hub is back. */
  readonly probe: boolean;
}

export interface Failure {
  readonly status: number | null;
  readonly error: string;
}

export interface Outbox {
  /** Only what happens from now on; one that is known goes on where it was. */
  begin(key: string): Promise<void>;
  /** Looks at new events for the webhooks. Tells which got deliveries, and whether there are more events to look at. */
  fill(hooks: readonly Hook[]): Promise<{ readonly added: ReadonlySet<string>; readonly more: boolean }>;
  /** The oldest delivery of each subject, if its time has come, and in how many milliseconds that of the next one has. */
  heads(key: string, query: HeadsQuery): Promise<{ readonly heads: Head[]; readonly nextMs: number | null }>;
  /** undefined when it is no longer there. */
  eventOf(seq: number): Promise<BoxEvent | undefined>;
  delivered(key: string, seq: number, status: number): Promise<void>;
  failed(key: string, seq: number, failure: Failure, retryMs: number): Promise<void>;
  giveUp(key: string, seq: number, failure: Failure): Promise<void>;
  isAway(key: string): Promise<boolean>;
  hubAway(key: string): Promise<void>;
  /** The time it was away does not count against what waited. */
  hubBack(key: string): Promise<void>;
  /** Those given up wait again, and those that wait need not wait longer. */
  retry(key: string, eventId?: string): Promise<number>;
  pending(keys: readonly string[]): Promise<number>;
  /** Old ones that are over. */
  prune(keys: readonly string[]): Promise<void>;
}

const batchSize = 500;
/** Three parameters for each row. */
const rowsPerInsert = 500;
const longestError = 300;

export function createOutbox(database: Database, events: Events, { window, kept }: Pick<Timing, 'window' | 'kept'>): Outbox {
  const { kysely, kind } = database;
  const now = () => clockMs(kind);
  const deliveries = (key: string) => kysely.selectFrom('webhook_deliveries').where('hook', '=', key);
  const pendingOne = (key: string, seq: number) =>
    kysely.updateTable('webhook_deliveries').where('hook', '=', key).where('seq', '=', seq).where('state', '=', 'pending');
  const finish = (key: string, seq: number, state: DeliveryState, outcome: { status: number | null; error: string | null }) =>
    pendingOne(key, seq)
      .set(({ eb }) => ({
        ...outcome,
        state,
        attempts: eb('attempts', '+', 1),
        failing_since: null,
        finished_at: new Date().toISOString(),
      }))
      .execute();

  const countPending = async (keys: readonly string[]): Promise<Map<string, number>> => {
    const rows = await kysely
      .selectFrom('webhook_deliveries')
      .select(['hook', ({ fn }) => fn.countAll<number>().as('count')])
      .where('hook', 'in', keys)
      .where('state', '=', 'pending')
      .groupBy('hook')
      .execute();
    return new Map(rows.map(({ hook, count }) => [hook, Number(count)]));
  };

  /** One batch for all webhooks that stand at the same place, which in quiet times is all of them. */
  const fillFrom = async (position: number, group: readonly { readonly hook: Hook; readonly room: number }[]) => {
    const batch = await events.list({ afterSeq: position, limit: batchSize });
    const rows: Pick<WebhookDeliveryRow, 'hook' | 'seq' | 'subject'>[] = [];
    const moves = new Map<number, string[]>();
    for (const { hook, room } of group) {
      const { wanted, reached } = take(hook, batch, room);
      for (const event of wanted) rows.push({ hook: hook.key, seq: event.seq, subject: `${event.subject.type}:${event.subject.id}` });
      if (reached > position) moves.set(reached, [...(moves.get(reached) ?? []), hook.key]);
    }
    const moved = new Set<string>();
    if (moves.size > 0)
      await database.transaction(async (tx) => {
        for (const [reached, keys] of moves) {
          const done = await tx
            .updateTable('webhook_cursors')
            .set({ position: reached })
            .where('hook', 'in', keys)
            // Another host may have been here.
            .where('position', '=', position)
            .returning('hook')
            .execute();
          for (const { hook } of done) moved.add(hook);
        }
        const own = rows.filter(({ hook }) => moved.has(hook));
        for (let from = 0; from < own.length; from += rowsPerInsert)
          await tx
            .insertInto('webhook_deliveries')
            .values(own.slice(from, from + rowsPerInsert))
            .execute();
      });
    return { added: rows.map(({ hook }) => hook).filter((hook) => moved.has(hook)), full: batch.length === batchSize };
  };

  return {
    async begin(key) {
      const position = await events.lastSeq();
      await kysely
        .insertInto('webhook_cursors')
        .values({ hook: key, position, away_since: null })
        .onConflict((conflict) => conflict.column('hook').doNothing())
        .execute();
    },

    async fill(hooks) {
      const added = new Set<string>();
      if (hooks.length === 0) return { added, more: false };
      const keys = hooks.map(({ key }) => key);
      const newest = await events.lastSeq();
      const cursors = await kysely
        .selectFrom('webhook_cursors')
        .select(['hook', 'position'])
        .where('hook', 'in', keys)
        .where('position', '<', newest)
        .execute();
      if (cursors.length === 0) return { added, more: false };
      const waiting = await countPending(keys);
      const byKey = new Map(hooks.map((hook) => [hook.key, hook]));
      const groups = new Map<number, { hook: Hook; room: number }[]>();
      for (const { hook: key, position } of cursors) {
        const hook = byKey.get(key);
        const room = window - (waiting.get(key) ?? 0);
        if (hook && room > 0) groups.set(position, [...(groups.get(position) ?? []), { hook, room }]);
      }
      let more = false;
      for (const [position, group] of groups) {
        const filled = await fillFrom(position, group);
        for (const key of filled.added) added.add(key);
        more ||= filled.full;
      }
      return { added, more };
    },

    async heads(key, { limit, except, probe }) {
      const rows = await kysely
        .selectFrom('webhook_deliveries')
        .select(['seq', 'subject', 'attempts', 'next_at', 'failing_since', now().as('now')])
        .where('hook', '=', key)
        .where('state', '=', 'pending')
        .where(
          'seq',
          'in',
          deliveries(key)
            .select(({ fn }) => fn.min('seq').as('seq'))
            .where('state', '=', 'pending')
            .groupBy('subject'),
        )
        .orderBy('seq')
        .execute();
      const free = rows.filter(({ subject }) => !except.has(subject));
      const due = probe ? free.sort((a, b) => a.attempts - b.attempts) : free.filter((row) => row.next_at <= row.now);
      const waits = free.filter((row) => row.next_at > row.now).map((row) => row.next_at - row.now);
      return {
        heads: due.slice(0, limit).map((row) => ({
          ...{ seq: row.seq, subject: row.subject, attempts: row.attempts },
          failingMs: row.failing_since === null ? 0 : row.now - row.failing_since,
        })),
        nextMs: waits.length > 0 ? Math.min(...waits) : null,
      };
    },

    async eventOf(seq) {
      const row = await kysely.selectFrom('events').selectAll().where('seq', '=', seq).executeTakeFirst();
      return row && asEvent(row);
    },

    async delivered(key, seq, status) {
      await finish(key, seq, 'delivered', { status, error: null });
    },

    async failed(key, seq, { status, error }, retryMs) {
      await pendingOne(key, seq)
        .set(({ eb }) => ({
          ...{ status, error: error.slice(0, longestError), attempts: eb('attempts', '+', 1) },
          next_at: sql<number>`${now()} + ${Math.round(retryMs)}`,
          failing_since: sql<number>`coalesce(failing_since, ${now()})`,
        }))
        .execute();
    },

    async giveUp(key, seq, { status, error }) {
      await finish(key, seq, 'dead', { status, error: error.slice(0, longestError) });
    },

    async isAway(key) {
      const row = await kysely.selectFrom('webhook_cursors').select('away_since').where('hook', '=', key).executeTakeFirst();
      return row?.away_since != null;
    },

    async hubAway(key) {
      await kysely
        .updateTable('webhook_cursors')
        .set({ away_since: new Date().toISOString() })
        .where('hook', '=', key)
        .where('away_since', 'is', null)
        .execute();
    },

    async hubBack(key) {
      await database.transaction(async (tx) => {
        await tx.updateTable('webhook_cursors').set({ away_since: null }).where('hook', '=', key).execute();
        await tx
          .updateTable('webhook_deliveries')
          .set({ next_at: 0, failing_since: null })
          .where('hook', '=', key)
          .where('state', '=', 'pending')
          .execute();
      });
    },

    async retry(key, eventId) {
      let query = kysely
        .updateTable('webhook_deliveries')
        .set({ state: 'pending', attempts: 0, next_at: 0, failing_since: null, finished_at: null })
        .where('hook', '=', key)
        .where('state', 'in', ['dead', 'pending']);
      if (eventId !== undefined) {
        const event = await kysely
          .selectFrom('webhook_deliveries as d')
          .innerJoin('events as e', 'e.seq', 'd.seq')
          .select('d.seq')
          .where('d.hook', '=', key)
          .where('e.id', '=', eventId)
          .executeTakeFirst();
        if (!event) throw new BoxError('not_found', `This webhook has no delivery of event ${eventId}.`);
        query = query.where('seq', '=', event.seq);
      }
      const { numUpdatedRows } = await query.executeTakeFirst();
      return Number(numUpdatedRows);
    },

    async pending(keys) {
      if (keys.length === 0) return 0;
      return [...(await countPending(keys)).values()].reduce((sum, count) => sum + count, 0);
    },

    async prune(keys) {
      for (const key of keys)
        for (const state of ['delivered', 'dead'] as const) {
          const oldest = await deliveries(key)
            .select('seq')
            .where('state', '=', state)
            .orderBy('seq', 'desc')
            .offset(kept)
            .limit(1)
            .executeTakeFirst();
          if (!oldest) continue;
          await kysely
            .deleteFrom('webhook_deliveries')
            .where('hook', '=', key)
            .where('state', '=', state)
            .where('seq', '<=', oldest.seq)
            .execute();
        }
    },
  };
}

/** What the webhook wants of the batch, and how far it has been looked at: to its end, or to where the room was used up. */
function take(hook: Hook, batch: readonly BoxEvent[], room: number): { readonly wanted: BoxEvent[]; readonly reached: number } {
  const wanted: BoxEvent[] = [];
  let reached = -1;
  for (const event of batch) {
    const fits = (hook.tenant === null || hook.tenant === event.tenant) && matchesPattern(hook.events, event.type);
    if (fits && wanted.length === room) return { wanted, reached };
    if (fits) wanted.push(event);
    reached = event.seq;
  }
  return { wanted, reached };
}
