import { sql } from 'kysely';
import type { Migration } from '../migrations.ts';

export const dependencyTables: Migration = {
  name: '0006-dependencies',
  async up({ schema }, kind) {
    // As in the first tables: sorted by bytes on both databases.
    const text = kind === 'postgres' ? sql`text collate "C"` : ('text' as const);
    await schema.alterTable('skills').addColumn('lock', text).execute();
    await schema.createIndex('skills_lock').on('skills').columns(['tenant', 'lock']).execute();

    await schema
      .createTable('dependency_builds')
      .addColumn('tenant', text, (column) => column.notNull())
      .addColumn('key', text, (column) => column.notNull())
      .addColumn('lock', text, (column) => column.notNull())
      .addColumn('state', text, (column) => column.notNull())
      .addColumn('attempt', 'integer', (column) => column.notNull())
      .addColumn('restarts', 'integer', (column) => column.notNull())
      .addColumn('log', text, (column) => column.notNull())
      .addColumn('error', text)
      .addColumn('blob', text)
      .addColumn('packed', 'bigint', (column) => column.notNull())
      .addColumn('size', 'bigint')
      .addColumn('files', 'integer')
      .addColumn('host', text, (column) => column.notNull())
      .addColumn('actor', text, (column) => column.notNull())
      .addColumn('created_at', text, (column) => column.notNull())
      .addColumn('started_at', text, (column) => column.notNull())
      .addColumn('finished_at', text)
      .addColumn('used_at', text, (column) => column.notNull())
      .addPrimaryKeyConstraint('dependency_builds_key', ['tenant', 'key'])
      .execute();
    await schema.createIndex('dependency_builds_lock').on('dependency_builds').columns(['tenant', 'lock']).execute();
    await schema.createIndex('dependency_builds_host').on('dependency_builds').columns(['host', 'state']).execute();
    await schema.createIndex('dependency_builds_blob').on('dependency_builds').column('blob').execute();
  },
};
