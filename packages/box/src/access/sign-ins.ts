/**
 * How a person gets into the dashboard without typing a key: a code, made with a key and good once, becomes a key of its own that
 * may do no more than the first, ends within hours, and ends with it.
 */

import { createHash, randomBytes } from 'node:crypto';
import { BoxError, type CreatedKey, type Scope } from '@skillbox/protocol';
import type { Database } from '../store/database.ts';
import type { Keys } from './keys.ts';

export interface SignIns {
  /** `scopes`: what the key to come may do, of what this one may. */
  createCode(keyId: string, scopes?: readonly Scope[]): Promise<{ readonly code: string; readonly expiresAt: string }>;
  /** Throws sign_in_expired for a code that is unknown, used or too old; which of them is nobody's business. */
  exchange(code: string): Promise<CreatedKey>;
  /** Ends a key that came from a code; one that was made by hand stays. */
  end(keyId: string): Promise<void>;
}

const codeMs = 5 * 60_000;
const keyMs = 12 * 3600_000;
/** Keys of sign-ins that ended are kept for so long, for who reads the audit log. */
const keptMs = 30 * 24 * 3600_000;

export function createSignIns(database: Database, keys: Keys): SignIns {
  const { kysely } = database;

  const sweep = async (now: number): Promise<void> => {
    await kysely.deleteFrom('sign_in_codes').where('expires_at', '<=', at(now)).execute();
    await kysely
      .deleteFrom('api_keys')
      .where('parent', 'is not', null)
      .where('expires_at', '<=', at(now - keptMs))
      .execute();
  };

  return {
    async createCode(keyId, scopes) {
      const key = await keys.get(keyId);
      const granted = scopes ?? key.scopes;
      const beyond = granted.filter((scope) => !key.scopes.includes(scope) && !key.scopes.includes('admin'));
      if (beyond.length > 0) throw new BoxError('forbidden', `This key lacks the scope ${beyond.join(', ')}, and so cannot pass it on.`);
      const now = Date.now();
      await sweep(now);
      const code = randomBytes(32).toString('base64url');
      const expiresAt = at(now + codeMs);
      await kysely
        .insertInto('sign_in_codes')
        .values({ hash: hashOf(code), key_id: keyId, scopes: granted.join(' '), expires_at: expiresAt })
        .execute();
      return { code, expiresAt };
    },

    async exchange(code) {
      const now = Date.now();
      // Of two who come with the same code at once, one finds the row.
      const row = await kysely.deleteFrom('sign_in_codes').where('hash', '=', hashOf(code)).returningAll().executeTakeFirst();
      const parent = row && row.expires_at > at(now) ? await keys.get(row.key_id) : undefined;
      const ended = parent && (parent.revoked_at !== null || (parent.expires_at !== null && parent.expires_at <= at(now)));
      if (!row || !parent || ended) throw new BoxError('sign_in_expired', 'This link was used already, or is too old.');
      const latest = at(now + keyMs);
      return keys.create({
        ...{ name: `dashboard, by ${parent.name}`.slice(0, 100), tenant: parent.tenant, actor: parent.actor },
        scopes: row.scopes.split(' ') as Scope[],
        expiresAt: parent.expires_at !== null && parent.expires_at < latest ? parent.expires_at : latest,
        // One that was signed in itself passes on what it came from: revoking that ends all of them.
        parent: parent.parent ?? parent.id,
      });
    },

    async end(keyId) {
      const { parent } = await keys.get(keyId);
      if (parent !== null) await keys.revoke(keyId);
    },
  };
}

const at = (time: number): string => new Date(time).toISOString();

const hashOf = (code: string): string => createHash('sha256').update(code).digest('hex');
