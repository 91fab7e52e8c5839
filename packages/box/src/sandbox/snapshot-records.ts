/** The table of snapshots. One that is hidden is kept only for what stands on it. */

import type { Page, Snapshot } from '@skillbox/protocol';
import type { Kysely } from 'kysely';
import { decodeCursor, encodeCursor } from '../store/cursor.ts';
import type { Database } from '../store/database.ts';
import type { SnapshotRow, Tables } from '../store/tables.ts';
import { livingStates } from './records.ts';

export interface SnapshotRecords {
  /** Together with the note in the sandbox that its disk may stand on it. */
  insert(row: SnapshotRow, sandboxLineage: readonly string[]): Promise<void>;
  setHidden(id: string, hidden: boolean): Promise<void>;
  /** Not the hidden ones. */
  row(id: string, tenant: string): Promise<SnapshotRow | undefined>;
  list(tenant: string, filter: { sandbox?: string; limit: number; cursor?: string }): Promise<Page<Snapshot>>;
  /** Hidden ones of this host that no sandbox and no other snapshot stands on. */
  unneeded(host: string): Promise<SnapshotRow[]>;
  remove(id: string): Promise<void>;
}

export function createSnapshotRecords(database: Database): SnapshotRecords {
  const { kysely } = database;
  const isNeeded = async (tx: Kysely<Tables>, id: string): Promise<boolean> => {
    const mark = `%"${id}"%`;
    const sandbox = await tx
      .selectFrom('sandboxes')
      .select('id')
      .where('state', 'in', livingStates)
      .where('lineage', 'like', mark)
      .limit(1)
      .executeTakeFirst();
    if (sandbox) return true;
    const above = await tx.selectFrom('snapshots').select('id').where('lineage', 'like', mark).limit(1).executeTakeFirst();
    return above !== undefined;
  };
  return {
    async insert(row, sandboxLineage) {
      await database.transaction(async (tx) => {
        await tx.insertInto('snapshots').values(row).execute();
        await tx
          .updateTable('sandboxes')
          .set({ lineage: JSON.stringify(sandboxLineage) })
          .where('id', '=', row.sandbox)
          .execute();
      });
    },
    async setHidden(id, hidden) {
      await kysely
        .updateTable('snapshots')
        .set({ hidden: hidden ? 1 : 0 })
        .where('id', '=', id)
        .execute();
    },
    row: (id, tenant) =>
      kysely
        .selectFrom('snapshots')
        .selectAll()
        .where('id', '=', id)
        .where('tenant', '=', tenant)
        .where('hidden', '=', 0)
        .executeTakeFirst(),
    async list(tenant, { sandbox, limit, cursor }) {
      let query = kysely
        .selectFrom('snapshots')
        .selectAll()
        .where('tenant', '=', tenant)
        .where('hidden', '=', 0)
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(limit + 1);
      if (sandbox !== undefined) query = query.where('sandbox', '=', sandbox);
      if (cursor !== undefined) {
        const [createdAt, id] = decodeCursor(cursor, 2);
        query = query.where('created_at', '<=', createdAt).where(({ eb, or }) => or([eb('created_at', '<', createdAt), eb('id', '<', id)]));
      }
      const rows = await query.execute();
      const items = rows.slice(0, limit);
      const last = items.at(-1);
      return {
        items: items.map(describeSnapshot),
        next_cursor: rows.length > limit && last ? encodeCursor(last.created_at, last.id) : null,
      };
    },
    async unneeded(host) {
      const hidden = await kysely.selectFrom('snapshots').selectAll().where('host', '=', host).where('hidden', '=', 1).execute();
      const free: SnapshotRow[] = [];
      for (const row of hidden) if (!(await isNeeded(kysely, row.id))) free.push(row);
      return free;
    },
    async remove(id) {
      await kysely.deleteFrom('snapshots').where('id', '=', id).execute();
    },
  };
}

export const lineageOf = (row: { readonly lineage: string }): string[] => JSON.parse(row.lineage) as string[];

export function describeSnapshot({ id, sandbox, name, template_name, created_at }: SnapshotRow): Snapshot {
  return { id, sandbox, name, template: template_name, created_at };
}
