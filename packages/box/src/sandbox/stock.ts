/**
 * Things that are made ahead, each to be taken once. A stock is filled off the request's path, sized by recent demand within a budget of
 * memory, and let go when nobody asks any more.
 */

import { availableParallelism } from 'node:os';
import { createFilling, type Filled, isResting, unfilled } from './filling.ts';

/** One that stands ready; whoever takes it disposes of it, or puts it back. */
export interface Ready {
  /** Resolves when it has ended by itself. */
  readonly ended: Promise<void>;
  readMemory(): number;
  /** Never rejects. */
  dispose(): Promise<unknown>;
}

export interface StockOptions {
  /** Memory that all of them may hold together at this moment. */
  budgetBytes(): number;
  readonly idleMs: number;
  /** Work under way that needs the cores: while it does, nothing is made ahead. */
  busy(): number;
  onTrouble(message: string): void;
}

export interface StockState {
  readonly ready: number;
  /** How many the demand of late asks for. */
  readonly wanted: number;
  readonly pools: number;
  readonly memoryBytes: number;
  readonly served: number;
  readonly missed: number;
}

export interface Stock<T extends Ready> {
  /** One that stands ready, or none. Either way the demand is noted and the pool filled up by and by. */
  take(key: string, make: () => Promise<T>): T | undefined;
  /** What was taken and not used. */
  putBack(key: string, thing: T): void;
  readonly state: StockState;
  each(): { readonly key: string; readonly ready: number; readonly wanted: number }[];
  close(): Promise<void>;
}

interface Pool<T> extends Filled {
  readonly ready: { readonly thing: T; readonly memoryBytes: number }[];
  make: () => Promise<T>;
  lastUse: number;
  /** Uses of late; those of ten seconds ago count half. */
  recent: number;
  /** Memory of the last that was made. */
  sizeBytes: number;
}

const mostPerPool = 32;
const recentHalfMs = 10_000;
const sweepEveryMs = 5000;
const firstMs = 5;
/** From a create to the end of the first command, usually: starting a process would hold it up by milliseconds. */
const quietMs = 20;
/** The same while there are enough for a while. */
const leisureMs = 100;
/** It waits for a moment without other work, but not for ever. */
const patienceMs = 50;

export function createStock<T extends Ready>({ budgetBytes, idleMs, busy, onTrouble }: StockOptions): Stock<T> {
  const cores = availableParallelism();
  const pools = new Map<string, Pool<T>>();
  let served = 0;
  let missed = 0;
  let closed = false;

  const sum = (of: (pool: Pool<T>) => number): number => [...pools.values()].reduce((total, pool) => total + of(pool), 0);

  /** As many as were taken of late, and one more. */
  const wanted = (pool: Pool<T>): number => Math.min(mostPerPool, 1 + Math.ceil(recentUses(pool, Date.now())));

  /** What would have to go at once is not made. */
  const hasRoom = (pool: Pool<T>): boolean => {
    const held = sum(({ lastUse, making: coming, ready, sizeBytes }) => (lastUse < pool.lastUse ? 0 : bytesOf(ready)) + coming * sizeBytes);
    return held + pool.sizeBytes <= budgetBytes();
  };

  /** The pool that lacks most, of those that may be filled now. */
  const neediest = (): Pool<T> | undefined => {
    let best: Pool<T> | undefined;
    let most = 0;
    for (const pool of pools.values()) {
      const lack = wanted(pool) - pool.ready.length - pool.making;
      if (lack > most && !isResting(pool) && hasRoom(pool)) {
        best = pool;
        most = lack;
      }
    }
    return best;
  };

  const drop = (pool: Pool<T>): void => {
    const gone = pool.ready.shift();
    if (gone) filling.track(gone.thing.dispose());
  };

  /** Those of the pool that was used longest ago go first. */
  const makeRoom = (): void => {
    const oldest = [...pools.values()].sort((one, other) => one.lastUse - other.lastUse);
    for (const pool of oldest) while (pool.ready.length > 0 && sum(({ ready }) => bytesOf(ready)) > budgetBytes()) drop(pool);
  };

  const stand = (pool: Pool<T>, thing: T): void => {
    const entry = { thing, memoryBytes: thing.readMemory() };
    pool.ready.push(entry);
    pool.sizeBytes = entry.memoryBytes;
    makeRoom();
    void thing.ended.then(() => {
      const index = pool.ready.indexOf(entry);
      if (index < 0) return;
      // Killed from outside while it stood ready.
      pool.ready.splice(index, 1);
      filling.track(thing.dispose());
      filling.soon();
    });
  };

  const filling = createFilling<Pool<T>>({
    mostMaking: Math.max(1, Math.floor(cores / 2)),
    next: neediest,
    // Whoever works now comes first: one made ahead takes a core for longer than it saves.
    mustWait: (_, waitedMs) => busy() >= cores || (busy() > 0 && waitedMs < patienceMs),
    async make(pool) {
      const thing = await pool.make();
      if (closed) await thing.dispose();
      else stand(pool, thing);
    },
    onTrouble,
  });

  const pauseFor = (pool: Pool<T>): number => {
    if (pool.ready.length === 0) return firstMs;
    return pool.ready.length * 2 > wanted(pool) ? leisureMs : quietMs;
  };

  const sweep = setInterval(() => {
    const now = Date.now();
    for (const [key, pool] of pools) {
      const isIdle = now - pool.lastUse >= idleMs;
      const keep = isIdle ? 0 : wanted(pool);
      while (pool.ready.length > keep) drop(pool);
      if (isIdle && pool.making === 0) pools.delete(key);
    }
    makeRoom();
    filling.soon();
  }, sweepEveryMs);
  sweep.unref();

  const noteUse = (key: string, make: () => Promise<T>): Pool<T> => {
    const now = Date.now();
    const known = pools.get(key);
    const pool = known ?? { ready: [], make, lastUse: now, recent: 0, sizeBytes: 0, ...unfilled() };
    if (!known) pools.set(key, pool);
    pool.recent = recentUses(pool, now) + 1;
    pool.make = make;
    pool.lastUse = now;
    return pool;
  };

  return {
    take(key, make) {
      if (closed || budgetBytes() <= 0) return undefined;
      const pool = noteUse(key, make);
      const entry = pool.ready.shift();
      if (entry) served += 1;
      else missed += 1;
      // Begun anew with each: while they come one after the other and enough are left, none of them is held up.
      filling.in(pauseFor(pool));
      return entry?.thing;
    },
    putBack(key, thing) {
      const pool = pools.get(key);
      served -= 1;
      if (pool && !closed) stand(pool, thing);
      else filling.track(thing.dispose());
    },
    get state() {
      return {
        ...{ pools: pools.size, ready: sum(({ ready }) => ready.length), wanted: sum(wanted), served, missed },
        memoryBytes: sum(({ ready }) => bytesOf(ready)),
      };
    },
    each: () => [...pools].map(([key, pool]) => ({ key, ready: pool.ready.length, wanted: wanted(pool) })),
    async close() {
      closed = true;
      clearInterval(sweep);
      for (const pool of pools.values()) while (pool.ready.length > 0) drop(pool);
      await filling.close();
    },
  };
}

const recentUses = ({ lastUse, recent }: Pool<Ready>, now: number): number => recent * 0.5 ** ((now - lastUse) / recentHalfMs);
const bytesOf = (ready: Pool<Ready>['ready']): number => ready.reduce((total, { memoryBytes }) => total + memoryBytes, 0);
