/** The table of sandboxes. A state changes only from the states it may follow, on the host that owns it, together with its event. */

import { BoxError, type Page, type Sandbox, type SandboxState, type Template } from '@skillbox/protocol';
import { type Kysely, sql } from 'kysely';
import type { Caller } from '../access/caller.ts';
import type { Meter } from '../credits/meter.ts';
import type { Events } from '../events/events.ts';
import type { NewEvent } from '../events/row.ts';
import { decodeCursor, encodeCursor } from '../store/cursor.ts';
import type { Database } from '../store/database.ts';
import type { SandboxRow, Tables } from '../store/tables.ts';
import type { ProviderRef } from './living.ts';
import { type Network, networkOf } from './network.ts';
import type { SandboxFilter } from './sandboxes.ts';

export type Actor = Caller['actor'];

/** What the box does by itself: expiry, idleness, recovery. */
export const boxActor: Actor = { kind: 'atm', id: 'box' };

/** Those that count against the limit of a tenant. */
export const livingStates = ['requested', 'provisioning', 'ready', 'paused', 'destroying'] as const satisfies readonly SandboxState[];

export interface Transition {
  readonly from: readonly SandboxState[];
  readonly to: SandboxState;
  readonly actor: Actor;
  readonly reason: string | null;
  readonly patch?: Partial<SandboxRow>;
  /** Tenants may not have more living ones than this once it is done. */
  readonly limit?: number;
}

export interface SandboxRecords {
  /** One that is being made, or is ready already; what came before is told with it. Throws sandbox_limit when the tenant would have more than `limit`. */
  insert(row: SandboxRow, actor: Actor, limit: number): Promise<void>;
  /** The row as it is then; undefined when it is in another state, or another host's, by now. */
  transition(row: Pick<SandboxRow, 'id' | 'host'>, transition: Transition): Promise<SandboxRow | undefined>;
  /** Without a change of state. */
  update(
    row: Pick<SandboxRow, 'id' | 'host'>,
    patch: Partial<SandboxRow>,
    states: readonly SandboxState[],
  ): Promise<SandboxRow | undefined>;
  /** Together with its event. */
  setNetwork(row: Pick<SandboxRow, 'id' | 'host'>, network: Network, actor: Actor): Promise<SandboxRow | undefined>;
  row(id: string, tenant?: string): Promise<SandboxRow | undefined>;
  list(filter: SandboxFilter): Promise<Page<Sandbox>>;
  ofHost(host: string, states: readonly SandboxState[]): Promise<SandboxRow[]>;
  /** Those whose time is over, and when that of the next one is. */
  due(host: string, now: string): Promise<{ readonly rows: SandboxRow[]; readonly next: string | null }>;
  /** Ready ones with something to do when idle. */
  mayIdle(host: string): Promise<Pick<SandboxRow, 'id' | 'idle_ms' | 'last_used_at' | 'ready_at'>[]>;
  noteUses(uses: ReadonlyMap<string, number>): Promise<void>;
}

export function createSandboxRecords(database: Database, events: Events, meter: Meter): SandboxRecords {
  const { kysely } = database;

  const beginMeter = (tx: Kysely<Tables>, row: SandboxRow): Promise<void> =>
    meter.begin(tx, {
      sandbox: row.id,
      tenant: row.tenant,
      pricePerHour: templateOf(row).price_per_hour,
      expiresAt: row.expires_at,
      // What is ready already has begun then, and not when its record is written.
      ...(row.state === 'ready' && row.ready_at !== null && { startedAt: Date.parse(row.ready_at) }),
    });

  const eventOf = (row: SandboxRow, actor: Actor, from: SandboxState | null): NewEvent => ({
    tenant: row.tenant,
    actor,
    subject: { type: 'sandbox', id: row.id },
    type: `sandbox.${row.state}`,
    data: { template: row.template_name, provider: row.provider, from, reason: row.reason },
  });

  /** Two creates at once must not both take the last place: on PostgreSQL they queue here, on SQLite at the transaction. */
  const refuseAboveLimit = async (tx: Kysely<Tables>, tenant: string, limit: number): Promise<void> => {
    if (database.kind === 'postgres') await sql`select pg_advisory_xact_lock(hashtext(${`sandboxes/${tenant}`}))`.execute(tx);
    const { count } = await tx
      .selectFrom('sandboxes')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('tenant', '=', tenant)
      .where('state', 'in', livingStates)
      .executeTakeFirstOrThrow();
    if (Number(count) < limit) return;
    throw new BoxError('sandbox_limit', `This tenant has ${count} living sandboxes; ${limit} are allowed.`, { retryAfter: 10 });
  };

  /** From nothing to the state that it is in. */
  const eventsUntil = (row: SandboxRow, actor: Actor): NewEvent[] => {
    const unmade = { ...row, provider: null };
    return [
      eventOf({ ...unmade, state: 'requested' }, actor, null),
      eventOf({ ...unmade, state: 'provisioning' }, actor, 'requested'),
      ...(row.state === 'ready' ? [eventOf(row, actor, 'provisioning')] : []),
    ];
  };

  return {
    insert: (row, actor, limit) =>
      database.transaction(async (tx) => {
        await refuseAboveLimit(tx, row.tenant, limit);
        await tx.insertInto('sandboxes').values(row).execute();
        const labels = Object.entries(JSON.parse(row.labels) as Record<string, string>);
        if (labels.length > 0)
          await tx
            .insertInto('sandbox_labels')
            .values(labels.map(([name, value]) => ({ sandbox: row.id, name, value })))
            .execute();
        await beginMeter(tx, row);
        await events.append(eventsUntil(row, actor), tx);
      }),

    transition({ id, host }, { from, to, actor, reason, patch, limit }) {
      return database.transaction(async (tx) => {
        const before = await tx.selectFrom('sandboxes').select(['state', 'tenant']).where('id', '=', id).executeTakeFirst();
        const state = before?.state as SandboxState | undefined;
        if (!before || !state || !from.includes(state)) return undefined;
        if (limit !== undefined && !isLiving(state)) await refuseAboveLimit(tx, before.tenant, limit);
        const row = await tx
          .updateTable('sandboxes')
          .set({ pause_cause: null, ...patch, state: to, reason })
          .where('id', '=', id)
          .where('host', '=', host)
          .where('state', '=', state)
          .returningAll()
          .executeTakeFirst();
        if (!row) return undefined;
        // What ran in it has ended.
        if (to !== 'ready') await tx.deleteFrom('program_limits').where('sandbox', '=', id).execute();
        if (isLiving(to) && !isLiving(state)) await beginMeter(tx, row);
        if (!isLiving(to)) await meter.end(tx, row);
        await events.append(eventOf(row, actor, state), tx);
        return row;
      });
    },

    update: ({ id, host }, patch, states) =>
      kysely
        .updateTable('sandboxes')
        .set(patch)
        .where('id', '=', id)
        .where('host', '=', host)
        .where('state', 'in', states)
        .returningAll()
        .executeTakeFirst(),

    setNetwork: ({ id, host }, network, actor) =>
      database.transaction(async (tx) => {
        const row = await tx
          .updateTable('sandboxes')
          .set({ network: JSON.stringify(network) })
          .where('id', '=', id)
          .where('host', '=', host)
          .where('state', 'in', ['ready', 'paused'])
          .returningAll()
          .executeTakeFirst();
        if (!row) return undefined;
        const subject = { type: 'sandbox', id };
        await events.append(
          { tenant: row.tenant, actor, subject, type: 'sandbox.network', data: { mode: network.mode, allow: network.allow } },
          tx,
        );
        return row;
      }),

    async row(id, tenant) {
      let query = kysely.selectFrom('sandboxes').selectAll().where('id', '=', id);
      if (tenant !== undefined) query = query.where('tenant', '=', tenant);
      return query.executeTakeFirst();
    },

    async list({ tenant, states, template, labels, limit, cursor }) {
      let query = kysely
        .selectFrom('sandboxes')
        .selectAll()
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(limit + 1);
      if (tenant !== undefined) query = query.where('tenant', '=', tenant);
      if (states !== undefined) query = query.where('state', 'in', states);
      if (template?.includes('@')) query = query.where('template_name', '=', template);
      else if (template !== undefined)
        query = query.where('template_name', '>=', `${template}@`).where('template_name', '<', `${template}A`);
      for (const [name, value] of Object.entries(labels ?? {}))
        query = query.where('id', 'in', (eb) =>
          eb.selectFrom('sandbox_labels').select('sandbox').where('name', '=', name).where('value', '=', value),
        );
      if (cursor !== undefined) {
        const [createdAt, id] = decodeCursor(cursor, 2);
        query = query.where('created_at', '<=', createdAt).where(({ eb, or }) => or([eb('created_at', '<', createdAt), eb('id', '<', id)]));
      }
      const rows = await query.execute();
      const items = rows.slice(0, limit);
      const last = items.at(-1);
      return { items: items.map(describe), next_cursor: rows.length > limit && last ? encodeCursor(last.created_at, last.id) : null };
    },

    ofHost: (host, states) => kysely.selectFrom('sandboxes').selectAll().where('host', '=', host).where('state', 'in', states).execute(),

    async due(host, now) {
      const mortal = kysely.selectFrom('sandboxes').where('host', '=', host).where('state', 'in', ['ready', 'paused']);
      const rows = await mortal.selectAll().where('expires_at', '<=', now).execute();
      const next = await mortal
        .select(({ fn }) => fn.min('expires_at').as('at'))
        .where('expires_at', '>', now)
        .executeTakeFirst();
      return { rows, next: next?.at ?? null };
    },

    mayIdle: (host) =>
      kysely
        .selectFrom('sandboxes')
        .select(['id', 'idle_ms', 'last_used_at', 'ready_at'])
        .where('host', '=', host)
        .where('state', '=', 'ready')
        .where('on_idle', '!=', 'keep')
        .execute(),

    async noteUses(uses) {
      if (uses.size === 0) return;
      await database.transaction(async (tx) => {
        for (const [id, at] of uses)
          await tx
            .updateTable('sandboxes')
            .set({ last_used_at: new Date(at).toISOString() })
            .where('id', '=', id)
            .execute();
      });
    },
  };
}

export const isLiving = (state: string): boolean => livingStates.some((living) => living === state);

export const templateOf = (row: Pick<SandboxRow, 'template'>): Template => JSON.parse(row.template) as Template;

function endpointsOf({ id, ref }: SandboxRow): Sandbox['endpoints'] {
  const { endpoints = [] } = ref === null ? {} : (JSON.parse(ref) as ProviderRef);
  return endpoints.map(({ service, port, tunnel }) => ({ service, port, preview: `/preview/${id}/${port}/`, tunnel }));
}

export function describe(row: SandboxRow): Sandbox {
  const { resources } = templateOf(row);
  const { mode, allow } = networkOf(row);
  return {
    id: row.id,
    tenant: row.tenant,
    state: row.state as SandboxState,
    template: row.template_name,
    provider: row.provider,
    tier: row.tier,
    host: row.host,
    origin: row.origin === null ? null : (JSON.parse(row.origin) as Sandbox['origin']),
    labels: JSON.parse(row.labels) as Sandbox['labels'],
    network: mode,
    network_allow: [...allow],
    limits: {
      memory_bytes: resources.memory_bytes,
      cpu: resources.cpu,
      processes: resources.processes,
      disk_bytes: resources.disk_bytes,
    },
    on_idle: row.on_idle as Sandbox['on_idle'],
    idle_ms: row.idle_ms,
    on_expiry: row.on_expiry as Sandbox['on_expiry'],
    created_at: row.created_at,
    ready_at: row.ready_at,
    expires_at: row.expires_at,
    ended_at: row.ended_at,
    reason: row.reason,
    pause_cause: row.pause_cause as Sandbox['pause_cause'],
    route: JSON.parse(row.route) as Sandbox['route'],
    endpoints: endpointsOf(row),
  };
}
