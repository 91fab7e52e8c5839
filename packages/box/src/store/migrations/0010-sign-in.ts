import { sql } from 'kysely';
import type { Migration } from '../migrations.ts';

export const signInTable: Migration = {
  name: '0010-sign-in',
  async up(kysely, kind) {
    const text = kind === 'postgres' ? sql`text collate "C"` : ('text' as const);
    await kysely.schema.alterTable('api_keys').addColumn('parent', text).execute();
    await sql`create index api_keys_parent on api_keys (parent) where parent is not null`.execute(kysely);
    await kysely.schema
      .createTable('sign_in_codes')
      .addColumn('hash', text, (column) => column.primaryKey())
      .addColumn('key_id', text, (column) => column.notNull().references('api_keys.id').onDelete('cascade'))
      .addColumn('scopes', text, (column) => column.notNull())
      .addColumn('expires_at', text, (column) => column.notNull())
      .execute();
  },
};
