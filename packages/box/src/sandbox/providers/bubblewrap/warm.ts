/**
 * Sandboxes that stand ready, each for one job, for what is run often. They are filled off the request's path, sized by recent
 * demand within a budget of memory, and let go when nobody asks any more.
 */

import { availableParallelism } from 'node:os';
import type { WarmState } from '../../provider.ts';

/** A sandbox made ready; whoever takes it disposes of it. */
export interface Ready {
  /** Resolves when it has ended by itself. */
  readonly ended: Promise<void>;
  readMemory(): number;
  dispose(): Promise<boolean>;
}

export interface WarmOptions {
  /** Memory that all of them may hold together; 0 keeps none. */
  readonly budgetBytes: number;
  readonly idleMs: number;
  /** Runs under way: while they need every core, nothing is made ahead. */
  running(): number;
  onTrouble(message: string): void;
}

export interface WarmPools<T extends Ready> {
  /** One that stands ready, or none. Either way the demand is noted and the pool filled up by and by. */
  take(key: string, make: () => Promise<T>): T | undefined;
  readonly state: WarmState;
  close(): Promise<void>;
}

interface Pool<T> {
  readonly ready: { readonly sandbox: T; readonly memoryBytes: number }[];
  make: () => Promise<T>;
  lastUse: number;
  /** Smoothed time between uses. */
  gapMs: number;
  /** Smoothed time that making one takes. */
  makeMs: number;
  making: number;
  /** Not before then, after one could not be made. */
  restUntil: number;
  failures: number;
}

const mostPerPool = 8;
const sweepEveryMs = 5000;
const busyPauseMs = 5;
/** Starting a process holds up the server for milliseconds: it waits for a moment without runs, but not for ever. */
const patienceMs = 50;
const firstGapMs = 10_000;
const longestRestMs = 60_000;

export function createWarmPools<T extends Ready>({ budgetBytes, idleMs, running, onTrouble }: WarmOptions): WarmPools<T> {
  const cores = availableParallelism();
  const pools = new Map<string, Pool<T>>();
  const departures = new Set<Promise<unknown>>();
  const arrivals = new Set<Promise<unknown>>();
  let memoryBytes = 0;
  let making = 0;
  let served = 0;
  let missed = 0;
  let closed = false;
  let filling: NodeJS.Timeout | undefined;

  const track = (set: Set<Promise<unknown>>, work: Promise<unknown>): void => {
    set.add(work);
    void work.finally(() => set.delete(work));
  };
  const letGo = (sandbox: T): void => track(departures, sandbox.dispose());

  /** Enough for what comes while the next one is made, and one more. */
  const wanted = (pool: Pool<T>): number => Math.min(mostPerPool, 1 + Math.ceil((pool.makeMs * 1.5) / pool.gapMs));

  /** The pool that lacks most, of those that may be filled now. */
  const neediest = (): Pool<T> | undefined => {
    const now = Date.now();
    let best: Pool<T> | undefined;
    let most = 0;
    for (const pool of pools.values()) {
      const lack = wanted(pool) - pool.ready.length - pool.making;
      if (lack > most && now >= pool.restUntil) {
        best = pool;
        most = lack;
      }
    }
    return best;
  };

  /** Those of the pool that was used longest ago go first. */
  const makeRoom = (): void => {
    const oldest = [...pools.values()].sort((one, other) => one.lastUse - other.lastUse);
    for (const pool of oldest) {
      while (memoryBytes > budgetBytes && pool.ready.length > 0) drop(pool);
      if (memoryBytes <= budgetBytes) return;
    }
  };

  const drop = (pool: Pool<T>): void => {
    const gone = pool.ready.shift();
    if (!gone) return;
    memoryBytes -= gone.memoryBytes;
    letGo(gone.sandbox);
  };

  const makeOne = async (pool: Pool<T>): Promise<void> => {
    pool.making += 1;
    making += 1;
    const started = performance.now();
    try {
      const sandbox = await pool.make();
      pool.makeMs = pool.makeMs * 0.7 + (performance.now() - started) * 0.3;
      pool.failures = 0;
      if (closed) {
        letGo(sandbox);
        return;
      }
      const entry = { sandbox, memoryBytes: sandbox.readMemory() };
      pool.ready.push(entry);
      memoryBytes += entry.memoryBytes;
      makeRoom();
      void sandbox.ended.then(() => {
        const index = pool.ready.indexOf(entry);
        if (index < 0) return;
        // Killed from outside while it stood ready.
        pool.ready.splice(index, 1);
        memoryBytes -= entry.memoryBytes;
        letGo(sandbox);
      });
    } catch (error) {
      pool.failures += 1;
      pool.restUntil = Date.now() + Math.min(longestRestMs, 500 * 2 ** pool.failures);
      onTrouble(`a sandbox could not be made ready ahead: ${(error as Error).message}`);
    } finally {
      pool.making -= 1;
      making -= 1;
      fill();
    }
  };

  const fill = (): void => {
    if (closed || filling) return;
    const since = performance.now();
    const mayStart = (): boolean => running() === 0 || (running() < cores && performance.now() - since > patienceMs);
    const later = (): void => {
      filling = undefined;
      while (!closed && making < Math.max(1, Math.floor(cores / 2))) {
        const pool = neediest();
        if (!pool) return;
        // Whoever runs now comes first: a sandbox made ahead takes a core for longer than it saves.
        if (!mayStart()) {
          filling = setTimeout(later, busyPauseMs);
          return;
        }
        track(arrivals, makeOne(pool));
      }
    };
    filling = setTimeout(later, busyPauseMs);
  };

  const sweep = setInterval(() => {
    const now = Date.now();
    for (const [key, pool] of pools) {
      if (now - pool.lastUse < idleMs) continue;
      while (pool.ready.length > 0) drop(pool);
      if (pool.making === 0) pools.delete(key);
    }
    fill();
  }, sweepEveryMs);
  sweep.unref();

  return {
    take(key, make) {
      if (budgetBytes === 0 || closed) return undefined;
      const now = Date.now();
      let pool = pools.get(key);
      if (pool) pool.gapMs = Math.max(1, pool.gapMs * 0.7 + Math.min(now - pool.lastUse, firstGapMs) * 0.3);
      else {
        pool = { ready: [], make, lastUse: now, gapMs: firstGapMs, makeMs: 100, making: 0, restUntil: 0, failures: 0 };
        pools.set(key, pool);
      }
      pool.make = make;
      pool.lastUse = now;
      const entry = pool.ready.shift();
      if (entry) {
        memoryBytes -= entry.memoryBytes;
        served += 1;
      } else missed += 1;
      fill();
      return entry?.sandbox;
    },
    get state() {
      const all = [...pools.values()];
      const ready = all.reduce((sum, pool) => sum + pool.ready.length, 0);
      return { ready, wanted: all.reduce((sum, pool) => sum + wanted(pool), 0), pools: pools.size, memoryBytes, served, missed };
    },
    async close() {
      closed = true;
      clearInterval(sweep);
      clearTimeout(filling);
      await Promise.all(arrivals);
      for (const pool of pools.values()) while (pool.ready.length > 0) drop(pool);
      await Promise.all(departures);
    },
  };
}
