import { sql } from 'kysely';
import type { Migration } from '../migrations.ts';

export const webhookTables: Migration = {
  name: '0007-webhooks',
  async up({ schema }, kind) {
    // As in the first tables: sorted by bytes on both databases.
    const text = kind === 'postgres' ? sql`text collate "C"` : ('text' as const);
    await schema
      .createTable('webhooks')
      .addColumn('tenant', text, (column) => column.notNull())
      .addColumn('name', text, (column) => column.notNull())
      .addColumn('url', text, (column) => column.notNull())
      .addColumn('events', text, (column) => column.notNull())
      .addColumn('secret', text, (column) => column.notNull())
      .addColumn('created_at', text, (column) => column.notNull())
      .addColumn('created_by', text, (column) => column.notNull())
      .addPrimaryKeyConstraint('webhooks_key', ['tenant', 'name'])
      .execute();

    await schema
      .createTable('webhook_cursors')
      .addColumn('hook', text, (column) => column.primaryKey())
      .addColumn('position', 'bigint', (column) => column.notNull())
      .addColumn('away_since', text)
      .execute();

    await schema
      .createTable('webhook_deliveries')
      .addColumn('hook', text, (column) => column.notNull().references('webhook_cursors.hook').onDelete('cascade'))
      .addColumn('seq', 'bigint', (column) => column.notNull())
      .addColumn('subject', text, (column) => column.notNull())
      .addColumn('state', text, (column) => column.notNull().defaultTo('pending'))
      .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('next_at', 'bigint', (column) => column.notNull().defaultTo(0))
      .addColumn('failing_since', 'bigint')
      .addColumn('status', 'integer')
      .addColumn('error', text)
      .addColumn('finished_at', text)
      .addPrimaryKeyConstraint('webhook_deliveries_key', ['hook', 'seq'])
      .execute();
    await schema.createIndex('webhook_deliveries_state').on('webhook_deliveries').columns(['hook', 'state', 'seq']).execute();
  },
};
