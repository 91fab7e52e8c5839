/**
 * Fair slots: so many runs at once for the box and for each tenant. Who must wait is served by need: the tenant with the fewest runs
 * first, and in turn among equals. Some slots are only for tenants that run nothing, so that long runs of others never keep one out.
 */

import { BoxError } from '@skillbox/protocol';

export interface SlotLimits {
  readonly total: number;
  readonly queue: number;
  readonly tenantQueue: number;
  /** Runs that may be young at once, since starting is what the processor is needed for; one of a tenant that runs nothing may always be. */
  readonly young?: number;
  tenantSlots(tenant: string): number;
}

export interface Slot {
  /** Of the processor: 1 for the only run of a tenant in this second, and the less the more it has had. */
  readonly share: number;
  release(): void;
}

export interface Waiting {
  /** Rejects with queue_timeout, cancelled or shutting_down; otherwise the slot is yours. */
  readonly slot: Promise<Slot>;
}

export interface Slots {
  readonly running: number;
  readonly queued: number;
  /** Throws queue_full when a request of this tenant would be refused now. */
  requirePlace(tenant: string): void;
  /** A slot at once, or a place in the queue; throws queue_full when there is neither. */
  request(
    tenant: string,
    options: { readonly signal: AbortSignal; readonly timeoutMs: number; readonly unbounded?: boolean },
  ): Slot | Waiting;
  /** Refuses what waits and whatever comes. */
  close(): void;
}

interface Waiter {
  readonly grant: (slot: Slot) => void;
  readonly refuse: (error: BoxError) => void;
}

/** By then a run has started, or has ended. */
const youngMs = 50;

export const isWaiting = (place: Slot | Waiting): place is Waiting => 'slot' in place;

export function createSlots(limits: SlotLimits): Slots {
  const runningOf = new Map<string, number>();
  /** Insertion order is the turn: a tenant that was served goes to the end. */
  const queues = new Map<string, Waiter[]>();
  const recent = createRecent();
  let running = 0;
  let young = 0;
  let queued = 0;
  let closed = false;

  const reserve = reserveOf(limits.total);
  // Where there are few slots, they are the limit.
  const mostYoung = reserve === 0 ? limits.total : (limits.young ?? limits.total);
  const hasRoom = (tenant: string): boolean => {
    const own = runningOf.get(tenant) ?? 0;
    if (own >= limits.tenantSlots(tenant)) return false;
    return own === 0 ? running < limits.total : running < limits.total - reserve && young < mostYoung;
  };

  /** Of those that may run, the one that runs least; among equals the one whose turn it is. */
  const neediest = (): string | undefined => {
    let found: string | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const tenant of queues.keys()) {
      const own = runningOf.get(tenant) ?? 0;
      if (own >= fewest || !hasRoom(tenant)) continue;
      found = tenant;
      fewest = own;
    }
    return found;
  };

  const occupy = (tenant: string): Slot => {
    running += 1;
    runningOf.set(tenant, (runningOf.get(tenant) ?? 0) + 1);
    const share = 1 / recent.note(tenant);
    young += 1;
    let isYoung = true;
    const grow = (): void => {
      if (!isYoung) return;
      isYoung = false;
      young -= 1;
    };
    const growing = setTimeout(() => {
      grow();
      serve();
    }, youngMs);
    growing.unref();
    let released = false;
    return {
      share,
      release() {
        if (released) return;
        released = true;
        clearTimeout(growing);
        grow();
        running -= 1;
        const left = (runningOf.get(tenant) ?? 1) - 1;
        if (left > 0) runningOf.set(tenant, left);
        else runningOf.delete(tenant);
        serve();
      },
    };
  };

  const serve = (): void => {
    while (running < limits.total) {
      const tenant = neediest();
      if (tenant === undefined) return;
      const waiters = queues.get(tenant) ?? [];
      const waiter = waiters.shift();
      queues.delete(tenant);
      if (waiters.length > 0) queues.set(tenant, waiters);
      if (!waiter) continue;
      queued -= 1;
      waiter.grant(occupy(tenant));
    }
  };

  const leave = (tenant: string, waiter: Waiter): boolean => {
    const waiters = queues.get(tenant);
    const index = waiters?.indexOf(waiter) ?? -1;
    if (!waiters || index < 0) return false;
    waiters.splice(index, 1);
    if (waiters.length === 0) queues.delete(tenant);
    queued -= 1;
    return true;
  };

  const enqueue = (tenant: string, signal: AbortSignal, timeoutMs: number): Waiting => {
    const slot = new Promise<Slot>((resolve, reject) => {
      const quit = (error: BoxError): void => {
        if (leave(tenant, waiter)) finish(() => reject(error));
      };
      const onAbort = (): void => quit(new BoxError('cancelled', 'Cancelled while it waited for a slot.'));
      const timer = setTimeout(() => quit(new BoxError('queue_timeout', 'No slot became free in time.')), timeoutMs);
      const finish = (settle: () => void): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        settle();
      };
      const waiter: Waiter = { grant: (granted) => finish(() => resolve(granted)), refuse: (error) => finish(() => reject(error)) };
      const waiters = queues.get(tenant);
      if (waiters) waiters.push(waiter);
      else queues.set(tenant, [waiter]);
      queued += 1;
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) onAbort();
    });
    // Whoever waits handles a refusal when it gets to it; until then it must not count as unhandled.
    slot.catch(() => undefined);
    return { slot };
  };

  const mayStart = (tenant: string): boolean => !queues.has(tenant) && hasRoom(tenant);

  const requireQueue = (tenant: string): void => {
    const waiting = queues.get(tenant)?.length ?? 0;
    // A queue that others have filled has one more place for who waits for nothing yet: tenants are few, and a flood must not keep them out.
    const full = waiting === 0 && limits.queue > 0 ? false : queued >= limits.queue;
    if (!full && waiting < limits.tenantQueue) return;
    throw new BoxError('queue_full', `${waiting} executions of this tenant and ${queued} in all are waiting already.`, { retryAfter: 1 });
  };

  return {
    get running() {
      return running;
    },
    get queued() {
      return queued;
    },
    requirePlace(tenant) {
      if (!mayStart(tenant)) requireQueue(tenant);
    },
    request(tenant, { signal, timeoutMs, unbounded = false }) {
      if (closed) throw new BoxError('shutting_down', 'The box is stopping.', { retryAfter: 5 });
      if (mayStart(tenant)) return occupy(tenant);
      if (!unbounded) requireQueue(tenant);
      return enqueue(tenant, signal, timeoutMs);
    },
    close() {
      closed = true;
      for (const waiters of queues.values()) {
        for (const waiter of waiters) waiter.refuse(new BoxError('shutting_down', 'The box is stopping.'));
      }
      queues.clear();
      queued = 0;
    },
  };
}

/** A tenth, and at least one; where there are so few that one would be missed, none. */
const reserveOf = (total: number): number => (total < 4 ? 0 : Math.max(1, Math.floor(total / 10)));

const recentMs = 1000;

/** How many runs of a tenant have begun of late. */
function createRecent(): { note(tenant: string): number } {
  const seen = new Map<string, { since: number; before: number; now: number }>();
  let swept = performance.now();
  const sweep = (time: number): void => {
    if (time - swept < 60 * recentMs) return;
    swept = time;
    for (const [tenant, { since }] of seen) if (time - since > 2 * recentMs) seen.delete(tenant);
  };
  return {
    note(tenant) {
      const time = performance.now();
      sweep(time);
      const entry = seen.get(tenant) ?? { since: time, before: 0, now: 0 };
      const age = time - entry.since;
      if (age >= recentMs) {
        entry.before = age < 2 * recentMs ? entry.now : 0;
        entry.now = 0;
        entry.since = time;
      }
      entry.now += 1;
      seen.set(tenant, entry);
      return Math.max(entry.before, entry.now);
    },
  };
}
