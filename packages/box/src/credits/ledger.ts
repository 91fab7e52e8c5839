/**
 * The ledger of credits: entries are only appended, each once by its key, and the balance is changed in the same transaction
 * by an update that refuses to go below zero. Amounts are whole millionths of a credit.
 */

import { randomUUID } from 'node:crypto';
import { BoxError, type CreditBalance, type CreditEntry, type CreditEntryKind, type Page } from '@skillbox/protocol';
import { type Kysely, sql } from 'kysely';
import { decodeCursor, encodeCursor } from '../store/cursor.ts';
import type { Database } from '../store/database.ts';
import type { CreditEntryRow, Tables } from '../store/tables.ts';

export type Tx = Kysely<Tables>;

export interface Ledger {
  balance(tenant: string): Promise<CreditBalance>;
  /** The same `key` again is the same grant: it answers with the first one. */
  grant(grant: Grant): Promise<CreditEntry>;
  /** Newest first. */
  history(tenant: string, filter: { readonly limit: number; readonly cursor?: string }): Promise<Page<CreditEntry>>;
}

export interface Grant {
  readonly tenant: string;
  readonly amount: number;
  readonly note: string | null;
  readonly actor: string;
  readonly key?: string;
}

/** An entry that is about a sandbox. */
export interface Posting {
  readonly tenant: string;
  readonly kind: Exclude<CreditEntryKind, 'grant'>;
  readonly amount: number;
  readonly sandbox: string;
  readonly key: string;
}

const millionths = 1_000_000;
/** Far below what a number holds exactly. */
const mostHeld = 4_000_000_000 * millionths;

export const toMillionths = (credits: number): number => Math.round(credits * millionths);
export const toCredits = (amount: number): number => amount / millionths;

export function createLedger(database: Database): Ledger {
  const { kysely } = database;

  const addGrant = (tx: Tx, { tenant, note, actor }: Grant, key: string, amount: number) =>
    tx
      .insertInto('credit_entries')
      .values({ tenant, kind: 'grant', amount, sandbox: null, key, note, actor, created_at: new Date().toISOString() })
      .onConflict((conflict) => conflict.columns(['tenant', 'key']).doNothing())
      .returningAll()
      .executeTakeFirst();

  return {
    async balance(tenant) {
      // One statement, so that the numbers are of one moment.
      const row = await kysely
        .selectFrom('credit_balances')
        .select(['available', 'held'])
        .select((eb) =>
          eb
            .selectFrom('credit_entries')
            .select(({ fn }) => fn.sum<number>('amount').as('sum'))
            .where('tenant', '=', tenant)
            .where('kind', '=', 'grant')
            .as('granted'),
        )
        .where('tenant', '=', tenant)
        .executeTakeFirst();
      const { available, held } = row ?? { available: 0, held: 0 };
      const granted = row?.granted ?? 0;
      return {
        tenant,
        available: toCredits(available),
        held: toCredits(held),
        spent: toCredits(granted - available - held),
        granted: toCredits(granted),
      };
    },

    grant(grant) {
      const amount = toMillionths(grant.amount);
      const key = `grant/${grant.key ?? randomUUID()}`;
      return database.transaction(async (tx) => {
        const added = await addGrant(tx, grant, key, amount);
        if (!added) {
          const first = await tx
            .selectFrom('credit_entries')
            .selectAll()
            .where('tenant', '=', grant.tenant)
            .where('key', '=', key)
            .executeTakeFirstOrThrow();
          if (first.amount === amount && first.note === grant.note) return describe(first);
          throw new BoxError('idempotency_conflict', 'This Idempotency-Key was used for another grant.');
        }
        await tx
          .insertInto('credit_balances')
          .values({ tenant: grant.tenant, available: amount, held: 0 })
          .onConflict((conflict) =>
            conflict.column('tenant').doUpdateSet({ available: sql<number>`credit_balances.available + ${amount}` }),
          )
          .execute();
        const { available } = await tx
          .selectFrom('credit_balances')
          .select('available')
          .where('tenant', '=', grant.tenant)
          .executeTakeFirstOrThrow();
        if (available > mostHeld) throw new BoxError('bad_request', `/amount: a tenant can have at most ${toCredits(mostHeld)} credits.`);
        return describe(added);
      });
    },

    async history(tenant, { limit, cursor }) {
      let query = kysely
        .selectFrom('credit_entries')
        .selectAll()
        .where('tenant', '=', tenant)
        .orderBy('seq', 'desc')
        .limit(limit + 1);
      if (cursor !== undefined) query = query.where('seq', '<', seqOf(cursor));
      const rows = await query.execute();
      const items = rows.slice(0, limit);
      const last = items.at(-1);
      return { items: items.map(describe), next_cursor: rows.length > limit && last ? encodeCursor(String(last.seq)) : null };
    },
  };
}

/** In the caller's transaction. False when the tenant has not that much; then nothing was changed. */
export async function post(tx: Tx, { tenant, kind, amount, sandbox, key }: Posting): Promise<boolean> {
  if (amount === 0) return true;
  const { available, held } = effects[kind];
  const { numUpdatedRows } = await tx
    .updateTable('credit_balances')
    .set({
      available: sql<number>`available + ${available * amount}`,
      held: sql<number>`held + ${held * amount}`,
    })
    .where('tenant', '=', tenant)
    .where('available', '>=', available < 0 ? amount : 0)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  await tx
    .insertInto('credit_entries')
    .values({ tenant, kind, amount, sandbox, key, note: null, actor: 'atm:box', created_at: new Date().toISOString() })
    .execute();
  return true;
}

const effects = {
  hold: { available: -1, held: 1 },
  settle: { available: 0, held: -1 },
  release: { available: 1, held: -1 },
} as const;

function seqOf(cursor: string): number {
  const seq = Number(decodeCursor(cursor, 1)[0]);
  if (Number.isSafeInteger(seq)) return seq;
  throw new BoxError('invalid_cursor', 'This cursor is none of ours.');
}

function describe({ seq, tenant, kind, amount, sandbox, note, actor, created_at }: Required<SelectedEntry>): CreditEntry {
  return { seq, time: created_at, tenant, kind: kind as CreditEntryKind, amount: toCredits(amount), sandbox, note, actor };
}

type SelectedEntry = Omit<CreditEntryRow, 'seq'> & { seq: number };
