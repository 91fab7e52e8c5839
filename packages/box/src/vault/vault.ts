/**
 * Named secrets of tenants: sealed in the database, shown to nobody. Whoever sends one on for a sandbox (the egress proxy) reads it
 * at that moment, so that a change or a removal holds from the next request on, on every host.
 */

import { BoxError, type Page, type Secret } from '@skillbox/protocol';
import { type Caller, encodeActor } from '../access/caller.ts';
import type { Secrets } from '../secrets.ts';
import { decodeCursor, encodeCursor } from '../store/cursor.ts';
import type { Database } from '../store/database.ts';
import type { SecretRow } from '../store/tables.ts';

export interface Vault {
  /** Makes it, or replaces its value. */
  set(caller: Caller, name: string, value: string): Promise<Secret>;
  list(tenant: string, filter: { readonly limit: number; readonly cursor?: string }): Promise<Page<Secret>>;
  remove(tenant: string, name: string): Promise<void>;
  has(tenant: string, name: string): Promise<boolean>;
  /** The value itself, for what sends it on; it must reach no answer, event or log. undefined: there is none of this name. */
  reveal(tenant: string, name: string): Promise<string | undefined>;
}

const most = 1000;

export function createVault(database: Database, secrets: Secrets): Vault {
  const { kysely } = database;
  const sealer = secrets.sealer('vault');

  const one = (tenant: string, name: string) => kysely.selectFrom('secrets').where('tenant', '=', tenant).where('name', '=', name);

  const refuseTooMany = async (tx: Database['kysely'], tenant: string): Promise<void> => {
    const { count } = await tx
      .selectFrom('secrets')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('tenant', '=', tenant)
      .executeTakeFirstOrThrow();
    if (Number(count) <= most) return;
    throw new BoxError('quota_exceeded', `Tenant ${tenant} would have more than ${most} secrets.`, {
      hint: 'Delete those that nothing needs: skillbox secret delete NAME.',
    });
  };

  return {
    set({ tenant, actor }, name, value) {
      const now = new Date().toISOString();
      const changed = { sealed: sealer.seal(value, [tenant, name]), updated_at: now, actor: encodeActor(actor) };
      return database.transaction(async (tx) => {
        const row = await tx
          .insertInto('secrets')
          .values({ tenant, name, created_at: now, ...changed })
          .onConflict((conflict) => conflict.columns(['tenant', 'name']).doUpdateSet(changed))
          .returning(['name', 'created_at', 'updated_at', 'actor'])
          .executeTakeFirstOrThrow();
        await refuseTooMany(tx, tenant);
        return describe(row);
      });
    },

    async list(tenant, { limit, cursor }) {
      let query = kysely
        .selectFrom('secrets')
        .select(['name', 'created_at', 'updated_at', 'actor'])
        .where('tenant', '=', tenant)
        .orderBy('name')
        .limit(limit + 1);
      if (cursor !== undefined) query = query.where('name', '>', decodeCursor(cursor, 1)[0]);
      const rows = await query.execute();
      const items = rows.slice(0, limit);
      const last = items.at(-1);
      return { items: items.map(describe), next_cursor: rows.length > limit && last ? encodeCursor(last.name) : null };
    },

    async remove(tenant, name) {
      const { numDeletedRows } = await kysely
        .deleteFrom('secrets')
        .where('tenant', '=', tenant)
        .where('name', '=', name)
        .executeTakeFirst();
      if (Number(numDeletedRows) === 0) throw new BoxError('not_found', `There is no secret ${name}.`);
    },

    has: async (tenant, name) => (await one(tenant, name).select('name').executeTakeFirst()) !== undefined,

    async reveal(tenant, name) {
      const row = await one(tenant, name).select('sealed').executeTakeFirst();
      return row && sealer.open(row.sealed, [tenant, name]);
    },
  };
}

/** Named field by field: what is sealed must not slip into an answer. */
function describe({ name, created_at, updated_at, actor }: Omit<SecretRow, 'sealed' | 'tenant'>): Secret {
  return { name, created_at, updated_at, updated_by: actor };
}
