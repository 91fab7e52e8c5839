import { sql } from 'kysely';
import type { Migration } from '../migrations.ts';

export const timingColumns: Migration = {
  name: '0009-timings',
  async up(kysely, kind) {
    const text = kind === 'postgres' ? sql`text collate "C"` : ('text' as const);
    await kysely.schema.alterTable('executions').addColumn('timings', text).execute();
    await kysely.schema.alterTable('executions').addColumn('warm', 'integer').execute();
  },
};
