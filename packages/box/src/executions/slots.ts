/** Fair slots: so many runs at once for the box and for each tenant; who must wait is served in turn, tenant by tenant. */

import { BoxError } from '@skillbox/protocol';

export interface SlotLimits {
  readonly total: number;
  readonly queue: number;
  readonly tenantQueue: number;
  tenantSlots(tenant: string): number;
}

export interface Slot {
  release(): void;
}

export interface Waiting {
  /** Rejects with queue_timeout, cancelled or shutting_down; otherwise the slot is yours. */
  readonly slot: Promise<Slot>;
}

export interface Slots {
  readonly running: number;
  readonly queued: number;
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

export const isWaiting = (place: Slot | Waiting): place is Waiting => 'slot' in place;

export function createSlots(limits: SlotLimits): Slots {
  const runningOf = new Map<string, number>();
  /** Insertion order is the turn: a tenant that was served goes to the end. */
  const queues = new Map<string, Waiter[]>();
  let running = 0;
  let queued = 0;
  let closed = false;

  const hasRoom = (tenant: string): boolean => running < limits.total && (runningOf.get(tenant) ?? 0) < limits.tenantSlots(tenant);

  const occupy = (tenant: string): Slot => {
    running += 1;
    runningOf.set(tenant, (runningOf.get(tenant) ?? 0) + 1);
    let released = false;
    return {
      release() {
        if (released) return;
        released = true;
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
      const tenant = [...queues.keys()].find(hasRoom);
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
      queues.set(tenant, [...(queues.get(tenant) ?? []), waiter]);
      queued += 1;
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) onAbort();
    });
    // Whoever waits handles a refusal when it gets to it; until then it must not count as unhandled.
    slot.catch(() => undefined);
    return { slot };
  };

  return {
    get running() {
      return running;
    },
    get queued() {
      return queued;
    },
    request(tenant, { signal, timeoutMs, unbounded = false }) {
      if (closed) throw new BoxError('shutting_down', 'The box is stopping.', { retryAfter: 5 });
      const waiting = queues.get(tenant)?.length ?? 0;
      if (waiting === 0 && hasRoom(tenant)) return occupy(tenant);
      if (!unbounded && (queued >= limits.queue || waiting >= limits.tenantQueue)) {
        throw new BoxError('queue_full', `${waiting} executions of this tenant and ${queued} in all are waiting already.`, {
          retryAfter: 1,
        });
      }
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
