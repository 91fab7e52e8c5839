/**
 * The transitions of one sandbox, for whoever makes them: callers, the reaper, the recovery after a crash. Each expects that
 * the lock of the sandbox is held.
 */

import { BoxError, type Sandbox, type SandboxState, type Template } from '@skillbox/protocol';
import type { Logger } from '../observe/log.ts';
import type { Secrets } from '../secrets.ts';
import type { SandboxRow } from '../store/tables.ts';
import type { Activity } from './activity.ts';
import type { TakenAhead } from './ahead.ts';
import type { Egress } from './egress/egress.ts';
import type { LivingProvider, ProviderRef } from './living.ts';
import { networkOf, policyOf } from './network.ts';
import { type Actor, isLiving, livingStates, type SandboxRecords, templateOf } from './records.ts';
import { type Candidates, nobody, type Providers, type Route, type Router } from './routing.ts';
import { runSetup } from './setup.ts';
import { handleOf, specOf } from './spec.ts';
import { expiryOf } from './ttl.ts';

export interface Lifecycle {
  /** Made, and the database did not say whether its record is: whoever asks it next decides what becomes of them. */
  readonly unrecorded: Map<string, Made>;
  /** From its first record to ready at the first candidate that can; or failed, with nothing left behind. */
  make(row: SandboxRow, actor: Actor, making: Making): Promise<SandboxRow>;
  /** The same for one that was made ahead: from here on it is the row's. */
  adopt(row: SandboxRow, actor: Actor, adopting: Adopting): Promise<SandboxRow>;
  /** A new disk under the same id. */
  remake(row: SandboxRow, actor: Actor, remaking: Remaking): Promise<SandboxRow>;
  /** What has ended stays as it is. */
  end(row: SandboxRow, actor: Actor, reason: string): Promise<SandboxRow>;
  pause(row: SandboxRow, actor: Actor, pausing: Pausing): Promise<SandboxRow>;
  resume(row: SandboxRow, actor: Actor): Promise<SandboxRow>;
  /** Closes it without its provider: that is gone, or never had it. */
  fail(row: SandboxRow, actor: Actor, reason: string): Promise<SandboxRow | undefined>;
}

export interface Made {
  readonly provider: LivingProvider;
  readonly ref: ProviderRef;
}

export interface Pausing {
  readonly cause: NonNullable<Sandbox['pause_cause']>;
  readonly reason: string;
  readonly patch?: Partial<SandboxRow>;
}

export interface Making {
  readonly candidates: Candidates;
  /** Living sandboxes the tenant may have. */
  readonly limit: number;
  readonly snapshot?: string | undefined;
}

export interface Adopting {
  readonly taken: TakenAhead;
  readonly route: Route;
  /** Living sandboxes the tenant may have. */
  readonly limit: number;
}

export interface Remaking {
  readonly candidates: Candidates;
  readonly reason: string;
  readonly patch: Partial<SandboxRow>;
  readonly snapshot?: string;
  /** Living sandboxes the tenant may have: what had ended lives again. */
  readonly limit: number;
}

export interface LifecycleParts {
  readonly activity: Activity;
  readonly egress: Egress;
  readonly log: Logger;
  readonly providers: Providers;
  readonly records: SandboxRecords;
  readonly secrets: Secrets;
  readonly router: Pick<Router, 'doubt'>;
}

const readyLimitMs = 60_000;
const remakeable: readonly SandboxState[] = ['ready', 'paused', 'failed', 'destroyed'];

export function createLifecycle({ activity, egress, log, providers, records, router, secrets }: LifecycleParts): Lifecycle {
  const unrecorded = new Map<string, Made>();
  const must = async (row: SandboxRow | undefined, id: string, wanted: string): Promise<SandboxRow> => {
    if (row) return row;
    const now = await records.row(id);
    throw now ? wrongState(now, wanted) : new BoxError('not_found', `There is no sandbox ${id}.`);
  };

  const provisionAt = async (
    provider: LivingProvider,
    row: SandboxRow,
    setup: readonly string[],
    snapshot?: string,
  ): Promise<ProviderRef> => {
    const network = networkOf(row);
    if (network.channel) await egress.open({ sandbox: row.id, tenant: row.tenant }, policyOf(row));
    const spec = specOf(secrets, row, snapshot);
    const ref = await provider.provision(spec);
    const handle = provider.open(ref, spec);
    try {
      await handle.waitReady(AbortSignal.timeout(readyLimitMs));
      // A disk from a snapshot was set up when the first of its line was made.
      if (snapshot === undefined) await runSetup(handle, setup, () => activity.nextProgramId(row.id));
    } catch (error) {
      await handle.teardown();
      throw error;
    }
    return ref;
  };

  /** From provisioning to ready or failed. */
  const provision = async (row: SandboxRow, actor: Actor, candidates: Candidates, snapshot?: string): Promise<SandboxRow> => {
    const route: Route = [...candidates.route];
    const template: Template = templateOf(row);
    let failure = 'no candidate could make it';
    let hint: string | undefined;
    for (const provider of candidates.providers) {
      let ref: ProviderRef;
      try {
        ref = await provisionAt(provider, row, template.setup, snapshot);
      } catch (error) {
        failure = (error as Error).message;
        hint = error instanceof BoxError ? error.hint : undefined;
        router.doubt(provider);
        log.warn({ sandbox: row.id, provider: provider.name, err: error }, 'a provider could not make a sandbox');
        route.push({ provider: provider.name, taken: false, reason: failure });
        continue;
      }
      const patch = madeBy(provider, ref, route);
      unrecorded.set(row.id, { provider, ref });
      const ready = await records.transition(row, { from: ['provisioning'], to: 'ready', actor, reason: null, patch });
      unrecorded.delete(row.id);
      // From now on every program in it is one that was started here.
      if (ready) activity.raiseProgramId(row.id, 0);
      if (ready) return ready;
      // Another host took this one for gone and closed the record, which stands.
      await provider.open(ref, specOf(secrets, row)).teardown();
      await egress.close(row.id);
      throw new BoxError('unavailable', `The sandbox ${row.id} was closed while it was made: this host was taken for gone.`, {
        ...{ retryAfter: 1, hint: 'Create it again.' },
      });
    }
    const patch = { route: JSON.stringify(route), ended_at: new Date().toISOString() };
    await records.transition(row, { from: ['provisioning'], to: 'failed', actor, reason: failure, patch });
    activity.forget(row.id);
    await egress.close(row.id);
    throw nobody(template, route, false, hint);
  };

  return {
    unrecorded,

    async make(row, actor, { candidates, limit, snapshot }) {
      const begun: SandboxRow = { ...row, state: 'provisioning', route: JSON.stringify(candidates.route) };
      await records.insert(begun, actor, limit);
      return provision(begun, actor, candidates, snapshot);
    },

    async adopt(row, actor, { taken, route, limit }) {
      const ready: SandboxRow = { ...row, ...madeBy(taken.provider, taken.ref, route), state: 'ready' };
      try {
        await records.insert(ready, actor, limit);
      } catch (error) {
        if (!isRefusal(error)) taken.doubt();
        throw error;
      }
      taken.handOver();
      activity.raiseProgramId(row.id, taken.programs);
      return ready;
    },

    async remake(row, actor, { candidates, reason, patch, snapshot, limit }) {
      const begun = await records.transition(row, {
        ...{ from: remakeable, to: 'provisioning', actor, reason, limit },
        patch: { ...patch, ended_at: null },
      });
      const going = await must(begun, row.id, remakeable.join(', '));
      if (going.ref !== null) await handleOf(providers, secrets, going).teardown();
      activity.forget(row.id);
      return provision(going, actor, candidates, snapshot);
    },

    async end(row, actor, reason) {
      const going = await records.transition(row, { from: livingStates, to: 'destroying', actor, reason });
      if (!going) return must(await records.row(row.id), row.id, 'that it is there');
      if (going.ref !== null) await handleOf(providers, secrets, going).teardown();
      await egress.close(row.id);
      activity.forget(row.id);
      const patch = { ended_at: new Date().toISOString(), ref: null, last_used_at: going.last_used_at };
      const ended = await records.transition(going, { from: ['destroying'], to: 'destroyed', actor, reason, patch });
      if (ended) return ended;
      // Another host took this one for gone and closed the record meanwhile: it has ended all the same.
      const now = await records.row(row.id);
      return must(now && !isLiving(now.state) ? now : undefined, row.id, 'destroying');
    },

    async pause(row, actor, { cause, reason, patch }) {
      if (row.state !== 'ready') throw wrongState(row, 'ready');
      // First the memory, then the record: a crash between them leaves one that is ready, and starts when it is used.
      await handleOf(providers, secrets, row).pause();
      const paused = await records.transition(row, {
        from: ['ready'],
        to: 'paused',
        actor,
        reason,
        patch: { ...patch, pause_cause: cause },
      });
      return must(paused, row.id, 'ready');
    },

    async resume(row, actor) {
      if (row.state !== 'paused') throw wrongState(row, 'paused');
      await handleOf(providers, secrets, row).waitReady(AbortSignal.timeout(readyLimitMs));
      activity.touch(row.id);
      // One whose time had run out starts a new period.
      const now = Date.now();
      const template = templateOf(row);
      const renewed = { ready_at: new Date(now).toISOString(), expires_at: expiryOf(template, template.ttl.default_ms, now) };
      const patch = row.expires_at === null ? renewed : {};
      const ready = await records.transition(row, { from: ['paused'], to: 'ready', actor, reason: 'resumed', patch });
      return must(ready, row.id, 'paused');
    },

    async fail(row, actor, reason) {
      activity.forget(row.id);
      await egress.close(row.id);
      const patch = { ended_at: new Date().toISOString() };
      return records.transition(row, { from: livingStates, to: 'failed', actor, reason, patch });
    },
  };
}

/** Then nothing was written. Of any other failure of a transaction one cannot say. */
const isRefusal = (error: unknown): boolean =>
  error instanceof BoxError && (error.code === 'sandbox_limit' || error.code === 'insufficient_credits');

function madeBy({ name, tier }: LivingProvider, ref: ProviderRef, route: Route) {
  const where = typeof ref.host === 'string' ? `, on ${ref.host}` : '';
  const reason = `${route.length === 0 ? 'the first candidate' : 'the first that could'}${where}`;
  return {
    ...{ provider: name, tier, ref: JSON.stringify(ref), ready_at: new Date().toISOString() },
    route: JSON.stringify([...route, { provider: name, taken: true, reason }]),
  };
}

export function wrongState(row: SandboxRow, wanted: string): BoxError {
  return new BoxError(
    'invalid_state',
    `The sandbox ${row.id} is ${row.state}${row.reason ? ` (${row.reason})` : ''}; this needs ${wanted}.`,
  );
}
