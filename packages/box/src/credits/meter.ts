/**
 * What a priced sandbox costs: a hold when its life begins, settled by whole seconds each time it runs out and at the end, the
 * rest released. Each step is part of the transaction that changes the sandbox, so a crash finds either both or neither.
 */

import { BoxError } from '@skillbox/protocol';
import type { Database } from '../store/database.ts';
import type { CreditMeterRow, SandboxRow } from '../store/tables.ts';
import { post, type Tx, toCredits, toMillionths } from './ledger.ts';

export interface Meter {
  /** In the transaction that begins its life; throws insufficient_credits. What has no price is not metered. */
  begin(tx: Tx, life: Life): Promise<void>;
  /**
   * In the transaction that ends its life. Nothing is charged when it never became ready, nor for what lies behind the end of its
   * time: a server that was away, or a clock that jumped, is not the tenant's to pay. A second time does nothing.
   */
  end(tx: Tx, sandbox: Pick<SandboxRow, 'id' | 'ready_at' | 'expires_at'>): Promise<void>;
  /** Settles and holds anew for sandboxes of the host whose hold has run out; returns those that cannot pay any more. */
  renew(host: string): Promise<string[]>;
}

export interface Life {
  readonly sandbox: string;
  readonly tenant: string;
  /** In credits. */
  readonly pricePerHour: number;
  readonly expiresAt: string | null;
  /** Milliseconds since the epoch. Default: now. */
  readonly startedAt?: number;
}

const hourMs = 3600_000;

export function createMeter(database: Database, now: () => number = Date.now): Meter {
  return {
    async begin(tx, { sandbox, tenant, pricePerHour, expiresAt, startedAt: started = now() }) {
      const price = toMillionths(pricePerHour);
      if (price === 0) return;
      const last = await tx
        .selectFrom('credit_meters')
        .select(({ fn }) => fn.max('life').as('life'))
        .where('sandbox', '=', sandbox)
        .executeTakeFirst();
      const paidUntil = endOfPeriod(started, expiresAt);
      const meter: CreditMeterRow = {
        ...{ sandbox, tenant, life: (last?.life ?? 0) + 1, price_per_hour: price, started_at: started, paid_until: paidUntil },
        ...{ period: 1, held: costOf(price, paidUntil - started), settled: 0, closed_at: null },
      };
      await tx.insertInto('credit_meters').values(meter).execute();
      if (await post(tx, { tenant, kind: 'hold', amount: meter.held, sandbox, key: keyOf('hold', meter) })) return;
      throw new BoxError(
        'insufficient_credits',
        `Tenant ${tenant} needs ${toCredits(meter.held)} credits to begin a sandbox of this template.`,
        {
          details: { needed: toCredits(meter.held) },
        },
      );
    },

    async end(tx, { id: sandbox, ready_at: readyAt, expires_at: expiresAt }) {
      const meter = await tx
        .updateTable('credit_meters')
        .set({ closed_at: new Date(now()).toISOString() })
        .where('sandbox', '=', sandbox)
        .where('closed_at', 'is', null)
        .returningAll()
        .executeTakeFirst();
      if (!meter) return;
      const free = readyAt === null || Date.parse(readyAt) < meter.started_at;
      const until = Math.min(now(), expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt));
      const settled = await settle(tx, meter, free ? 0 : costOf(meter.price_per_hour, until - meter.started_at));
      await tx
        .updateTable('credit_meters')
        .set({ held: 0, settled })
        .where('sandbox', '=', sandbox)
        .where('life', '=', meter.life)
        .execute();
    },

    async renew(host) {
      const due = await database.kysely
        .selectFrom('credit_meters')
        .innerJoin('sandboxes', 'sandboxes.id', 'credit_meters.sandbox')
        .select(['credit_meters.sandbox', 'credit_meters.life', 'credit_meters.paid_until', 'sandboxes.expires_at'])
        .where('sandboxes.host', '=', host)
        .where('closed_at', 'is', null)
        .where('paid_until', '<=', now())
        .execute();
      const unpaid: string[] = [];
      for (const { sandbox, life, paid_until, expires_at } of due) {
        // What expires now is about to end, and is settled then.
        if (expires_at !== null && Date.parse(expires_at) <= now()) continue;
        const paid = await database.transaction((tx) => renewOne(tx, { sandbox, life, paid_until, expires_at }));
        if (!paid) unpaid.push(sandbox);
      }
      return unpaid;
    },
  };

  /** True when it is paid, also by somebody else meanwhile. */
  async function renewOne(
    tx: Tx,
    { sandbox, life, paid_until, expires_at }: Pick<CreditMeterRow, 'sandbox' | 'life' | 'paid_until'> & { expires_at: string | null },
  ): Promise<boolean> {
    const at = now();
    const until = endOfPeriod(at, expires_at);
    const meter = await tx
      .updateTable('credit_meters')
      .set(({ eb }) => ({ paid_until: until, period: eb('period', '+', 1) }))
      .where('sandbox', '=', sandbox)
      .where('life', '=', life)
      .where('paid_until', '=', paid_until)
      .where('closed_at', 'is', null)
      .returningAll()
      .executeTakeFirst();
    if (!meter) return true;
    const elapsed = at - meter.started_at;
    const settled = await settle(tx, { ...meter, period: meter.period - 1 }, costOf(meter.price_per_hour, elapsed));
    const next = costOf(meter.price_per_hour, until - meter.started_at) - costOf(meter.price_per_hour, elapsed);
    const paid = await post(tx, { tenant: meter.tenant, kind: 'hold', amount: next, sandbox, key: keyOf('hold', meter) });
    await tx
      .updateTable('credit_meters')
      // What cannot pay is asked again at the next look, unless it has ended by then.
      .set({ settled, held: paid ? next : 0, ...(!paid && { paid_until: at }) })
      .where('sandbox', '=', sandbox)
      .where('life', '=', life)
      .execute();
    return paid;
  }
}

/** Charges what is due of `cost`, releases the rest of the hold; returns what has been charged in all. */
async function settle(tx: Tx, meter: CreditMeterRow, cost: number): Promise<number> {
  const { tenant, sandbox } = meter;
  const due = Math.max(0, cost - meter.settled);
  // A server that was away lets a sandbox live beyond its hold. That time is paid as far as there are credits.
  const extra = due > meter.held ? await holdUpTo(tx, meter, due - meter.held) : 0;
  const charged = Math.min(due, meter.held + extra);
  await post(tx, { tenant, kind: 'settle', amount: charged, sandbox, key: keyOf('settle', meter) });
  await post(tx, { tenant, kind: 'release', amount: meter.held + extra - charged, sandbox, key: keyOf('release', meter) });
  return meter.settled + charged;
}

async function holdUpTo(tx: Tx, meter: CreditMeterRow, wanted: number): Promise<number> {
  const { tenant, sandbox } = meter;
  // An update that changes nothing locks the row on both databases, so that what is read stays true.
  const balance = await tx
    .updateTable('credit_balances')
    .set(({ ref }) => ({ held: ref('held') }))
    .where('tenant', '=', tenant)
    .returning('available')
    .executeTakeFirst();
  const amount = Math.min(wanted, balance?.available ?? 0);
  await post(tx, { tenant, kind: 'hold', amount, sandbox, key: keyOf('hold-late', meter) });
  return amount;
}

/** An hour, or until the sandbox expires. */
function endOfPeriod(from: number, expiresAt: string | null): number {
  return Math.min(from + hourMs, expiresAt === null ? Number.POSITIVE_INFINITY : Math.max(from, Date.parse(expiresAt)));
}

/** By seconds that have begun; in integers, so that hours add up to exactly the whole. */
export function costOf(pricePerHour: number, ms: number): number {
  const seconds = Math.ceil(Math.max(0, ms) / 1000);
  return Number((BigInt(pricePerHour) * BigInt(seconds)) / 3600n);
}

const keyOf = (kind: string, { sandbox, life, period }: CreditMeterRow): string => `${kind}/${sandbox}/${life}/${period}`;
