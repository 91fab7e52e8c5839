/** What people see of the outbox: deliveries one by one, and how each webhook does. */

import { BoxError, type DeliveryState, type Page, type Webhook, type WebhookDelivery } from '@skillbox/protocol';
import { decodeCursor, encodeCursor } from '../../store/cursor.ts';
import type { Database } from '../../store/database.ts';
import type { Events } from '../events.ts';

export interface DeliveryFilter {
  readonly state?: DeliveryState;
  readonly limit: number;
  readonly cursor?: string;
}

export type Standing = Pick<Webhook, 'state' | 'since' | 'error' | 'pending' | 'dead' | 'events_behind'>;

export interface Standings {
  /** Newest first. */
  list(key: string, filter: DeliveryFilter): Promise<Page<WebhookDelivery>>;
  of(keys: readonly string[]): Promise<ReadonlyMap<string, Standing>>;
}

export function createStandings({ kysely }: Database, events: Events): Standings {
  return {
    async list(key, { state, limit, cursor }) {
      let query = kysely
        .selectFrom('webhook_deliveries as d')
        .leftJoin('events as e', 'e.seq', 'd.seq')
        .select(['d.seq', 'd.subject', 'd.state', 'd.attempts', 'd.next_at', 'd.status', 'd.error', 'd.finished_at', 'e.id', 'e.type'])
        .where('d.hook', '=', key)
        .orderBy('d.seq', 'desc')
        .limit(limit + 1);
      if (state) query = query.where('d.state', '=', state);
      if (cursor) query = query.where('d.seq', '<', seqOf(cursor));
      const rows = await query.execute();
      const items = rows.slice(0, limit).map(({ id, type, subject, next_at, ...row }): WebhookDelivery => {
        const [subjectType = '', ...subjectId] = subject.split(':');
        return {
          ...row,
          state: row.state as DeliveryState,
          event_id: id ?? '',
          type: type ?? '',
          subject: { type: subjectType, id: subjectId.join(':') },
          next_attempt_at: row.state === 'pending' && next_at > 0 ? new Date(next_at).toISOString() : null,
        };
      });
      const last = items.at(-1);
      return { items, next_cursor: rows.length > limit && last ? encodeCursor(String(last.seq)) : null };
    },

    async of(keys) {
      if (keys.length === 0) return new Map();
      const newest = await events.lastSeq();
      const cursors = await kysely.selectFrom('webhook_cursors').selectAll().where('hook', 'in', keys).execute();
      const counts = await kysely
        .selectFrom('webhook_deliveries')
        .select(['hook', 'state', ({ fn }) => fn.countAll<number>().as('count')])
        .where('hook', 'in', keys)
        .where('state', 'in', ['pending', 'dead'])
        .groupBy(['hook', 'state'])
        .execute();
      const failing = await kysely
        .selectFrom('webhook_deliveries')
        .select(['hook', 'failing_since', 'error'])
        .where('hook', 'in', keys)
        .where('state', '=', 'pending')
        .where('failing_since', 'is not', null)
        .orderBy('seq', 'desc')
        .execute();
      const count = (key: string, state: DeliveryState): number =>
        Number(counts.find((row) => row.hook === key && row.state === state)?.count ?? 0);
      // The oldest one is the last of the list, and so the one that stays.
      const oldest = new Map(failing.map((row) => [row.hook, row]));
      return new Map(
        cursors.map(({ hook, position, away_since }): [string, Standing] => {
          const row = oldest.get(hook);
          const failingSince = row?.failing_since == null ? null : new Date(row.failing_since).toISOString();
          return [
            hook,
            {
              state: away_since !== null ? 'away' : failingSince !== null ? 'failing' : 'ok',
              since: away_since ?? failingSince,
              error: row?.error ?? null,
              pending: count(hook, 'pending'),
              dead: count(hook, 'dead'),
              events_behind: Math.max(0, newest - position),
            },
          ];
        }),
      );
    },
  };
}

function seqOf(cursor: string): number {
  const [text] = decodeCursor(cursor, 1);
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new BoxError('invalid_cursor', 'This cursor was not made by the box.');
}
