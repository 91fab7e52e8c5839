import { sql } from 'kysely';
import type { Migration } from '../migrations.ts';

export const sandboxTables: Migration = {
  name: '0002-sandboxes',
  async up({ schema }, kind) {
    // As in the first tables: sorted by bytes on both databases.
    const text = kind === 'postgres' ? sql`text collate "C"` : ('text' as const);
    await schema
      .createTable('templates')
      .addColumn('name', text, (column) => column.notNull())
      .addColumn('version', 'integer', (column) => column.notNull())
      .addColumn('definition', text, (column) => column.notNull())
      .addColumn('created_at', text, (column) => column.notNull())
      .addColumn('created_by', text, (column) => column.notNull())
      .addPrimaryKeyConstraint('templates_key', ['name', 'version'])
      .execute();

    await schema
      .createTable('sandboxes')
      .addColumn('id', text, (column) => column.primaryKey())
      .addColumn('tenant', text, (column) => column.notNull())
      .addColumn('state', text, (column) => column.notNull())
      .addColumn('template_name', text, (column) => column.notNull())
      .addColumn('template', text, (column) => column.notNull())
      .addColumn('provider', text)
      .addColumn('tier', text)
      .addColumn('ref', text)
      .addColumn('host', text, (column) => column.notNull())
      .addColumn('labels', text, (column) => column.notNull())
      .addColumn('request', text, (column) => column.notNull())
      .addColumn('lineage', text, (column) => column.notNull())
      .addColumn('on_idle', text, (column) => column.notNull())
      .addColumn('idle_ms', 'bigint')
      .addColumn('on_expiry', text, (column) => column.notNull())
      .addColumn('created_at', text, (column) => column.notNull())
      .addColumn('ready_at', text)
      .addColumn('expires_at', text)
      .addColumn('last_used_at', text)
      .addColumn('ended_at', text)
      .addColumn('reason', text)
      .addColumn('route', text, (column) => column.notNull())
      .addColumn('actor', text, (column) => column.notNull())
      .execute();
    await schema.createIndex('sandboxes_tenant').on('sandboxes').columns(['tenant', 'created_at', 'id']).execute();
    await schema.createIndex('sandboxes_state').on('sandboxes').columns(['tenant', 'state', 'created_at', 'id']).execute();
    await schema.createIndex('sandboxes_host').on('sandboxes').columns(['host', 'state', 'expires_at']).execute();
    await schema.createIndex('sandboxes_created').on('sandboxes').columns(['created_at', 'id']).execute();

    await schema
      .createTable('sandbox_labels')
      .addColumn('sandbox', text, (column) => column.notNull().references('sandboxes.id').onDelete('cascade'))
      .addColumn('name', text, (column) => column.notNull())
      .addColumn('value', text, (column) => column.notNull())
      .addPrimaryKeyConstraint('sandbox_labels_key', ['sandbox', 'name'])
      .execute();
    await schema.createIndex('sandbox_labels_value').on('sandbox_labels').columns(['name', 'value', 'sandbox']).execute();

    await schema
      .createTable('snapshots')
      .addColumn('id', text, (column) => column.primaryKey())
      .addColumn('tenant', text, (column) => column.notNull())
      .addColumn('sandbox', text, (column) => column.notNull())
      .addColumn('name', text)
      .addColumn('template_name', text, (column) => column.notNull())
      .addColumn('template', text, (column) => column.notNull())
      .addColumn('provider', text, (column) => column.notNull())
      .addColumn('host', text, (column) => column.notNull())
      .addColumn('lineage', text, (column) => column.notNull())
      .addColumn('hidden', 'integer', (column) => column.notNull())
      .addColumn('created_at', text, (column) => column.notNull())
      .execute();
    await schema.createIndex('snapshots_tenant').on('snapshots').columns(['tenant', 'created_at', 'id']).execute();
    await schema.createIndex('snapshots_host').on('snapshots').columns(['host', 'hidden']).execute();
  },
};
