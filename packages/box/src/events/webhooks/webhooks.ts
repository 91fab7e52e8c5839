/**
 * Events to hubs. The events are written by those to whom they happen, in their own transactions; everything here comes
 * after, from the table, so that no hub can fail or slow what it is told about. Of several hosts one delivers for a webhook,
 * by a lease.
 */

import { randomUUID } from 'node:crypto';
import {
  BoxError,
  type BoxEvent,
  type CreatedWebhook,
  type Page,
  type Webhook,
  type WebhookDelivery,
  type WebhookTest,
} from '@skillbox/protocol';
import { type Caller, encodeActor } from '../../access/caller.ts';
import type { Logger } from '../../observe/log.ts';
import type { Secrets } from '../../secrets.ts';
import type { Database } from '../../store/database.ts';
import type { Leases } from '../../store/leases.ts';
import type { Events } from '../events.ts';
import { eventChannel } from '../tail.ts';
import { createDestinations, type Destinations } from './destination.ts';
import { createHooks, type DeclaredHook, type Hook } from './hooks.ts';
import { createOutbox } from './outbox.ts';
import { createPoster, type Poster } from './post.ts';
import { createSender, type Sender, type SenderParts } from './sender.ts';
import { createStandings, type DeliveryFilter } from './standings.ts';
import { type Timing, usualTiming } from './timing.ts';

export interface Webhooks {
  /** Those of the tenant and of the manifest. */
  list(tenant: string): Promise<Webhook[]>;
  show(tenant: string, name: string): Promise<Webhook>;
  create(caller: Caller, hook: Pick<Hook, 'name' | 'url' | 'events'>): Promise<CreatedWebhook>;
  remove(tenant: string, name: string): Promise<void>;
  /** Sends one event of its own, past the outbox, and tells what came of it. */
  test(caller: Caller, name: string): Promise<WebhookTest>;
  deliveries(tenant: string, name: string, filter: DeliveryFilter): Promise<Page<WebhookDelivery>>;
  retry(tenant: string, name: string, eventId?: string): Promise<number>;
  /** Those that someone should look at, of all tenants. */
  inTrouble(): Promise<Webhook[]>;
  /** Deliveries that wait, of the webhooks this host delivers for. */
  pending(): Promise<number>;
}

export interface HostedWebhooks extends Webhooks {
  start(): Promise<void>;
  /** At every heartbeat: keeps the leases, and takes those of hosts that are gone. */
  beat(): Promise<void>;
  stop(): Promise<void>;
}

export interface WebhookParts {
  readonly database: Database;
  readonly events: Events;
  readonly host: string;
  readonly leases: Leases;
  readonly leaseTtlMs: number;
  readonly log: Logger;
  readonly onAttempt: SenderParts['onAttempt'];
  readonly secrets: Secrets;
  readonly declared: readonly DeclaredHook[];
  /** Whether those made over the API may reach private addresses too. */
  readonly privateAddresses: boolean;
  readonly timing?: Timing;
  /** Given in tests. */
  readonly destinations?: Destinations;
}

const changeChannel = 'skillbox_webhooks';
/** Catches what no notification told. */
const pollMs = 1000;
/** The events of one create come within this, and cost one look. */
const gatherMs = 20;
const pruneEveryMs = 60_000;

export function createWebhooks(parts: WebhookParts): HostedWebhooks {
  const { database, events, host, leases, leaseTtlMs, log, onAttempt, timing = usualTiming } = parts;
  const { anywhere, internet } = parts.destinations ?? createDestinations();
  const destinationOf = (source: Hook['source']) => (parts.privateAddresses || source === 'manifest' ? anywhere : internet);
  const hooks = createHooks(database, parts.secrets, parts.declared);
  const outbox = createOutbox(database, events, timing);
  const standings = createStandings(database, events);
  const senders = new Map<string, Sender>();
  const leaseOf = (key: string): string => `webhook/${key}`;
  let stopping = false;
  let stopListening: (() => void)[] = [];
  let poll: NodeJS.Timeout | undefined;
  let prunedAt = Number.NEGATIVE_INFINITY;

  const posterOf = (hook: Hook): Poster =>
    createPoster({ ...timing, url: hook.url, secret: hook.secret, destination: destinationOf(hook.source) });

  const describe = async (found: readonly Hook[]): Promise<Webhook[]> => {
    const standing = await standings.of(found.map(({ key }) => key));
    return found.map(({ key, name, tenant, url, events: patterns, source, createdAt }) => ({
      ...{ name, tenant, url, events: [...patterns], source, created_at: createdAt },
      ...(standing.get(key) ?? { state: 'ok', since: null, error: null, pending: 0, dead: 0, events_behind: 0 }),
    }));
  };
  const describeOne = async (hook: Hook): Promise<Webhook> => {
    const [described] = await describe([hook]);
    if (!described) throw new BoxError('internal', 'A webhook could not be described.');
    return described;
  };

  const drop = async (sender: Sender): Promise<void> => {
    senders.delete(sender.hook.key);
    await sender.stop();
  };

  /** Delivers for what this host has the lease of, and for nothing else. */
  const takeLeases = async (): Promise<void> => {
    if (stopping) return;
    const wanted = new Map((await hooks.all()).map((hook) => [hook.key, hook]));
    for (const sender of [...senders.values()]) {
      const hook = wanted.get(sender.hook.key);
      // One that was deleted and made again has the same name and another secret.
      if (hook && hook.secret === sender.hook.secret && hook.url === sender.hook.url) continue;
      await drop(sender);
      if (!hook) await leases.release(leaseOf(sender.hook.key), host);
    }
    for (const hook of wanted.values()) {
      if (stopping) return;
      const known = senders.get(hook.key);
      // From before the question: the lease counts from some moment after it.
      const until = performance.now() + leaseTtlMs;
      // One that has most of its time left is asked for at the next beat.
      if (known && until - known.heldUntil < leaseTtlMs / 4) continue;
      const held = await leases.acquire(leaseOf(hook.key), host, leaseTtlMs);
      if (!held) {
        if (known) await drop(known);
        continue;
      }
      const fill = (): Promise<unknown> => outbox.fill([hook]);
      const sender = known ?? createSender({ hook, outbox, poster: posterOf(hook), timing, log, onAttempt, onIdle: lookSoon, fill });
      senders.set(hook.key, sender);
      sender.heldUntil = until;
    }
  };
  const refresh = oneAtATime(takeLeases);

  const look = async (): Promise<void> => {
    for (let more = true; more && !stopping; ) {
      const filled = await outbox.fill([...senders.values()].filter(({ away }) => !away).map(({ hook }) => hook));
      for (const key of filled.added) senders.get(key)?.wake();
      more = filled.more;
    }
    if (stopping || performance.now() - prunedAt < pruneEveryMs) return;
    prunedAt = performance.now();
    await outbox.prune([...senders.keys()]);
  };
  const lookOnce = oneAtATime(look);
  let gathering: NodeJS.Timeout | undefined;
  const lookSoon = (): void => {
    if (senders.size === 0) return;
    gathering ??= setTimeout(() => {
      gathering = undefined;
      lookOnce().catch((error: Error) => log.error({ err: error }, 'could not look for events that webhooks want; the next look does'));
    }, gatherMs).unref();
  };
  const onChange = (): void => {
    refresh().then(
      () => {
        for (const sender of senders.values()) sender.wake();
      },
      (error: Error) => log.error({ err: error }, 'could not read the webhooks; the next beat does'),
    );
  };

  return {
    list: async (tenant) => describe(await hooks.visibleTo(tenant)),
    show: async (tenant, name) => describeOne(await hooks.find(tenant, name)),

    async create(caller, { name, url, events: patterns }) {
      const refusal = destinationOf('api').refusal(url);
      if (refusal !== undefined)
        throw new BoxError('bad_request', `A webhook may lead only to addresses on the internet: ${refusal}.`, {
          hint: 'The operator can declare it in the manifest, or set SKILLBOX_WEBHOOK_PRIVATE_ADDRESSES=allow.',
        });
      const hook = await hooks.create(
        { tenant: caller.tenant, name, url, events: patterns, createdBy: encodeActor(caller.actor) },
        await events.lastSeq(),
      );
      database.notify(changeChannel);
      return { ...(await describeOne(hook)), secret: hook.secret };
    },

    async remove(tenant, name) {
      await hooks.remove(tenant, name);
      database.notify(changeChannel);
    },

    async test(caller, name) {
      const hook = await hooks.find(caller.tenant, name);
      const event: BoxEvent = {
        ...{ seq: 0, id: `evt_${randomUUID()}`, time: new Date().toISOString(), tenant: caller.tenant, actor: caller.actor, host },
        ...{ subject: { type: 'webhook', id: name }, type: 'webhook.test', data: {} },
      };
      const poster = posterOf(hook);
      const started = performance.now();
      try {
        const outcome = await poster.post({ id: event.id, body: JSON.stringify(event) }, new AbortController().signal);
        return {
          ...{ ok: outcome.kind === 'delivered', status: outcome.status, ms: Math.round(performance.now() - started) },
          error: outcome.kind === 'delivered' ? null : outcome.error,
        };
      } finally {
        poster.close();
      }
    },

    deliveries: async (tenant, name, filter) => standings.list((await hooks.find(tenant, name)).key, filter),

    async retry(tenant, name, eventId) {
      const { key } = await hooks.find(tenant, name);
      const retried = await outbox.retry(key, eventId);
      database.notify(changeChannel);
      return retried;
    },

    inTrouble: async () => (await describe(await hooks.all())).filter(({ state, dead }) => state !== 'ok' || dead > 0),
    // While the database is away the other figures are wanted all the more; NaN is how Prometheus says unknown.
    pending: () => outbox.pending([...senders.keys()]).catch(() => Number.NaN),

    async start() {
      for (const hook of hooks.declared) await outbox.begin(hook.key);
      stopListening = [database.listen(eventChannel, lookSoon), database.listen(changeChannel, onChange)];
      poll = setInterval(lookSoon, pollMs);
      poll.unref();
      await refresh();
      lookSoon();
    },

    beat: refresh,

    async stop() {
      stopping = true;
      for (const stop of stopListening) stop();
      clearInterval(poll);
      clearTimeout(gathering);
      // What is under way still needs the database.
      await Promise.allSettled([refresh(), lookOnce()]);
      const known = [...senders.values()];
      await Promise.all(known.map(drop));
      // Others need not wait until they run out.
      for (const { hook } of known) await leases.release(leaseOf(hook.key), host);
    },
  };
}

/** A call while one is under way means one more after it, for all who call meanwhile. */
function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const run = (): Promise<void> => {
    if (!running) {
      running = work().finally(() => {
        running = undefined;
      });
      return running;
    }
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        return run();
      });
    return next;
  };
  return run;
}
