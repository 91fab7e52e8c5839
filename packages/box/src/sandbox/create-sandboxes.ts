/** Living sandboxes: every change of one is a transition of its row, and only then the provider's work. */

import { BoxError, type CreateSandbox, type Sandbox, type SandboxState, type Template } from '@skillbox/protocol';
import type { Caller } from '../access/caller.ts';
import { encodeActor } from '../executions/records.ts';
import type { Logger } from '../observe/log.ts';
import type { Secrets } from '../secrets.ts';
import { checkEnv } from '../skills/env.ts';
import type { SandboxRow } from '../store/tables.ts';
import { parseDuration } from '../units.ts';
import { type Activity, createActivity } from './activity.ts';
import { newSandboxId } from './ids.ts';
import type { Capability, LivingProvider } from './living.ts';
import { createLocks, type Locks } from './locks.ts';
import { type Actor, boxActor, describe, type SandboxRecords } from './records.ts';
import { findCandidates, nobody, type Providers, type Route } from './routing.ts';
import type { Sandboxes } from './sandboxes.ts';
import { runSetup } from './setup.ts';
import { handleOf, sealRequest, specOf } from './spec.ts';
import type { Templates } from './templates.ts';

export interface SandboxParts {
  readonly host: string;
  readonly log: Logger;
  readonly providers: Providers;
  readonly records: SandboxRecords;
  readonly templates: Templates;
  readonly secrets: Secrets;
  /** Living sandboxes one tenant may have. */
  readonly tenantLimit: number;
}

const readyLimitMs = 60_000;

export function createSandboxes(parts: SandboxParts): Sandboxes {
  const { host, log, providers, records, secrets, templates, tenantLimit } = parts;
  const activity: Activity = createActivity();
  const locks: Locks = createLocks();

  /** Of this tenant and on this host. */
  const ownRow = async (tenant: string, id: string): Promise<SandboxRow> => {
    const row = await records.row(id, tenant);
    if (!row) throw new BoxError('not_found', `There is no sandbox ${id}.`);
    if (row.host !== host) throw new BoxError('on_another_host', `The sandbox ${id} lives on host ${row.host}; this is ${host}.`);
    return row;
  };

  const wrongState = (row: SandboxRow, wanted: string): BoxError =>
    new BoxError('invalid_state', `The sandbox ${row.id} is ${row.state}${row.reason ? ` (${row.reason})` : ''}; this needs ${wanted}.`);

  const must = async (row: SandboxRow | undefined, id: string): Promise<SandboxRow> => {
    if (row) return row;
    const now = await records.row(id);
    throw now ? wrongState(now, 'that nobody changes it meanwhile') : new BoxError('not_found', `There is no sandbox ${id}.`);
  };

  /** Makes it at the first candidate that can. Leaves the row ready, or failed and nothing behind. */
  const provision = async (
    row: SandboxRow,
    actor: Actor,
    candidates: readonly LivingProvider[],
    passed: Route,
    snapshot: string | undefined,
  ): Promise<SandboxRow> => {
    const route: Route = [...passed];
    const { setup, ...template } = JSON.parse(row.template) as Template;
    let failure: unknown;
    for (const provider of candidates) {
      const spec = specOf(secrets, row, snapshot);
      try {
        const ref = await provider.provision(spec);
        const handle = provider.open(ref, spec);
        try {
          await handle.waitReady(AbortSignal.timeout(readyLimitMs));
          await runSetup(handle, setup, () => activity.nextProgramId(row.id));
        } catch (error) {
          await handle.teardown();
          throw error;
        }
        const reason = route.length === 0 ? 'first candidate' : 'first candidate that could';
        route.push({ provider: provider.name, taken: true, reason });
        const ready = await records.transition(row, {
          ...{ from: ['provisioning'], to: 'ready', actor, reason: null },
          patch: {
            ...{ provider: provider.name, tier: provider.tier, ref: JSON.stringify(ref), route: JSON.stringify(route) },
            ready_at: new Date().toISOString(),
          },
        });
        if (ready) return ready;
        await handle.teardown();
        throw new BoxError('invalid_state', `The sandbox ${row.id} was closed while it was made.`);
      } catch (error) {
        failure = error;
        const reason = (error as Error).message;
        log.warn({ sandbox: row.id, provider: provider.name, err: error }, 'a provider could not make a sandbox');
        route.push({ provider: provider.name, taken: false, reason });
      }
    }
    const reason = failure instanceof Error ? failure.message : 'no candidate could make it';
    await records.transition(row, {
      ...{ from: ['provisioning'], to: 'failed', actor, reason },
      patch: { route: JSON.stringify(route), ended_at: new Date().toISOString() },
    });
    activity.forget(row.id);
    throw nobody(template as Template, route, false);
  };

  const create = async (caller: Caller, request: CreateSandbox): Promise<Sandbox> => {
    const template = await templates.resolve(request.template ?? 'canary');
    const isAdmin = caller.scopes.includes('admin');
    if (template.admin_only && !isAdmin) throw new BoxError('forbidden', `The template ${template.name} is for administrators.`);
    checkEnv(request.env);
    const ttlMs = ttlOf(request.ttl, template);
    const onExpiry = request.on_expiry ?? 'destroy';
    const capabilities: Capability[] = ['exec'];
    if (template.idle.action === 'pause' || onExpiry === 'pause') capabilities.push('pause');
    const { providers: candidates, route } = await findCandidates(providers, { template, capabilities, trusted: isAdmin });
    const now = Date.now();
    const row: SandboxRow = {
      id: newSandboxId(),
      tenant: caller.tenant,
      state: 'requested',
      template_name: `${template.name}@${template.version}`,
      template: JSON.stringify(template),
      provider: null,
      tier: null,
      ref: null,
      host,
      labels: JSON.stringify({ ...template.labels, ...request.labels }),
      request: sealRequest(secrets, { env: request.env, inputs: request.inputs, ttlMs }),
      lineage: '[]',
      on_idle: template.idle.action,
      idle_ms: template.idle.after_ms,
      on_expiry: onExpiry,
      created_at: new Date(now).toISOString(),
      ready_at: null,
      expires_at: new Date(now + ttlMs).toISOString(),
      last_used_at: null,
      ended_at: null,
      reason: null,
      route: JSON.stringify(route),
      actor: encodeActor(caller.actor),
    };
    return locks.exclusive(row.id, async () => {
      await records.insert(row, caller.actor, tenantLimit);
      const started = await must(
        await records.transition(row, { from: ['requested'], to: 'provisioning', actor: caller.actor, reason: null }),
        row.id,
      );
      return describe(await provision(started, caller.actor, candidates, route, undefined));
    });
  };

  /** From whatever living state to destroyed; false when it was not living. */
  const end = async (row: SandboxRow, actor: Actor, reason: string | null): Promise<SandboxRow> => {
    const from: SandboxState[] = ['requested', 'provisioning', 'ready', 'paused', 'destroying'];
    const going = await records.transition(row, { from, to: 'destroying', actor, reason });
    if (!going) return must(await records.row(row.id), row.id);
    if (going.ref !== null) await handleOf(providers, secrets, going).teardown();
    activity.forget(row.id);
    const patch = { ended_at: new Date().toISOString() };
    return must(await records.transition(going, { from: ['destroying'], to: 'destroyed', actor, reason, patch }), row.id);
  };

  return {
    create,
    async get(tenant, id) {
      const row = await records.row(id, tenant);
      if (!row) throw new BoxError('not_found', `There is no sandbox ${id}.`);
      return describe(row);
    },
    list: (filter) => records.list(filter),
    async destroy(caller, id, reason = 'asked for') {
      const row = await ownRow(caller.tenant, id);
      return locks.exclusive(id, async () => describe(await end(row, caller.actor, reason)));
    },
    async use(tenant, id) {
      const done = activity.begin(id);
      try {
        await locks.settled(id);
        const row = await ownRow(tenant, id);
        if (row.state !== 'ready') throw new BoxError('not_found', `The sandbox ${id} is ${row.state}.`);
        const handle = handleOf(providers, secrets, row);
        if (!activity.knowsPrograms(id))
          activity.raiseProgramId(id, Math.max(0, ...(await handle.programs()).map((program) => program.id)));
        return { sandbox: describe(row), handle, done };
      } catch (error) {
        done();
        throw error;
      }
    },
    nextProgramId: (id) => activity.nextProgramId(id),
    recreate: notYet,
    setTtl: notYet,
    pause: notYet,
    resume: notYet,
    snapshot: notYet,
    snapshots: notYet,
    removeSnapshot: notYet,
    restore: notYet,
    fork: notYet,
  };
}

async function notYet(): Promise<never> {
  throw new BoxError('capability_missing', `Not yet, ${boxActor.id}.`);
}

function ttlOf(asked: string | number | undefined, { name, ttl }: Template): number {
  if (asked === undefined) return ttl.default_ms;
  const ms = parseDuration(asked);
  if (ms === undefined || ms <= 0) throw new BoxError('bad_request', '/ttl: expected a time such as 90s.');
  if (ms > ttl.max_ms) throw new BoxError('bad_request', `/ttl: at most ${ttl.max_ms / 1000} seconds with template ${name}.`);
  return ms;
}
