/** The table of builds. A row is written by whoever inserted or restarted it, as long as its attempt is the latest. */

import type { DependencyState, SkillDependencies } from '@skillbox/protocol';
import type { Kysely } from 'kysely';
import { type Caller, encodeActor } from '../../access/caller.ts';
import { addUsage, type Tenants } from '../../access/tenants.ts';
import type { Events } from '../../events/events.ts';
import type { Database } from '../../store/database.ts';
import type { DependencyBuildRow, Tables } from '../../store/tables.ts';
import { kindOf } from './declared.ts';

type Actor = Caller['actor'];

export interface Built {
  readonly blob: string;
  readonly packed: number;
  readonly size: number;
  readonly files: number;
}

export interface BuildRecords {
  row(tenant: string, key: string): Promise<DependencyBuildRow | undefined>;
  rows(tenant: string, keys: readonly string[]): Promise<DependencyBuildRow[]>;
  /** The build to do, or undefined when there is one of this key already. */
  insert(build: Pick<DependencyBuildRow, 'tenant' | 'key' | 'lock'>, actor: Actor): Promise<DependencyBuildRow | undefined>;
  /** The build to do; undefined when the row is not as it was. `restarts`: how often a host went away while it was built. */
  restart(row: DependencyBuildRow, actor: Actor, restarts: number): Promise<DependencyBuildRow | undefined>;
  /** False when the build is not wanted any more, or another's. */
  writeLog(build: DependencyBuildRow, log: string): Promise<boolean>;
  /** Throws quota_exceeded when the tenant has no room for what was built. */
  finish(build: DependencyBuildRow, actor: Actor, log: string, result: Built | { readonly error: string }): Promise<boolean>;
  /** Under way on that host. */
  unfinished(host: string): Promise<DependencyBuildRow[]>;
  noteUse(row: DependencyBuildRow): Promise<void>;
  /** Archive of a skill that has this lock. */
  archiveOf(tenant: string, lock: string): Promise<string | undefined>;
  /** Builds of interpreters of the past: nobody has used them since, and there is a newer one of the same lock. */
  removeOutdated(before: string): Promise<number>;
}

const noteEveryMs = 3600_000;

export function createBuildRecords(database: Database, events: Events, tenants: Tenants, host: string): BuildRecords {
  const { kysely } = database;
  const ours = ({ tenant, key, attempt }: DependencyBuildRow) => ({ tenant, key, attempt, host, state: 'building' });

  return {
    row: (tenant, key) =>
      kysely
        .selectFrom('dependency_builds')
        .selectAll()
        .where((eb) => eb.and({ tenant, key }))
        .executeTakeFirst(),

    async rows(tenant, keys) {
      if (keys.length === 0) return [];
      return kysely.selectFrom('dependency_builds').selectAll().where('tenant', '=', tenant).where('key', 'in', keys).execute();
    },

    insert(build, actor) {
      const now = new Date().toISOString();
      const row: DependencyBuildRow = {
        ...{ ...build, ...fresh, host, actor: encodeActor(actor) },
        ...{ created_at: now, started_at: now, used_at: now },
      };
      return database.transaction(async (tx) => {
        const result = await tx
          .insertInto('dependency_builds')
          .values(row)
          .onConflict((conflict) => conflict.columns(['tenant', 'key']).doNothing())
          .executeTakeFirst();
        if (Number(result.numInsertedOrUpdatedRows ?? 0) === 0) return undefined;
        await appendEvent(events, tx, row, actor, 'building');
        return row;
      });
    },

    restart(row, actor, restarts) {
      const { tenant, key, attempt, state, host: before } = row;
      const now = new Date().toISOString();
      return database.transaction(async (tx) => {
        const changed = await tx
          .updateTable('dependency_builds')
          .set({ ...fresh, attempt: attempt + 1, restarts, host, actor: encodeActor(actor), started_at: now })
          .where((eb) => eb.and({ tenant, key, attempt, state, host: before }))
          .returningAll()
          .executeTakeFirst();
        if (changed) await appendEvent(events, tx, changed, actor, 'building', { attempt: changed.attempt });
        return changed;
      });
    },

    async writeLog(build, log) {
      const { numUpdatedRows } = await kysely
        .updateTable('dependency_builds')
        .set({ log })
        .where((eb) => eb.and(ours(build)))
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },

    finish(build, actor, log, result) {
      const failed = 'error' in result;
      const end = failed ? { state: 'failed', error: result.error } : { state: 'available', ...result };
      return database.transaction(async (tx) => {
        const { numUpdatedRows } = await tx
          .updateTable('dependency_builds')
          .set({ ...end, log, finished_at: new Date().toISOString() })
          .where((eb) => eb.and(ours(build)))
          .executeTakeFirst();
        if (numUpdatedRows === 0n) return false;
        if (!failed) {
          await addUsage(tx, build.tenant, result.packed);
          await tenants.requireRoom(build.tenant, 0, tx);
        }
        const { state, ...data } = end;
        await appendEvent(events, tx, build, actor, state as DependencyState, data);
        return true;
      });
    },

    unfinished: (owner) =>
      kysely
        .selectFrom('dependency_builds')
        .selectAll()
        .where((eb) => eb.and({ host: owner, state: 'building' }))
        .execute(),

    async noteUse({ tenant, key, used_at }) {
      if (Date.now() - Date.parse(used_at) < noteEveryMs) return;
      await kysely
        .updateTable('dependency_builds')
        .set({ used_at: new Date().toISOString() })
        .where((eb) => eb.and({ tenant, key }))
        .execute();
    },

    async archiveOf(tenant, lock) {
      const row = await kysely
        .selectFrom('skills')
        .select('archive')
        .where((eb) => eb.and({ tenant, lock }))
        .executeTakeFirst();
      return row?.archive;
    },

    async removeOutdated(before) {
      const outdated = await kysely
        .selectFrom('dependency_builds as old')
        .select(['tenant', 'key'])
        .where('used_at', '<', before)
        .where('state', '!=', 'building')
        .where(({ exists, selectFrom }) =>
          exists(
            selectFrom('dependency_builds as new')
              .select('new.key')
              .whereRef('new.tenant', '=', 'old.tenant')
              .whereRef('new.lock', '=', 'old.lock')
              .whereRef('new.created_at', '>', 'old.created_at'),
          ),
        )
        .execute();
      for (const { tenant, key } of outdated) await database.transaction((tx) => removeBuilds(tx, { tenant, key }));
      return outdated.length;
    },
  };
}

/** Part of the transaction that deletes a skill: what no other skill of the tenant needs goes with it. */
export async function releaseLock(tx: Kysely<Tables>, tenant: string, lock: string): Promise<void> {
  const other = await tx
    .selectFrom('skills')
    .select('name')
    .where((eb) => eb.and({ tenant, lock }))
    .executeTakeFirst();
  if (!other) await removeBuilds(tx, { tenant, lock });
}

/** `obstacle`: why it cannot be built on this host. */
export function describeBuild(lock: string, row: DependencyBuildRow | undefined, obstacle: string | null = null): SkillDependencies {
  return {
    kind: kindOf(lock),
    state: (row?.state ?? 'not_built') as DependencyState,
    error: row?.error ?? obstacle,
    size_bytes: row?.size ?? null,
    files: row?.files ?? null,
    started_at: row?.started_at ?? null,
    finished_at: row?.finished_at ?? null,
  };
}

const fresh = {
  ...{ state: 'building', attempt: 1, restarts: 0, log: '', error: null, blob: null },
  ...{ packed: 0, size: null, files: null, finished_at: null },
};

async function removeBuilds(tx: Kysely<Tables>, which: Partial<Pick<DependencyBuildRow, 'tenant' | 'key' | 'lock'>>): Promise<void> {
  const removed = await tx
    .deleteFrom('dependency_builds')
    .where((eb) => eb.and(which))
    .returning(['tenant', 'packed'])
    .execute();
  for (const { tenant, packed } of removed) await addUsage(tx, tenant, -Number(packed));
}

async function appendEvent(
  events: Events,
  tx: Kysely<Tables>,
  { tenant, key, lock }: DependencyBuildRow,
  actor: Actor,
  state: DependencyState,
  data: Record<string, unknown> = {},
): Promise<void> {
  const skills = await tx
    .selectFrom('skills')
    .select(['name', 'version'])
    .where((eb) => eb.and({ tenant, lock }))
    .orderBy('created_at', 'desc')
    .limit(20)
    .execute();
  const subject = { type: 'dependencies', id: key };
  const about = { kind: kindOf(lock), skills: skills.map(({ name, version }) => `${name}@${version}`) };
  await events.append({ tenant, actor, subject, type: `dependencies.${state}`, data: { ...about, ...data } }, tx);
}
