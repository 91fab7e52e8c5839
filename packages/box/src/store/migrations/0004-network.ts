import type { Migration } from '../migrations.ts';

export const networkColumn: Migration = {
  name: '0004-network',
  async up({ schema }) {
    await schema.alterTable('sandboxes').addColumn('network', 'text').execute();
  },
};
