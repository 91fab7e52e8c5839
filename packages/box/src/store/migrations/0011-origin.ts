import { sql } from 'kysely';
import type { Migration } from '../migrations.ts';

export const originColumn: Migration = {
  name: '0011-origin',
  async up(kysely, kind) {
    await kysely.schema
      .alterTable('sandboxes')
      .addColumn('origin', kind === 'postgres' ? sql`text collate "C"` : 'text')
      .execute();
  },
};
