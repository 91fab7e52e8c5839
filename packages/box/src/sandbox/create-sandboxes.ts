/** Living sandboxes: who may do what to which, in what order. The work itself is in lifecycle.ts, snapshots.ts and reaper.ts. */

import { BoxError, type CreateSandbox, type Sandbox, type Template } from '@skillbox/protocol';
import { type Caller, encodeActor } from '../access/caller.ts';
import type { Meter } from '../credits/meter.ts';
import { checkEnv } from '../env-names.ts';
import type { Events } from '../events/events.ts';
import type { Hosts } from '../hosts.ts';
import type { Logger } from '../observe/log.ts';
import type { Secrets } from '../secrets.ts';
import type { Database } from '../store/database.ts';
import type { SandboxRow, SnapshotRow } from '../store/tables.ts';
import type { Vault } from '../vault/vault.ts';
import { createActivity } from './activity.ts';
import type { Ahead, TakenAhead } from './ahead.ts';
import { createDiskWatch } from './disk-watch.ts';
import type { Egress } from './egress/egress.ts';
import { requireSecrets } from './egress/injection.ts';
import { elsewhere } from './elsewhere.ts';
import { newSandboxId } from './ids.ts';
import { checkInputs } from './inputs.ts';
import { createLifecycle, wrongState } from './lifecycle.ts';
import type { Capability, NetworkMode } from './living.ts';
import { createLocks } from './locks.ts';
import { changedNetwork, chosenNetwork, policyOf, providerNetwork } from './network.ts';
import { createReaper } from './reaper.ts';
import { boxActor, createSandboxRecords, describe, isLiving, templateOf } from './records.ts';
import { closeUnfinished, compareWithProviders, endUnpaid, failSandboxesOf, reopenChannels } from './recovery.ts';
import type { Candidates, Providers, Router, Wanted } from './routing.ts';
import type { Sandboxes } from './sandboxes.ts';
import { runSetup } from './setup.ts';
import { createSnapshotRecords, describeSnapshot, lineageOf } from './snapshot-records.ts';
import { createSnapshots } from './snapshots.ts';
import { handleOf, type SealedRequest, sealRequest, unsealRequest } from './spec.ts';
import { canaryTenant, createTelemetry } from './telemetry.ts';
import type { Templates } from './templates.ts';
import { createTimeLimits } from './time-limits.ts';
import { checkTtl, expiryOf, latestExpiry, ttlOf } from './ttl.ts';
import { isWorkspace, workspaceTenant } from './workspace/template.ts';

export interface SandboxParts {
  readonly database: Database;
  readonly events: Events;
  readonly host: string;
  readonly hosts: Hosts;
  readonly log: Logger;
  readonly providers: Providers;
  readonly templates: Templates;
  readonly secrets: Secrets;
  readonly meter: Meter;
  readonly egress: Egress;
  readonly vault: Pick<Vault, 'has'>;
  /** Living sandboxes one tenant may have. */
  readonly tenantLimit: number;
  readonly router: Router;
  readonly ahead: Ahead;
}

/** With what the host does to them. */
export interface HostedSandboxes extends Sandboxes {
  /** For the box's own work: from a template that nobody can name. */
  createInternal(caller: Caller, template: Template, labels: Readonly<Record<string, string>>): Promise<Sandbox>;
  /** The lease is held: closes what a crash left, then enforces times. */
  recover(): Promise<void>;
  /** At every heartbeat. */
  beat(): Promise<void>;
  /** Another host is gone for good. */
  hostGone(host: string): Promise<void>;
  /** Sandboxes live on; only the watching ends. */
  stop(): Promise<void>;
}

/** What a new sandbox is made from. */
interface Making {
  readonly template: Template;
  readonly labels: Readonly<Record<string, string>>;
  readonly request: SealedRequest;
  readonly onExpiry: SandboxRow['on_expiry'];
  readonly network: SandboxRow['network'];
  readonly snapshot?: SnapshotRow;
  /** Whether one that was made ahead may serve it. */
  readonly fromPool?: boolean;
}

const canaryEveryMs = 10 * 60_000;
const hostsRemembered = 10_000;

export function createSandboxes(parts: SandboxParts): HostedSandboxes {
  const { ahead, database, egress, events, host, hosts, log, meter, providers, router, secrets, templates, tenantLimit, vault } = parts;
  const records = createSandboxRecords(database, events, meter);
  const snapshotRecords = createSnapshotRecords(database);
  const activity = createActivity();
  const locks = createLocks();
  const lifecycle = createLifecycle({ activity, egress, log, providers, records, router, secrets });
  const snapshots = createSnapshots({ host, hosts, log, providers, records: snapshotRecords, secrets });
  const sweepSnapshots = (): void =>
    void snapshots.sweep().catch((error: Error) => log.error({ err: error }, 'could not look for snapshots that nothing needs'));
  const reaper = createReaper({ host, log, activity, lifecycle, locks, providers, records, secrets, onEnded: sweepSnapshots });
  const diskWatch = createDiskWatch({ events, log, providers, records });
  const timeLimits = createTimeLimits({ database, host, locks, log, providers, records, secrets });
  const recovery = { ahead, egress, host, log, lifecycle, locks, providers, records, secrets };

  const rowOf = async (tenant: string, id: string): Promise<SandboxRow> => {
    const row = await records.row(id, tenant);
    if (!row) throw new BoxError('not_found', `There is no sandbox ${id}.`);
    return row;
  };

  /** Of this tenant and on this host. */
  const ownRow = async (tenant: string, id: string): Promise<SandboxRow> => {
    const row = await rowOf(tenant, id);
    if (row.host !== host) throw await elsewhere(hosts, `The sandbox ${id}`, row.host);
    return row;
  };

  const known = new Map<string, string>();
  const hostOf = async (id: string): Promise<string | undefined> => {
    const remembered = known.get(id);
    if (remembered !== undefined) return remembered;
    const row = await records.row(id);
    if (!row) return undefined;
    known.set(id, row.host);
    const [oldest] = known.keys();
    if (known.size > hostsRemembered && oldest !== undefined) known.delete(oldest);
    return row.host;
  };

  /** Alone with the sandbox, which is read again: whoever was before may have changed it. */
  const change = <T>(caller: Caller, id: string, work: (row: SandboxRow) => Promise<T>): Promise<T> =>
    locks.exclusive(id, async () => work(await ownRow(caller.tenant, id)));

  const wantedBy = (caller: Caller, template: Template, onExpiry: string, network: NetworkMode, only?: string): Wanted => {
    const trusted = caller.scopes.includes('admin');
    if (template.admin_only && !trusted) throw new BoxError('forbidden', `The template ${template.name} is for administrators.`);
    if (isWorkspace(template) && caller.tenant !== workspaceTenant)
      throw new BoxError('forbidden', `The workspace is the box's own: only the tenant ${workspaceTenant} has one.`);
    const capabilities: Capability[] = ['exec'];
    if (template.idle.action === 'pause' || onExpiry === 'pause') capabilities.push('pause');
    if (only !== undefined) capabilities.push('snapshot');
    if (isWorkspace(template)) capabilities.push('workspace');
    return { template, capabilities, network, trusted, ...(only !== undefined && { only }) };
  };
  /** With the candidates for the sandbox, whose room is kept until the work is done. */
  const withCandidates = async <T>(
    id: string,
    wanted: Parameters<typeof wantedBy>,
    work: (candidates: Candidates) => Promise<T>,
  ): Promise<T> => {
    const [caller, template] = wanted;
    await requireSecrets(vault, caller.tenant, template);
    try {
      return await work(await router.find(wantedBy(...wanted), id));
    } finally {
      router.release(id);
    }
  };

  const newRow = (id: string, caller: Caller, { template, labels, network, request, onExpiry, snapshot }: Making): SandboxRow => {
    const now = Date.now();
    return {
      id,
      tenant: caller.tenant,
      state: 'requested',
      template_name: `${template.name}@${template.version}`,
      template: JSON.stringify(template),
      provider: null,
      tier: null,
      ref: null,
      host,
      labels: JSON.stringify(labels),
      request: sealRequest(secrets, request),
      network,
      lineage: JSON.stringify(snapshot ? [...lineageOf(snapshot), snapshot.id] : []),
      origin: snapshot ? JSON.stringify({ sandbox: snapshot.sandbox, snapshot: snapshot.hidden ? null : snapshot.id }) : null,
      on_idle: template.idle.action,
      idle_ms: template.idle.after_ms,
      on_expiry: onExpiry,
      created_at: new Date(now).toISOString(),
      ready_at: null,
      expires_at: expiryOf(template, request.ttlMs, now),
      last_used_at: null,
      ended_at: null,
      reason: null,
      pause_cause: null,
      route: '[]',
      actor: encodeActor(caller.actor),
    };
  };

  const make = async (caller: Caller, making: Making): Promise<SandboxRow> => {
    const { template, network, request, onExpiry, snapshot } = making;
    const wantedNetwork = providerNetwork({ network, template: JSON.stringify(template) });
    const wanted: Parameters<typeof wantedBy> = [caller, template, onExpiry, wantedNetwork, snapshot?.provider];
    const taken = making.fromPool ? ahead.take({ template, network: wantedNetwork, env: request.env }) : undefined;
    const made = (taken && (await adopt(caller, making, wanted, taken))) ?? (await makeAnew(caller, making, wanted));
    reaper.expect(made.expires_at);
    return made;
  };

  const makeAnew = (caller: Caller, making: Making, wanted: Parameters<typeof wantedBy>): Promise<SandboxRow> => {
    const row = newRow(newSandboxId(), caller, making);
    return withCandidates(row.id, wanted, (candidates) =>
      locks.exclusive(row.id, () =>
        ahead.standBack(() => lifecycle.make(row, caller.actor, { candidates, limit: tenantLimit, snapshot: making.snapshot?.id })),
      ),
    );
  };

  /** undefined when another provider is the one to make it now. */
  const adopt = async (caller: Caller, making: Making, wanted: Parameters<typeof wantedBy>, taken: TakenAhead) => {
    const row = newRow(taken.id, caller, making);
    try {
      return await withCandidates(row.id, wanted, async ({ providers: [first], route }) => {
        if (first !== taken.provider) return undefined;
        return locks.exclusive(row.id, () => lifecycle.adopt(row, caller.actor, { taken, route, limit: tenantLimit }));
      });
    } finally {
      taken.putBack();
    }
  };

  const create = async (caller: Caller, request: CreateSandbox, fromPool: boolean): Promise<SandboxRow> => {
    const snapshot = request.snapshot === undefined ? undefined : await snapshots.find(caller.tenant, request.snapshot);
    const fromSnapshot = snapshot && request.template === undefined ? templateOf(snapshot) : undefined;
    const template = fromSnapshot ?? (await templates.resolve(request.template ?? 'canary'));
    checkEnv(request.env);
    await checkInputs(template, request.inputs);
    const network = chosenNetwork(caller, template, request.network);
    return make(caller, {
      template,
      labels: { ...template.labels, ...request.labels },
      request: { env: request.env, inputs: request.inputs, ttlMs: ttlOf(request.ttl, template) },
      onExpiry: request.on_expiry ?? 'destroy',
      network: network && JSON.stringify(network),
      // The disk of a snapshot is its tenant's.
      fromPool: fromPool && snapshot === undefined,
      ...(snapshot && { snapshot }),
    });
  };

  /** For a sandbox that is here: a disk does not move between hosts. */
  const snapshotHere = async (tenant: string, id: string): Promise<SnapshotRow> => {
    const row = await snapshotRecords.row(id, tenant);
    if (!row || row.host === host) return snapshots.find(tenant, id);
    throw new BoxError('invalid_state', `The snapshot ${id} is on host ${row.host}, and the sandbox on ${host}.`, {
      hint: 'Create a sandbox from the snapshot: it is made where the snapshot is.',
    });
  };

  const programsKnown = async (row: SandboxRow): Promise<void> => {
    if (activity.knowsPrograms(row.id)) return;
    const programs = await handleOf(providers, secrets, row).programs();
    activity.raiseProgramId(row.id, Math.max(0, ...programs.map(({ id }) => id)));
  };

  const closeAndExpire = async (): Promise<void> => {
    await closeUnfinished(recovery, 'it could not be recorded as ready: the database was away');
    await reaper.run();
  };
  const canaryCaller: Caller = { tenant: canaryTenant, actor: boxActor, scopes: ['admin'] };
  const telemetry = createTelemetry({
    ...{ ahead, database, events, host, log, locks, providers, records, enforce: closeAndExpire },
    canary: {
      // One that was made ahead would not show that sandboxes can be made now.
      create: async () => (await create(canaryCaller, { template: 'canary', labels: {}, env: {}, inputs: {} }, false)).id,
      exec: async (id) => {
        const row = await ownRow(canaryTenant, id);
        await runSetup(handleOf(providers, secrets, row), ['true'], () => activity.nextProgramId(id));
      },
      destroy: async (id) => {
        await change(canaryCaller, id, (row) => lifecycle.end(row, boxActor, 'the canary is done'));
      },
    },
  });
  let canaryTimer: NodeJS.Timeout | undefined;

  return {
    create: async (caller, request) => describe(await create(caller, request, true)),

    async createInternal(caller, template, labels) {
      const request = { env: {}, inputs: {}, ttlMs: template.ttl.default_ms };
      return describe(await make(caller, { template, labels, request, network: null, onExpiry: 'destroy' }));
    },

    async explain(caller, name) {
      const template = await templates.resolve(name);
      return {
        template: `${template.name}@${template.version}`,
        price_per_hour: template.price_per_hour,
        route: await router.explain(
          wantedBy(caller, template, 'destroy', providerNetwork({ network: null, template: JSON.stringify(template) })),
        ),
      };
    },
    telemetry,

    get: async (tenant, id) => describe(await rowOf(tenant, id)),
    list: (filter) => records.list(filter),
    hostOf,

    async destroy(caller, id, reason = 'asked for') {
      const known = await rowOf(caller.tenant, id);
      // Also where the host is gone that it lived on.
      if (!isLiving(known.state) && known.host !== host) return describe(known);
      return change(caller, id, async (row) => {
        const ended = await lifecycle.end(row, caller.actor, reason);
        sweepSnapshots();
        return describe(ended);
      });
    },

    recreate: (caller, id) =>
      change(caller, id, async (row) => {
        const { ttlMs } = unsealRequest(secrets, row);
        const made = await withCandidates(id, [caller, templateOf(row), row.on_expiry, providerNetwork(row)], (candidates) => {
          const patch = { lineage: '[]', expires_at: expiryOf(templateOf(row), ttlMs, Date.now()) };
          return lifecycle.remake(row, caller.actor, { candidates, reason: 'recreated', patch, limit: tenantLimit });
        });
        reaper.expect(made.expires_at);
        sweepSnapshots();
        return describe(made);
      }),

    setTtl: (caller, id, ttlMs) =>
      change(caller, id, async (row) => {
        checkTtl(ttlMs, latestExpiry(row), templateOf(row));
        const changed = await records.update(row, { expires_at: new Date(Date.now() + ttlMs).toISOString() }, ['ready', 'paused']);
        if (!changed) throw wrongState(row, 'ready or paused');
        reaper.expect(changed.expires_at);
        return describe(changed);
      }),

    setNetwork: (caller, id, choice) =>
      change(caller, id, async (row) => {
        const network = changedNetwork(caller, row, choice);
        const changed = await records.setNetwork(row, network, caller.actor);
        if (!changed) throw wrongState(row, 'ready or paused');
        // Recorded first: a server that dies here enforces it when it is back.
        if (network.channel) await egress.open({ sandbox: row.id, tenant: row.tenant }, policyOf(changed));
        return describe(changed);
      }),

    pause: (caller, id) =>
      change(caller, id, async (row) => {
        if (row.state === 'paused') return describe(row);
        if (row.state !== 'ready') throw wrongState(row, 'ready');
        requireCapability(providers, row, 'pause');
        return describe(await lifecycle.pause(row, caller.actor, { cause: 'asked', reason: 'asked for' }));
      }),

    resume: (caller, id) =>
      change(caller, id, async (row) => {
        if (row.state === 'ready') return describe(row);
        const ready = await lifecycle.resume(row, caller.actor);
        reaper.expect(ready.expires_at);
        return describe(ready);
      }),

    snapshot: (caller, id, name) =>
      change(caller, id, async (row) =>
        describeSnapshot(await snapshots.take(row, { name: name ?? null, hidden: false, needs: 'snapshot' })),
      ),

    snapshots: (tenant, filter) => snapshotRecords.list(tenant, filter),

    async removeSnapshot(caller, id) {
      const row = await snapshotRecords.row(id, caller.tenant);
      if (!row) throw new BoxError('not_found', `There is no snapshot ${id}.`);
      // Gone for everybody from here on. Its layers go when nothing stands on them, at the next look of the host that has them.
      await snapshotRecords.setHidden(row.id, true);
      await snapshots.sweep();
    },

    restore: (caller, id, snapshotId) =>
      change(caller, id, async (row) => {
        if (row.state !== 'ready' && row.state !== 'paused') throw wrongState(row, 'ready or paused');
        const snapshot = await snapshotHere(caller.tenant, snapshotId);
        const wanted = [caller, templateOf(row), row.on_expiry, providerNetwork(row), snapshot.provider] as const;
        const made = await withCandidates(id, [...wanted], (candidates) =>
          lifecycle.remake(row, caller.actor, {
            ...{ candidates, reason: `restored from ${snapshotId}`, snapshot: snapshotId, limit: tenantLimit },
            patch: { lineage: JSON.stringify([...lineageOf(snapshot), snapshotId]) },
          }),
        );
        sweepSnapshots();
        return describe(made);
      }),

    async fork(caller, id, { count, ttlMs }) {
      const taken = await change(caller, id, async (row) => ({
        row,
        snapshot: await snapshots.take(row, { name: null, hidden: true, needs: 'fork' }),
      }));
      const { row, snapshot } = taken;
      const template = templateOf(row);
      const request = unsealRequest(secrets, row);
      if (ttlMs !== undefined) checkTtl(ttlMs, Date.now() + template.ttl.max_ms, template);
      const making: Making = {
        template,
        labels: JSON.parse(row.labels) as Record<string, string>,
        request: { ...request, ttlMs: ttlMs ?? request.ttlMs },
        onExpiry: row.on_expiry,
        network: row.network,
        snapshot,
      };
      const results = await Promise.allSettled(Array.from({ length: count }, () => make(caller, making)));
      const made = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      const failed = results.find((result) => result.status === 'rejected');
      if (!failed) return made.map(describe);
      // All of them or none: the caller would not know which it got.
      await Promise.all(made.map((fork) => locks.exclusive(fork.id, () => lifecycle.end(fork, boxActor, 'another fork failed'))));
      throw failed.reason;
    },

    async use(tenant, id) {
      // Before anything else, so that nobody pauses it from here on.
      const done = activity.begin(id);
      try {
        await locks.settled(id);
        let row = await rowOf(tenant, id);
        if (isLiving(row.state)) row = await ownRow(tenant, id);
        if (row.state === 'paused') {
          row = await locks.exclusive(id, async () => {
            const now = await ownRow(tenant, id);
            return now.state === 'paused' ? lifecycle.resume(now, boxActor) : now;
          });
          reaper.expect(row.expires_at);
        }
        if (row.state !== 'ready')
          throw new BoxError('not_found', `The sandbox ${id} is ${row.state}${row.reason ? `: ${row.reason}` : ''}.`);
        await programsKnown(row);
        return { sandbox: describe(row), handle: handleOf(providers, secrets, row), done };
      } catch (error) {
        done();
        throw error;
      }
    },

    nextProgramId: (id) => activity.nextProgramId(id),
    limitTime: (id, program, ms) => timeLimits.begin(id, program, ms),

    async recover() {
      await closeUnfinished(recovery, 'the server stopped while it was made');
      await compareWithProviders(recovery);
      await reopenChannels(recovery);
      await timeLimits.recover();
      await snapshots.sweep();
      reaper.start();
      diskWatch.start();
      clearInterval(canaryTimer);
      canaryTimer = setInterval(
        () => void telemetry.runCanary().catch((error: Error) => log.error({ err: error }, 'the canary could not be recorded')),
        canaryEveryMs,
      );
      canaryTimer.unref();
    },
    async beat() {
      await closeAndExpire();
      await snapshots.sweep();
      await endUnpaid(recovery, await meter.renew(host));
      // A record that another host has closed meanwhile owns nothing.
      await ahead.settle(async (id) => isLiving((await records.row(id))?.state ?? ''));
    },
    hostGone: (gone) => failSandboxesOf(recovery, gone),
    async stop() {
      clearInterval(canaryTimer);
      timeLimits.stop();
      await diskWatch.stop();
      await reaper.stop();
    },
  };
}

function requireCapability(providers: Providers, row: SandboxRow, capability: Capability): void {
  const provider = row.provider === null ? undefined : providers.get(row.provider);
  if (provider && !provider.capabilities.has(capability))
    throw new BoxError('capability_missing', `The provider ${provider.name} of sandbox ${row.id} has no ${capability}.`);
}
