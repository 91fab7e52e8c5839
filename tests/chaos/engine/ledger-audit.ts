/** Credits: the entries add up to the balances, what has ended holds nothing, and every grant that was answered is there once. */

import type { Book } from './book.ts';
import type { World } from './world.ts';

const millionths = 1_000_000;

interface Sums {
  readonly tenant: string;
  readonly kind: string;
  readonly sum: number;
}

export async function auditLedger(world: World, book: Book): Promise<string[]> {
  const findings: string[] = [];
  const sums = await world.query<Sums>('select tenant, kind, sum(amount) as sum from credit_entries group by tenant, kind');
  const balances = await world.query<{ tenant: string; available: number; held: number }>(
    'select tenant, available, held from credit_balances',
  );
  for (const { tenant, available, held } of balances) {
    const of = (kind: string): number => Number(sums.find((one) => one.tenant === tenant && one.kind === kind)?.sum ?? 0);
    const free = of('grant') - of('hold') + of('release');
    const bound = of('hold') - of('settle') - of('release');
    if (free !== Number(available)) findings.push(`the entries of ${tenant} leave ${free}, its balance says ${available}`);
    if (bound !== Number(held)) findings.push(`the entries of ${tenant} hold ${bound}, its balance says ${held}`);
    if (Number(available) < 0) findings.push(`the balance of ${tenant} is negative`);
  }
  const meters = await world.query<{ sandbox: string; held: number; closed: number; state: string }>(
    `select sandbox, held, case when closed_at is null then 0 else 1 end as closed, state
       from credit_meters join sandboxes on sandboxes.id = credit_meters.sandbox`,
  );
  for (const { sandbox, held, closed, state } of meters) {
    const over = state === 'destroyed' || state === 'failed';
    if (over !== (closed === 1)) findings.push(`sandbox ${sandbox} is ${state} and its meter is ${closed === 1 ? 'closed' : 'open'}`);
    if (over && Number(held) !== 0) findings.push(`sandbox ${sandbox} is ${state} and holds ${held}`);
  }
  const openHeld = await world.query<{ tenant: string; sum: number }>(
    'select tenant, sum(held) as sum from credit_meters where closed_at is null group by tenant',
  );
  for (const { tenant, held } of balances) {
    const metered = Number(openHeld.find((one) => one.tenant === tenant)?.sum ?? 0);
    if (metered !== Number(held)) findings.push(`the meters of ${tenant} hold ${metered}, its balance ${held}`);
  }
  return [...findings, ...(await auditGrants(world, book))];
}

async function auditGrants(world: World, book: Book): Promise<string[]> {
  const rows = await world.query<{ key: string; tenant: string; amount: number }>(
    `select key, tenant, amount from credit_entries where kind = 'grant'`,
  );
  const byKey = new Map(rows.map((row) => [row.key.replace('grant/', ''), row]));
  const findings: string[] = [];
  for (const [key, { tenant, amount, answered }] of book.grants) {
    const row = byKey.get(key);
    if (!row && answered) findings.push(`the grant ${key} was answered and is not in the ledger`);
    if (row && (row.tenant !== tenant || Number(row.amount) !== amount * millionths))
      findings.push(`the grant ${key} is ${JSON.stringify(row)}`);
  }
  return findings;
}
