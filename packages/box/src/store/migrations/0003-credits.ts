import { sql } from 'kysely';
import type { Migration } from '../migrations.ts';

export const creditTables: Migration = {
  name: '0003-credits',
  async up({ schema }, kind) {
    // As in the first tables: sorted by bytes on both databases.
    const text = kind === 'postgres' ? sql`text collate "C"` : ('text' as const);
    await schema
      .createTable('credit_balances')
      .addColumn('tenant', text, (column) => column.primaryKey())
      .addColumn('available', 'bigint', (column) => column.notNull().check(sql`available >= 0`))
      .addColumn('held', 'bigint', (column) => column.notNull().check(sql`held >= 0`))
      .execute();

    await schema
      .createTable('credit_entries')
      .addColumn('seq', kind === 'sqlite' ? 'integer' : 'bigint', (column) =>
        kind === 'sqlite' ? column.primaryKey().autoIncrement() : column.primaryKey().generatedAlwaysAsIdentity(),
      )
      .addColumn('tenant', text, (column) => column.notNull())
      .addColumn('kind', text, (column) => column.notNull())
      .addColumn('amount', 'bigint', (column) => column.notNull().check(sql`amount > 0`))
      .addColumn('sandbox', text)
      .addColumn('key', text, (column) => column.notNull())
      .addColumn('note', text)
      .addColumn('actor', text, (column) => column.notNull())
      .addColumn('created_at', text, (column) => column.notNull())
      .addUniqueConstraint('credit_entries_key', ['tenant', 'key'])
      .execute();
    await schema.createIndex('credit_entries_tenant').on('credit_entries').columns(['tenant', 'seq']).execute();
    await schema.createIndex('credit_entries_kind').on('credit_entries').columns(['tenant', 'kind']).execute();

    await schema
      .createTable('credit_meters')
      .addColumn('sandbox', text, (column) => column.notNull())
      .addColumn('life', 'integer', (column) => column.notNull())
      .addColumn('tenant', text, (column) => column.notNull())
      .addColumn('price_per_hour', 'bigint', (column) => column.notNull())
      .addColumn('started_at', 'bigint', (column) => column.notNull())
      .addColumn('paid_until', 'bigint', (column) => column.notNull())
      .addColumn('period', 'integer', (column) => column.notNull())
      .addColumn('held', 'bigint', (column) => column.notNull())
      .addColumn('settled', 'bigint', (column) => column.notNull())
      .addColumn('closed_at', text)
      .addPrimaryKeyConstraint('credit_meters_key', ['sandbox', 'life'])
      .execute();
    await schema.createIndex('credit_meters_due').on('credit_meters').columns(['closed_at', 'paid_until']).execute();
  },
};
