/** API keys: made once, shown once, stored as a hash. A key carries its tenant, who acts and what it may do. */

import { createHash, randomBytes } from 'node:crypto';
import { type ActorKind, type ApiKey, BoxError, type CreatedKey, keyPattern, type Page, type Scope, scopes } from '@skillbox/protocol';
import { decodeCursor, encodeCursor } from '../store/cursor.ts';
import type { Database } from '../store/database.ts';
import { statement } from '../store/statement.ts';
import type { ApiKeyRow } from '../store/tables.ts';

export interface KeyIdentity {
  readonly id: string;
  readonly tenant: string;
  readonly actor: ActorKind;
  readonly scopes: readonly Scope[];
}

export interface NewKey {
  readonly name: string;
  readonly tenant: string;
  readonly actor: ActorKind;
  readonly scopes: readonly Scope[];
  readonly expiresAt?: string;
  /** The key it is derived from, and ends with. */
  readonly parent?: string;
}

export interface Keys {
  /** Who a key belongs to; undefined when it is unknown, revoked or expired. */
  identify(key: string): Promise<KeyIdentity | undefined>;
  create(key: NewKey): Promise<CreatedKey>;
  list(filter: { tenant?: string; limit: number; cursor?: string }): Promise<Page<ApiKey>>;
  get(id: string): Promise<ApiKey>;
  /** And with it every key that somebody signed in to with it. */
  revoke(id: string): Promise<ApiKey>;
  count(): Promise<number>;
}

/** Last use is exact to this; a write for every request would be waste. */
const lastUseStepMs = 60_000;

export function createKeys(database: Database): Keys {
  const { kysely } = database;
  const byHash = statement<{ hash: string }, ApiKeyRow>(['hash'], ({ hash }) =>
    kysely.selectFrom('api_keys').selectAll().where('hash', '=', hash),
  );
  const lastNoted = new Map<string, number>();

  const noteUse = (id: string, now: number): void => {
    if (now - (lastNoted.get(id) ?? 0) < lastUseStepMs) return;
    if (lastNoted.size > 10_000) lastNoted.clear();
    lastNoted.set(id, now);
    kysely
      .updateTable('api_keys')
      .set({ last_used_at: new Date(now).toISOString() })
      .where('id', '=', id)
      .execute()
      // Knowing the last use is a convenience; a request must not fail for it. The next minute tries again.
      .catch(() => lastNoted.delete(id));
  };

  const get = async (id: string): Promise<ApiKey> => {
    const row = await kysely.selectFrom('api_keys').selectAll().where('id', '=', id).executeTakeFirst();
    if (!row) throw new BoxError('not_found', `There is no key ${id}.`);
    return describe(row);
  };

  return {
    async identify(key) {
      const secret = keyPattern.exec(key)?.[1];
      if (!secret) return undefined;
      const [row] = await database.query(byHash({ hash: hashOf(secret) }));
      const now = Date.now();
      if (!row || row.revoked_at || (row.expires_at && Date.parse(row.expires_at) <= now)) return undefined;
      noteUse(row.id, now);
      return { id: row.id, tenant: row.tenant, actor: row.actor as ActorKind, scopes: parseScopes(row.scopes) };
    },

    async create({ name, tenant, actor, scopes: granted, expiresAt, parent }) {
      const secret = randomBytes(24).toString('hex');
      const row: ApiKeyRow = {
        id: `key_${randomBytes(8).toString('hex')}`,
        hash: hashOf(secret),
        name,
        tenant,
        actor,
        scopes: granted.join(' '),
        created_at: new Date().toISOString(),
        expires_at: expiresAt ?? null,
        revoked_at: null,
        last_used_at: null,
        parent: parent ?? null,
      };
      await kysely.insertInto('api_keys').values(row).execute();
      return { ...describe(row), key: `sk-${secret}` };
    },

    async list({ tenant, limit, cursor }) {
      let query = kysely
        .selectFrom('api_keys')
        .selectAll()
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(limit + 1);
      if (tenant) query = query.where('tenant', '=', tenant);
      if (cursor) {
        const [createdAt, id] = decodeCursor(cursor, 2);
        query = query.where(({ eb, and, or }) =>
          or([eb('created_at', '<', createdAt), and([eb('created_at', '=', createdAt), eb('id', '<', id)])]),
        );
      }
      const rows = await query.execute();
      const items = rows.slice(0, limit);
      const last = items.at(-1);
      return { items: items.map(describe), next_cursor: rows.length > limit && last ? encodeCursor(last.created_at, last.id) : null };
    },

    get,

    async revoke(id) {
      await kysely
        .updateTable('api_keys')
        .set({ revoked_at: new Date().toISOString() })
        .where(({ eb, or }) => or([eb('id', '=', id), eb('parent', '=', id)]))
        .where('revoked_at', 'is', null)
        .execute();
      return get(id);
    },

    async count() {
      const { total } = await kysely
        .selectFrom('api_keys')
        .select(({ fn }) => fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      return Number(total);
    },
  };
}

/** The hash is over the hex alone, so that sk- and e2b_ are two spellings of one key. */
const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');

const parseScopes = (text: string): Scope[] =>
  text.split(' ').filter((name): name is Scope => (scopes as readonly string[]).includes(name));

function describe({ hash: _hash, scopes: granted, actor, ...row }: ApiKeyRow): ApiKey {
  return { ...row, actor: actor as ActorKind, scopes: parseScopes(granted) };
}
