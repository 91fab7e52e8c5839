/** Limits of tenants: what the manifest declares, else what was set over the API, else the defaults. And what they use. */

import { BoxError, type Tenant, type TenantLimits } from '@skillbox/protocol';
import { type CompiledQuery, sql } from 'kysely';
import type { Config } from '../config.ts';
import type { Manifest } from '../manifest/schema.ts';
import type { Database } from '../store/database.ts';
import { statement } from '../store/statement.ts';

export interface Tenants {
  /** From memory: it is asked for at every request. */
  limits(name: string): TenantLimits;
  list(): Promise<Tenant[]>;
  get(name: string): Promise<Tenant>;
  setLimits(name: string, limits: Partial<TenantLimits>): Promise<Tenant>;
  /** Refuses with quota_exceeded when the tenant has no room for so many more bytes. */
  requireRoom(name: string, bytes: number, tx?: Database['kysely']): Promise<void>;
  /** Reads again what other hosts may have set. */
  refresh(): Promise<void>;
}

export async function createTenants(database: Database, config: Config, manifest: Manifest): Promise<Tenants> {
  const { kysely } = database;
  let stored = new Map<string, Partial<TenantLimits>>();

  const defaults: TenantLimits = {
    requests_per_second: config.tenantRate,
    slots: config.tenantConcurrentExecs,
    storage_bytes: config.tenantStorage,
  };
  const declared = new Map(Object.entries(manifest.tenants));
  const limits = (name: string): TenantLimits => {
    const named = declared.get(name);
    const chosen = named ? { ...named, storage_bytes: named.storage } : stored.get(name);
    return {
      requests_per_second: chosen?.requests_per_second ?? defaults.requests_per_second,
      slots: chosen?.slots ?? defaults.slots,
      storage_bytes: chosen?.storage_bytes ?? defaults.storage_bytes,
    };
  };

  const selectUsage = statement<{ tenant: string }, { bytes: number }>(['tenant'], ({ tenant }) =>
    kysely.selectFrom('tenant_usage').select('bytes').where('tenant', '=', tenant),
  );
  const usage = async (tenant: string, tx?: Database['kysely']): Promise<number> => {
    const query = selectUsage({ tenant });
    const rows = tx ? (await tx.executeQuery(query)).rows : await database.query(query);
    return Number(rows[0]?.bytes ?? 0);
  };
  const describe = async (name: string): Promise<Tenant> => ({
    name,
    limits: limits(name),
    storage_used_bytes: await usage(name),
    declared: declared.has(name),
  });
  const refresh = async (): Promise<void> => {
    const rows = await kysely.selectFrom('tenants').selectAll().execute();
    stored = new Map(rows.map((row) => [row.name, JSON.parse(row.limits) as Partial<TenantLimits>]));
  };
  await refresh();

  return {
    limits,
    refresh,
    get: describe,
    async list() {
      const withKeys = await kysely.selectFrom('api_keys').select('tenant').distinct().execute();
      const withBytes = await kysely.selectFrom('tenant_usage').select('tenant').execute();
      const names = new Set([...[...withKeys, ...withBytes].map(({ tenant }) => tenant), ...declared.keys(), ...stored.keys()]);
      return Promise.all([...names].sort().map(describe));
    },
    async setLimits(name, changed) {
      if (declared.has(name)) throw new BoxError('declared_in_manifest', `The manifest declares the limits of tenant ${name}.`);
      // Another host may have set something since the last look.
      await refresh();
      const merged = { ...stored.get(name), ...changed };
      const row = { name, limits: JSON.stringify(merged), updated_at: new Date().toISOString() };
      const { name: _name, ...values } = row;
      await kysely
        .insertInto('tenants')
        .values(row)
        .onConflict((conflict) => conflict.column('name').doUpdateSet(values))
        .execute();
      stored.set(name, merged);
      return describe(name);
    },
    async requireRoom(name, bytes, tx) {
      const allowed = limits(name).storage_bytes;
      const used = await usage(name, tx);
      if (used + bytes <= allowed) return;
      throw new BoxError('quota_exceeded', `Tenant ${name} keeps ${used} of ${allowed} bytes; ${bytes} more do not fit.`, {
        details: { used_bytes: used, allowed_bytes: allowed },
      });
    },
  };
}

/** Part of the transaction that stores or removes the bytes, so that the sum is always true. */
export async function addUsage(tx: Database['kysely'], tenant: string, bytes: number): Promise<void> {
  if (bytes !== 0) await tx.executeQuery(usageStatement(tx)({ tenant, bytes }));
}

/** The same for a batch. */
export const usageStatement = (kysely: Database['kysely']): ((values: { tenant: string; bytes: number }) => CompiledQuery) =>
  statement<{ tenant: string; bytes: number }, unknown>(['tenant', 'bytes'], ({ tenant, bytes }) =>
    kysely
      .insertInto('tenant_usage')
      .values({ tenant, bytes })
      .onConflict((conflict) => conflict.column('tenant').doUpdateSet({ bytes: sql<number>`tenant_usage.bytes + ${bytes}` })),
  );
