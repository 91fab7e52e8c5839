import { sql } from 'kysely';
import type { Migration } from '../migrations.ts';

export const programLimitTable: Migration = {
  name: '0008-program-limits',
  async up(kysely, kind) {
    const text = kind === 'postgres' ? sql`text collate "C"` : ('text' as const);
    await kysely.schema.alterTable('sandboxes').addColumn('pause_cause', text).execute();
    await sql`update sandboxes set pause_cause = 'idle' where state = 'paused' and reason like 'nothing used it%'`.execute(kysely);
    await sql`update sandboxes set pause_cause = 'asked' where state = 'paused' and pause_cause is null`.execute(kysely);
    await kysely.schema
      .createTable('program_limits')
      .addColumn('sandbox', text, (column) => column.notNull().references('sandboxes.id').onDelete('cascade'))
      .addColumn('program', 'bigint', (column) => column.notNull())
      .addColumn('kill_at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('program_limits_key', ['sandbox', 'program'])
      .execute();
  },
};
