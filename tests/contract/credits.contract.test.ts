/** Sums that hold whatever happens at once, on both databases. */

import { expect, it } from 'vitest';
import { createLedger, toMillionths } from '../../packages/box/src/credits/ledger.ts';
import { costOf, createMeter, type Meter } from '../../packages/box/src/credits/meter.ts';
import type { Database } from '../../packages/box/src/store/database.ts';
import { type DatabaseFixture, describeDatabases } from './databases.ts';

const hour = 3600_000;
const start = Date.parse('2026-01-01T00:00:00Z');

describeDatabases('credits', (fixture) => {
  it('500 creates and destroys at once on one balance end in exactly the right sum', async () => {
    const { ledger, meter, database } = await open(fixture);
    await grant(ledger, 1000);
    const lives = Array.from({ length: 500 }, (_, index) => ({ sandbox: `i${index}`, seconds: index % 97, price: 1 + (index % 7) }));
    await Promise.all(lives.map(async ({ sandbox, price }) => begin(database, meter, { sandbox, pricePerHour: price, ttlMs: 600_000 })));
    // Each ends some seconds later, all at the same time, each twice.
    let expected = 0;
    for (const { seconds, price } of lives) expected += costOf(toMillionths(price), seconds * 1000);
    const at = new Map(lives.map(({ sandbox, seconds }) => [sandbox, start + seconds * 1000]));
    const timed = lives.map(({ sandbox }) => createMeter(database, () => at.get(sandbox) ?? Number.NaN));
    const ends = lives.flatMap(({ sandbox }, index) => [0, 1].map(() => end(database, timed[index] as Meter, sandbox)));
    await Promise.all([...ends, ...Array.from({ length: 20 }, () => grant(ledger, 1))]);

    const balance = await ledger.balance('acme');
    expect(toMillionths(balance.spent)).toBe(expected);
    expect(balance).toMatchObject({ granted: 1020, held: 0, available: 1020 - balance.spent });
    expect(await sums(database)).toEqual({ available: toMillionths(balance.available), held: 0, spent: expected });
  });

  it('is never negative: of many that want the last credits as many get them as there are', async () => {
    const { ledger, meter, database } = await open(fixture);
    await grant(ledger, 7.5);
    const results = await Promise.allSettled(
      Array.from({ length: 60 }, (_, index) => begin(database, meter, { sandbox: `i${index}`, pricePerHour: 1, ttlMs: hour })),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(7);
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'insufficient_credits', status: 402 });
    expect(await ledger.balance('acme')).toEqual({ tenant: 'acme', available: 0.5, held: 7, spent: 0, granted: 7.5 });
    expect(await database.kysely.selectFrom('credit_meters').select('sandbox').execute()).toHaveLength(7);
  });

  it('what has no price touches nothing, also without any credits', async () => {
    const { meter, database, ledger } = await open(fixture);
    await begin(database, meter, { sandbox: 'free', pricePerHour: 0, ttlMs: hour });
    await end(database, meter, 'free');
    expect(await ledger.history('acme', { limit: 10 })).toEqual({ items: [], next_cursor: null });
    expect(await database.kysely.selectFrom('credit_balances').selectAll().execute()).toEqual([]);
  });

  it('a hold and what it is for are one: a transaction that fails leaves neither', async () => {
    const { meter, database, ledger } = await open(fixture);
    await grant(ledger, 5);
    const crash = database.transaction(async (tx) => {
      await meter.begin(tx, { sandbox: 'i1', tenant: 'acme', pricePerHour: 1, expiresAt: null });
      throw new Error('killed');
    });
    await expect(crash).rejects.toThrow('killed');
    await begin(database, meter, { sandbox: 'i2', pricePerHour: 1, ttlMs: hour });
    await expect(
      database.transaction(async (tx) => {
        await meter.end(tx, { id: 'i2', ready_at: new Date(start).toISOString(), expires_at: null });
        throw new Error('killed');
      }),
    ).rejects.toThrow('killed');
    expect(await ledger.balance('acme')).toMatchObject({ available: 4, held: 1, spent: 0 });
  });

  it('what never became ready costs nothing; the second life of a sandbox is paid anew', async () => {
    const { meter, database, ledger, clock } = await open(fixture);
    await grant(ledger, 5);
    await begin(database, meter, { sandbox: 'i1', pricePerHour: 1, ttlMs: hour });
    clock.at += 60_000;
    await end(database, meter, 'i1', null);
    expect(await ledger.balance('acme')).toMatchObject({ available: 5, held: 0, spent: 0 });
    for (const life of [1, 2]) {
      await begin(database, meter, { sandbox: 'i1', pricePerHour: 1, ttlMs: hour });
      clock.at += 0.5 * hour;
      await end(database, meter, 'i1', new Date(clock.at).toISOString());
      expect(await ledger.balance('acme')).toMatchObject({ available: 5 - life / 2, held: 0, spent: life / 2 });
    }
  });

  it('settles every hour and holds the next, once for all hosts, until nothing is left', async () => {
    const { meter, database, ledger, clock } = await open(fixture);
    await grant(ledger, 2.5);
    await sandboxRow(database, 'i1', new Date(start + 24 * hour).toISOString());
    await begin(database, meter, { sandbox: 'i1', pricePerHour: 1, ttlMs: 24 * hour });
    clock.at += hour - 1;
    expect(await meter.renew('h')).toEqual([]);
    expect(await ledger.balance('acme')).toMatchObject({ available: 1.5, held: 1, spent: 0 });
    clock.at += 1;
    expect(await meter.renew('another')).toEqual([]);
    await Promise.all(Array.from({ length: 5 }, () => meter.renew('h')));
    expect(await ledger.balance('acme')).toMatchObject({ available: 0.5, held: 1, spent: 1 });
    clock.at += hour;
    expect(await meter.renew('h')).toEqual(['i1']);
    expect(await ledger.balance('acme')).toMatchObject({ available: 0.5, held: 0, spent: 2 });
    clock.at += 60_000;
    await end(database, meter, 'i1');
    const { spent, held } = await ledger.balance('acme');
    expect({ spent: toMillionths(spent), held }).toEqual({ spent: costOf(1_000_000, 2 * hour + 60_000), held: 0 });
  });

  it('after an absence of hours the whole time is charged, once, as far as there are credits', async () => {
    const { meter, database, ledger, clock } = await open(fixture);
    await grant(ledger, 10);
    for (const id of ['i1', 'i2']) {
      await sandboxRow(database, id, null);
      await begin(database, meter, { sandbox: id, pricePerHour: 1, ttlMs: hour });
    }
    clock.at += 4 * hour;
    await end(database, meter, 'i1');
    expect(await meter.renew('h')).toEqual([]);
    expect(await ledger.balance('acme')).toMatchObject({ available: 1, held: 1, spent: 8 });
    clock.at += 9 * hour;
    await end(database, meter, 'i2');
    expect(await ledger.balance('acme')).toEqual({ tenant: 'acme', available: 0, held: 0, spent: 10, granted: 10 });
  });

  it('nothing is charged beyond the time it was given, however late it is ended or however far the clock jumps', async () => {
    const { meter, database, ledger, clock } = await open(fixture);
    await grant(ledger, 10);
    await begin(database, meter, { sandbox: 'i1', pricePerHour: 1, ttlMs: 0.5 * hour });
    clock.at += 40 * 24 * hour;
    await end(database, meter, 'i1', undefined, new Date(start + 0.5 * hour).toISOString());
    expect(await ledger.balance('acme')).toMatchObject({ available: 9.5, held: 0, spent: 0.5 });
    await begin(database, meter, { sandbox: 'i2', pricePerHour: 1, ttlMs: hour });
    clock.at = start;
    await end(database, meter, 'i2', new Date(clock.at + 41 * 24 * hour).toISOString());
    expect(await ledger.balance('acme')).toMatchObject({ available: 9.5, held: 0, spent: 0.5 });
  });

  it('gives a grant with a key once, and refuses another under the same key', async () => {
    const { ledger } = await open(fixture);
    const once = { tenant: 'acme', amount: 3, note: 'May', actor: 'adm:test', key: 'k' };
    const given = await Promise.all(Array.from({ length: 5 }, () => ledger.grant(once)));
    expect(new Set(given.map(({ seq }) => seq)).size).toBe(1);
    await expect(ledger.grant({ ...once, amount: 4 })).rejects.toMatchObject({ code: 'idempotency_conflict' });
    expect(await ledger.balance('acme')).toMatchObject({ granted: 3 });
  });
});

type Ledger = ReturnType<typeof createLedger>;

async function open(fixture: DatabaseFixture) {
  const database = await fixture.server();
  const clock = { at: start };
  return { database, clock, ledger: createLedger(database), meter: createMeter(database, () => clock.at) };
}

const grant = (ledger: Ledger, amount: number) => ledger.grant({ tenant: 'acme', amount, note: null, actor: 'adm:test' });

const begin = (
  database: Database,
  meter: Meter,
  { sandbox, pricePerHour, ttlMs }: { sandbox: string; pricePerHour: number; ttlMs: number },
): Promise<void> =>
  database.transaction((tx) =>
    meter.begin(tx, {
      ...{ sandbox, tenant: 'acme', pricePerHour },
      // The clock of a test may have moved on; the first period is measured from where it stands.
      expiresAt: ttlMs >= hour ? null : new Date(start + ttlMs).toISOString(),
    }),
  );

const end = (
  database: Database,
  meter: Meter,
  sandbox: string,
  readyAt: string | null = '2026-01-01T00:00:00.000Z',
  expiresAt: string | null = null,
): Promise<void> => database.transaction((tx) => meter.end(tx, { id: sandbox, ready_at: readyAt, expires_at: expiresAt }));

async function sums(database: Database) {
  const rows = await database.kysely.selectFrom('credit_entries').select(['kind', 'amount']).where('tenant', '=', 'acme').execute();
  const of = (kind: string): number => rows.filter((row) => row.kind === kind).reduce((sum, { amount }) => sum + amount, 0);
  return {
    available: of('grant') - of('hold') + of('release'),
    held: of('hold') - of('settle') - of('release'),
    spent: of('settle'),
  };
}

/** Only what the meter looks at. */
async function sandboxRow(database: Database, id: string, expiresAt: string | null): Promise<void> {
  await database.kysely
    .insertInto('sandboxes')
    .values({
      ...{ id, tenant: 'acme', state: 'ready', template_name: 'x@1', template: '{}', provider: null, tier: null, ref: null, host: 'h' },
      ...{ labels: '{}', request: '', lineage: '[]', on_idle: 'keep', idle_ms: null, on_expiry: 'destroy' },
      ...{ created_at: '', ready_at: null, expires_at: expiresAt, last_used_at: null, ended_at: null, reason: null, pause_cause: null },
      ...{ route: '[]', actor: 'adm:test' },
    })
    .execute();
}
