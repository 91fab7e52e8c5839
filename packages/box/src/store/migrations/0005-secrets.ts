import { sql } from 'kysely';
import type { Migration } from '../migrations.ts';

export const secretTable: Migration = {
  name: '0005-secrets',
  async up({ schema }, kind) {
    // As in the first tables: sorted by bytes on both databases.
    const text = kind === 'postgres' ? sql`text collate "C"` : ('text' as const);
    await schema
      .createTable('secrets')
      .addColumn('tenant', text, (column) => column.notNull())
      .addColumn('name', text, (column) => column.notNull())
      .addColumn('sealed', text, (column) => column.notNull())
      .addColumn('created_at', text, (column) => column.notNull())
      .addColumn('updated_at', text, (column) => column.notNull())
      .addColumn('actor', text, (column) => column.notNull())
      .addPrimaryKeyConstraint('secrets_key', ['tenant', 'name'])
      .execute();
  },
};
