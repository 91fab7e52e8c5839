/** The webhooks there are: those the manifest declares, for the operator, and those that were made over the API, for one tenant. */

import { BoxError } from '@skillbox/protocol';
import type { Secrets } from '../../secrets.ts';
import type { Database } from '../../store/database.ts';
import type { WebhookRow } from '../../store/tables.ts';
import { newSigningSecret } from './signature.ts';

export interface Hook {
  /** What its rows are found by: tenant/name, or /name for one of the manifest. */
  readonly key: string;
  readonly name: string;
  /** null: events of all tenants. */
  readonly tenant: string | null;
  readonly url: string;
  readonly events: readonly string[];
  /** Never in an answer, a log or an event. */
  readonly secret: string;
  readonly source: 'api' | 'manifest';
  readonly createdAt: string | null;
}

export interface NewHook {
  readonly tenant: string;
  readonly name: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly createdBy: string;
}

export interface Hooks {
  readonly declared: readonly Hook[];
  all(): Promise<Hook[]>;
  /** Its own, then those of the manifest, by name. */
  visibleTo(tenant: string): Promise<Hook[]>;
  /** Throws not_found. */
  find(tenant: string, name: string): Promise<Hook>;
  /** Looks at events after `position`. */
  create(hook: NewHook, position: number): Promise<Hook>;
  remove(tenant: string, name: string): Promise<Hook>;
}

export type DeclaredHook = Pick<Hook, 'name' | 'url' | 'events' | 'secret'>;

/** Each is looked at for every event. */
const mostOfTenant = 100;

export function createHooks(database: Database, secrets: Secrets, declarations: readonly DeclaredHook[]): Hooks {
  const { kysely } = database;
  const sealer = secrets.sealer('webhooks');
  const declared = declarations.map((hook): Hook => ({ ...hook, key: `/${hook.name}`, tenant: null, source: 'manifest', createdAt: null }));

  const open = (row: WebhookRow): Hook => ({
    key: `${row.tenant}/${row.name}`,
    name: row.name,
    tenant: row.tenant,
    url: row.url,
    events: JSON.parse(row.events) as string[],
    secret: sealer.open(row.secret, [row.tenant, row.name]),
    source: 'api',
    createdAt: row.created_at,
  });
  const stored = () => kysely.selectFrom('webhooks').selectAll().orderBy('tenant').orderBy('name');
  const refuseDeclared = (name: string): void => {
    if (!declared.some((hook) => hook.name === name)) return;
    throw new BoxError('declared_in_manifest', `The manifest declares the webhook ${name}.`);
  };

  const find = async (tenant: string, name: string): Promise<Hook> => {
    const row = await stored().where('tenant', '=', tenant).where('name', '=', name).executeTakeFirst();
    const hook = row ? open(row) : declared.find((candidate) => candidate.name === name);
    if (!hook) throw new BoxError('not_found', `There is no webhook ${name}.`);
    return hook;
  };

  return {
    declared,
    all: async () => [...declared, ...(await stored().execute()).map(open)],
    visibleTo: async (tenant) => [...(await stored().where('tenant', '=', tenant).execute()).map(open), ...declared],
    find,

    create({ tenant, name, url, events, createdBy }, position) {
      refuseDeclared(name);
      const secret = newSigningSecret();
      const row: WebhookRow = {
        ...{ tenant, name, url, events: JSON.stringify(events), secret: sealer.seal(secret, [tenant, name]) },
        ...{ created_at: new Date().toISOString(), created_by: createdBy },
      };
      return database.transaction(async (tx) => {
        const known = await tx.selectFrom('webhooks').select('name').where('tenant', '=', tenant).execute();
        if (known.length >= mostOfTenant)
          throw new BoxError('quota_exceeded', `Tenant ${tenant} has ${known.length} webhooks; more are not allowed.`, {
            hint: 'Delete one that is no longer needed: skillbox webhook delete NAME.',
          });
        const made = await tx
          .insertInto('webhooks')
          .values(row)
          .onConflict((conflict) => conflict.columns(['tenant', 'name']).doNothing())
          .returning('name')
          .executeTakeFirst();
        if (!made) throw new BoxError('already_exists', `There is a webhook ${name} already.`);
        const hook = open(row);
        await tx.insertInto('webhook_cursors').values({ hook: hook.key, position, away_since: null }).execute();
        return hook;
      });
    },

    async remove(tenant, name) {
      const hook = await find(tenant, name);
      if (hook.source === 'manifest') refuseDeclared(name);
      await database.transaction(async (tx) => {
        await tx.deleteFrom('webhooks').where('tenant', '=', tenant).where('name', '=', name).execute();
        // Its deliveries go with it.
        await tx.deleteFrom('webhook_cursors').where('hook', '=', hook.key).execute();
      });
      return hook;
    },
  };
}
