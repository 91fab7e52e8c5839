/** What the host has and is left with: sandboxes by state, the health of providers, what nothing owns, and how the canary does. */

import { type CanaryRun, type HostReport, type StaleItem, sandboxStates } from '@skillbox/protocol';
import type { Events } from '../events/events.ts';
import type { Logger } from '../observe/log.ts';
import type { Database } from '../store/database.ts';
import type { Ahead } from './ahead.ts';
import type { LivingProvider, ProviderRef } from './living.ts';
import type { Locks } from './locks.ts';
import { boxActor, isLiving, type SandboxRecords } from './records.ts';
import { bareSpec, heldBy } from './recovery.ts';
import { healthOf, type Providers } from './routing.ts';

export interface Telemetry {
  report(): Promise<Pick<HostReport, 'sandboxes' | 'providers' | 'canary'>>;
  /** Changes nothing. */
  stale(): Promise<StaleItem[]>;
  /** Ends and removes what is stale now. */
  reap(): Promise<StaleItem[]>;
  /** Makes a sandbox, runs a program in it and ends it; what it finds is an event. One at a time. */
  runCanary(): Promise<CanaryRun>;
}

export interface TelemetryParts {
  readonly ahead: Pick<Ahead, 'holds'>;
  readonly database: Database;
  readonly events: Events;
  readonly host: string;
  readonly log: Logger;
  readonly locks: Locks;
  readonly providers: Providers;
  readonly records: SandboxRecords;
  readonly canary: Canary;
  /** Ends what has expired and closes what is unfinished. */
  enforce(): Promise<void>;
}

/** The steps of a canary, in order; what `create` gives is what the others are about. */
export interface Canary {
  create(): Promise<string>;
  exec(id: string): Promise<void>;
  destroy(id: string): Promise<void>;
}

interface Orphan {
  readonly sandbox: string;
  readonly provider: LivingProvider;
  readonly ref: ProviderRef;
}

export const canaryTenant = 'canary';
const canaryEvent = 'canary.finished';

export function createTelemetry(parts: TelemetryParts): Telemetry {
  const { ahead, database, events, host, log, locks, providers, records, canary } = parts;
  let running: Promise<CanaryRun> | undefined;

  const lastCanary = async (): Promise<CanaryRun | null> => {
    const [event] = await events.list({ subject: { type: 'host', id: host }, type: canaryEvent, order: 'desc', limit: 1 });
    return event ? ({ time: event.time, ...event.data } as CanaryRun) : null;
  };

  const countStates = async (): Promise<HostReport['sandboxes']> => {
    const counts = Object.fromEntries(sandboxStates.map((state) => [state, 0])) as HostReport['sandboxes'];
    const rows = await database.kysely
      .selectFrom('sandboxes')
      .select(['state', ({ fn }) => fn.countAll<number>().as('count')])
      .where('host', '=', host)
      .groupBy('state')
      .execute();
    return Object.assign(counts, Object.fromEntries(rows.map(({ state, count }) => [state, Number(count)])));
  };

  /** Another host's is that host's business: some providers are shared. */
  const isOrphan = async (sandbox: string): Promise<boolean> => {
    // Asked before the record is: one that is handed over meanwhile has one by then.
    if (ahead.holds(sandbox)) return false;
    const row = await records.row(sandbox);
    return !row || (!isLiving(row.state) && row.host === host);
  };

  const orphans = async (): Promise<Orphan[]> => {
    const found: Orphan[] = [];
    for (const provider of providers.values()) {
      const { held } = await heldBy(provider, log);
      for (const { sandbox, ref } of held) if (await isOrphan(sandbox)) found.push({ sandbox, provider, ref });
    }
    return found;
  };

  const ofRecords = async (): Promise<StaleItem[]> => {
    const { rows } = await records.due(host, new Date().toISOString());
    const expired = rows.filter(({ on_expiry }) => on_expiry === 'destroy');
    const begun = await records.ofHost(host, ['requested', 'provisioning', 'destroying']);
    const unfinished = begun.filter(({ id }) => !locks.isHeld(id));
    const item = (why: StaleItem['why']) => (row: (typeof rows)[number]) => ({
      ...{ sandbox: row.id, provider: row.provider, why, reaped: false },
    });
    return [...expired.map(item('expired')), ...unfinished.map(item('unfinished'))];
  };

  const removeOrphan = ({ sandbox, provider, ref }: Orphan): Promise<boolean> =>
    locks.exclusive(sandbox, async () => {
      // It may have been made again meanwhile, under the same id.
      if (!(await isOrphan(sandbox))) return false;
      log.warn({ sandbox, provider: provider.name }, 'removing a sandbox that no record owns');
      await provider.open(ref, bareSpec(sandbox, await records.row(sandbox))).teardown();
      return true;
    });

  const runOnce = async (): Promise<CanaryRun> => {
    const steps: CanaryRun['steps'] = [];
    const timed = async <T>(step: CanaryRun['steps'][number]['step'], work: () => Promise<T>): Promise<T> => {
      const started = performance.now();
      const result = await work();
      steps.push({ step, ms: Math.round((performance.now() - started) * 100) / 100 });
      return result;
    };
    let error: string | null = null;
    try {
      const id = await timed('create', canary.create);
      try {
        await timed('exec', () => canary.exec(id));
      } finally {
        await timed('destroy', () => canary.destroy(id));
      }
    } catch (thrown) {
      error = (thrown as Error).message;
      log.warn({ err: thrown }, 'the canary failed');
    }
    const run = { ok: error === null, steps, error };
    const subject = { type: 'host', id: host };
    const [event] = await events.append({ tenant: canaryTenant, actor: boxActor, subject, type: canaryEvent, data: run });
    return { time: event?.time ?? new Date().toISOString(), ...run };
  };

  return {
    async report() {
      const health = await Promise.all(
        [...providers.values()].map(async (provider) => {
          const { healthy, detail } = await healthOf(provider);
          return { name: provider.name, tier: provider.tier, healthy, detail };
        }),
      );
      return { sandboxes: await countStates(), providers: health, canary: await lastCanary() };
    },

    async stale() {
      const found = await orphans();
      const items = found.map(({ sandbox, provider }) => ({ sandbox, provider: provider.name, why: 'orphan' as const, reaped: false }));
      return [...items, ...(await ofRecords())];
    },

    async reap() {
      const items: StaleItem[] = [];
      const due = await ofRecords();
      await parts.enforce();
      const left = new Set((await ofRecords()).map(({ sandbox }) => sandbox));
      for (const item of due) items.push({ ...item, reaped: !left.has(item.sandbox) });
      for (const orphan of await orphans()) {
        const reaped = await removeOrphan(orphan).catch((error: Error) => {
          log.error({ sandbox: orphan.sandbox, err: error }, 'a sandbox that no record owns could not be removed');
          return false;
        });
        items.push({ sandbox: orphan.sandbox, provider: orphan.provider.name, why: 'orphan', reaped });
      }
      return items;
    },

    runCanary() {
      running ??= runOnce().finally(() => {
        running = undefined;
      });
      return running;
    },
  };
}
