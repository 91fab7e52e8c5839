/**
 * Fair slots: so many runs at once for the box and for each tenant. Who must wait is served by need: the tenant with the fewest runs
 * first, and in turn among equals. Some slots are only for tenants that run nothing, so that long runs of others never keep one out.
 */

import { BoxError } from '@skillbox/protocol';

export interface SlotLimits {
  readonly total: number;
  readonly queue: number;
  readonly tenantQueue: number;
  /**
   * Runs that may be young at once, since starting is what the processor is needed for; one less while several tenants want it, so that
   * some of it is free for who comes next. One of a tenant that asks seldom may always be.
   */
  readonly young?: number;
  tenantSlots(tenant: string): number;
}

export interface Slot {
  /** Of the processor: 1 for the only run of a tenant in this second, and the less the more it has had. */
  readonly share: number;
  /** Its program has ended: what is left needs little of the processor. */
  programEnded(): void;
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
  const mostYoung = (): number => {
    // Where there are few slots, they are the limit.
    if (reserve === 0 || limits.young === undefined) return limits.total;
    return recent.isShared() ? Math.max(1, limits.young - 1) : limits.young;
  };
  const hasRoom = (tenant: string): boolean => {
    const own = runningOf.get(tenant) ?? 0;
    if (own >= limits.tenantSlots(tenant)) return false;
    if (own > 0) return running < limits.total - reserve && young < mostYoung();
    return running < limits.total && (young < mostYoung() || recent.isSeldom(tenant));
  };

  /** Of those that may run, the one that runs least; then the one that has had least of late, then the one whose turn it is. */
  const neediest = (): string | undefined => {
    let found: string | undefined;
    let least = { own: Number.POSITIVE_INFINITY, had: 0 };
    for (const tenant of queues.keys()) {
      const own = runningOf.get(tenant) ?? 0;
      if (own > least.own || !hasRoom(tenant)) continue;
      const had = recent.of(tenant);
      if (own === least.own && had >= least.had) continue;
      found = tenant;
      least = { own, had };
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
    const growNow = (): void => {
      grow();
      serve();
    };
    const growing = setTimeout(growNow, youngMs);
    growing.unref();
    let released = false;
    return {
      share,
      programEnded: growNow,
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
const seldomShare = 0.75;

interface Recent {
  /** Notes a run; how many of this tenant have begun of late. */
  note(tenant: string): number;
  of(tenant: string): number;
  /** Whether it has had clearly fewer than the tenant with the most. */
  isSeldom(tenant: string): boolean;
  /** Whether more than one tenant has had any. */
  isShared(): boolean;
}

interface Count {
  since: number;
  before: number;
  now: number;
}

function createRecent(): Recent {
  const seen = new Map<string, Count>();
  const busiest: Count = { since: 0, before: 0, now: 0 };
  let last = '';
  let changed = Number.NEGATIVE_INFINITY;
  let swept = performance.now();
  const sweep = (time: number): void => {
    if (time - swept < 60 * recentMs) return;
    swept = time;
    for (const [tenant, { since }] of seen) if (time - since > 2 * recentMs) seen.delete(tenant);
  };
  const turn = (count: Count, time: number): void => {
    const age = time - count.since;
    if (age < recentMs) return;
    count.before = age < 2 * recentMs ? count.now : 0;
    count.now = 0;
    count.since = time;
  };
  const read = (count: Count, time: number): number => {
    turn(count, time);
    return Math.max(count.before, count.now);
  };
  const of = (tenant: string): number => {
    const count = seen.get(tenant);
    return count ? read(count, performance.now()) : 0;
  };
  return {
    note(tenant) {
      const time = performance.now();
      sweep(time);
      const count = seen.get(tenant) ?? { since: time, before: 0, now: 0 };
      turn(count, time);
      turn(busiest, time);
      count.now += 1;
      busiest.now = Math.max(busiest.now, count.now);
      seen.set(tenant, count);
      if (last !== '' && tenant !== last) changed = time;
      last = tenant;
      return read(count, time);
    },
    of,
    isShared: () => performance.now() - changed < recentMs,
    isSeldom: (tenant) => of(tenant) < read(busiest, performance.now()) * seldomShare,
  };
}
