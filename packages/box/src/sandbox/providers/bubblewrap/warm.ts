/**
 * Sandboxes that stand ready for what is run often. Each serves one run at a time and is then made anew for the next, off the
 * request's path. Pools are sized by recent demand within a budget of memory, and let go when nobody asks any more.
 */

import { availableParallelism } from 'node:os';
import { createFilling, type Filled, isResting, unfilled } from '../../filling.ts';
import type { WarmState } from '../../provider.ts';

/** A sandbox that is ready for a run; whoever takes it gives it back. */
export interface Ready {
  /** Whether its runs begin as copies of an interpreter that has started, and not with one of their own. */
  readonly copies: boolean;
  /** Resolves when it has ended by itself. */
  readonly ended: Promise<void>;
  readMemory(): number;
  /** Ready for the next run: nothing of the last one is left. Rejects when that cannot be. */
  renew(): Promise<void>;
  dispose(): Promise<boolean>;
}

/** When runs begin as copies of an interpreter that has started; auto: under sustained load. */
export type WarmCopies = 'auto' | 'always' | 'never';

export interface WarmOptions {
  /** Memory that all of them may hold together; 0 keeps none. */
  readonly budgetBytes: number;
  readonly idleMs: number;
  readonly copies: WarmCopies;
  /** Runs under way: while they need every core, a new one can wait a moment. */
  running(): number;
  onTrouble(message: string): void;
}

export interface WarmPools<T extends Ready> {
  /** One that stands ready, or will in a moment, or none. Either way the demand is noted and the pool filled up by and by. */
  take(key: string, make: Make<T>): Promise<T | undefined>;
  /** After its run. Only one that ended in order serves again. */
  giveBack(sandbox: T, inOrder: boolean): void;
  readonly state: WarmState;
  close(): Promise<void>;
}

/** `copies`: many are wanted one after the other, so that copies of a started interpreter are worth it. */
export type Make<T> = (copies: boolean) => Promise<T>;

interface Entry<T> {
  readonly sandbox: T;
  readonly pool: Pool<T>;
  memoryBytes: number;
  runs: number;
  takenAt: number;
}

interface Pool<T> extends Filled {
  make: Make<T>;
  /** Ready, serving or being renewed. */
  readonly all: Set<Entry<T>>;
  readonly ready: Entry<T>[];
  /** Runs that wait for the next one. */
  readonly waiting: ((entry: Entry<T> | undefined) => void)[];
  lastUse: number;
  /** Smoothed time between uses. */
  gapMs: number;
  /** Smoothed time that making one takes. */
  makeMs: number;
  /** Smoothed time from a use until it is ready again. */
  cycleMs: number;
  /** Until one that was to be made of copies was not: not every language and host allows it. */
  canCopy: boolean;
}

const sweepEveryMs = 5000;
/** Starting a process holds up the server for milliseconds: it waits for a moment without runs, but not for ever. */
const patienceMs = 50;
const longPatienceMs = 500;
const firstGapMs = 10_000;
/** Then its place is taken by one with another memory layout and another seed for hashes. */
const mostRuns = 500;
/** Runs that follow each other closer than this are a sustained load. */
const sustainedGapMs = 100;
/** And those further apart than this are none any more. */
const looseGapMs = 1000;
/** A run that takes longer than this is not worth waiting for: a sandbox of its own is quicker. */
const longestCycleMs = 500;
/** Made of modules that take this long to import, they must not keep those of others waiting. */
const slowMakeMs = 1000;
const isSlow = ({ makeMs }: { readonly makeMs: number }): boolean => makeMs > slowMakeMs;

export function createWarmPools<T extends Ready>({ budgetBytes, copies, idleMs, running, onTrouble }: WarmOptions): WarmPools<T> {
  const cores = availableParallelism();
  const mostPerPool = Math.max(4, cores * 2);
  const mostMaking = Math.max(2, cores);
  const pools = new Map<string, Pool<T>>();
  const entries = new Map<T, Entry<T>>();
  let memoryBytes = 0;
  let served = 0;
  let missed = 0;
  let copied = 0;
  let closed = false;

  const letGo = (entry: Entry<T>): void => {
    const { pool, sandbox } = entry;
    if (!pool.all.delete(entry)) return;
    const index = pool.ready.indexOf(entry);
    if (index >= 0) pool.ready.splice(index, 1);
    entries.delete(sandbox);
    memoryBytes -= entry.memoryBytes;
    filling.track(sandbox.dispose());
  };

  const gapOf = (pool: Pool<T>): number => Math.max(pool.gapMs, Date.now() - pool.lastUse);
  /** By itself, or as a part of what keeps every core busy. */
  const isSustained = (pool: Pool<T>): boolean => gapOf(pool) < (running() >= cores ? looseGapMs : sustainedGapMs);
  const wantsCopies = (pool: Pool<T>): boolean => pool.canCopy && (copies === 'auto' ? isSustained(pool) : copies === 'always');
  /** Enough for what comes while one serves and is renewed, and one more. */
  const wanted = (pool: Pool<T>): number => Math.min(mostPerPool, 1 + Math.ceil((pool.cycleMs * 1.5) / gapOf(pool)));
  const lackOf = (pool: Pool<T>): number => {
    const lack = wanted(pool) - pool.all.size - pool.making;
    const wrongKind = pool.making === 0 && wantsCopies(pool) && ![...pool.all].some(({ sandbox }) => sandbox.copies);
    return Math.max(lack, wrongKind ? 1 : 0);
  };

  /** The pool that lacks most, of those that may be filled now. */
  const neediest = (): Pool<T> | undefined => {
    let best: Pool<T> | undefined;
    let most = 0;
    for (const pool of pools.values()) {
      const lack = lackOf(pool);
      if (lack > most && !isResting(pool) && pool.making === 0 && (!isSlow(pool) || filling.making < mostMaking - 1)) {
        best = pool;
        most = lack;
      }
    }
    return best;
  };

  /** Those of the pool that was used longest ago go first. */
  const makeRoom = (): void => {
    const oldest = [...pools.values()].sort((one, other) => one.lastUse - other.lastUse);
    for (const { ready } of oldest) {
      for (let entry = ready[0]; entry && memoryBytes > budgetBytes; entry = ready[0]) letGo(entry);
    }
  };

  const weigh = (entry: Entry<T>): void => {
    const now = entry.sandbox.readMemory();
    memoryBytes += now - entry.memoryBytes;
    entry.memoryBytes = now;
  };

  const offer = (entry: Entry<T>): void => {
    const next = entry.pool.waiting.shift();
    if (next) next(entry);
    else entry.pool.ready.push(entry);
  };

  const makeOne = async (pool: Pool<T>): Promise<void> => {
    const started = performance.now();
    const asked = wantsCopies(pool);
    const sandbox = await pool.make(asked);
    if (asked && !sandbox.copies) pool.canCopy = false;
    pool.makeMs = pool.makeMs * 0.7 + (performance.now() - started) * 0.3;
    const entry: Entry<T> = { sandbox, pool, memoryBytes: 0, runs: 0, takenAt: 0 };
    pool.all.add(entry);
    entries.set(sandbox, entry);
    try {
      weigh(entry);
    } catch (error) {
      letGo(entry);
      throw error;
    }
    // Killed from outside while it stood ready; one that serves is given back.
    void sandbox.ended.then(() => {
      if (pool.ready.includes(entry)) letGo(entry);
    });
    if (closed) letGo(entry);
    else offer(entry);
    makeRoom();
  };

  const filling = createFilling<Pool<T>>({
    mostMaking,
    next: neediest,
    // While others run, the first of a pool comes soon and one more in time: it costs what several runs do.
    mustWait: ({ all }, waitedMs) => running() > 0 && waitedMs < (all.size === 0 ? patienceMs : longPatienceMs),
    make: makeOne,
    onTrouble,
  });

  const renew = async (entry: Entry<T>): Promise<void> => {
    const { pool } = entry;
    try {
      await entry.sandbox.renew();
      weigh(entry);
      pool.cycleMs = pool.cycleMs * 0.8 + (performance.now() - entry.takenAt) * 0.2;
      if (closed) letGo(entry);
      else offer(entry);
      makeRoom();
    } catch (error) {
      letGo(entry);
      if (!closed) onTrouble(`a sandbox could not be made ready again: ${(error as Error).message}`);
    }
    filling.soon();
  };

  const hasOutlived = ({ pool, runs, sandbox }: Entry<T>): boolean => {
    if (runs >= mostRuns) return true;
    // Between the two it stays as it is: a load that comes and goes must not make sandboxes come and go.
    if (sandbox.copies) return copies === 'auto' && gapOf(pool) > looseGapMs;
    return wantsCopies(pool) && [...pool.all].some((other) => other.sandbox.copies);
  };

  /** Until one is free, if that is soon. */
  const waitFor = (pool: Pool<T>): Promise<Entry<T> | undefined> | undefined => {
    const soon = pool.cycleMs < longestCycleMs && pool.waiting.length < pool.all.size;
    if (!soon) return undefined;
    return new Promise((resolve) => {
      const settle = (entry: Entry<T> | undefined): void => {
        clearTimeout(timer);
        resolve(entry);
      };
      const timer = setTimeout(() => {
        pool.waiting.splice(pool.waiting.indexOf(settle), 1);
        resolve(undefined);
      }, 2 * Math.max(pool.makeMs, pool.cycleMs));
      pool.waiting.push(settle);
    });
  };

  const sweep = setInterval(() => {
    const now = Date.now();
    for (const [key, pool] of pools) {
      const idle = now - pool.lastUse >= idleMs;
      const surplus = idle ? pool.ready.length : pool.all.size - wanted(pool);
      for (const entry of pool.ready.slice(0, Math.max(0, surplus))) letGo(entry);
      if (idle && pool.making === 0 && pool.all.size === 0) pools.delete(key);
    }
    filling.soon();
  }, sweepEveryMs);
  sweep.unref();

  return {
    async take(key, make) {
      if (budgetBytes === 0 || closed) return undefined;
      const now = Date.now();
      let pool = pools.get(key);
      if (pool) pool.gapMs = Math.max(1, pool.gapMs * 0.7 + Math.min(now - pool.lastUse, firstGapMs) * 0.3);
      else {
        pool = { ...emptyPool(), make, lastUse: now };
        pools.set(key, pool);
      }
      pool.make = make;
      pool.lastUse = now;
      filling.soon();
      const entry = pool.ready.pop() ?? (await waitFor(pool));
      if (!entry) {
        missed += 1;
        return undefined;
      }
      served += 1;
      if (entry.sandbox.copies) copied += 1;
      entry.runs += 1;
      entry.takenAt = performance.now();
      return entry.sandbox;
    },
    giveBack(sandbox, inOrder) {
      const entry = entries.get(sandbox);
      if (!entry) return;
      if (inOrder && !closed && !hasOutlived(entry)) filling.track(renew(entry));
      else letGo(entry);
      filling.soon();
    },
    get state() {
      const all = [...pools.values()];
      const ready = all.reduce((sum, pool) => sum + pool.ready.length, 0);
      return { ready, wanted: all.reduce((sum, pool) => sum + wanted(pool), 0), pools: pools.size, memoryBytes, served, copied, missed };
    },
    async close() {
      closed = true;
      clearInterval(sweep);
      await filling.close();
      for (const entry of [...entries.values()]) letGo(entry);
      await filling.close();
    },
  };
}

const emptyPool = () => ({
  all: new Set<never>(),
  ready: [],
  waiting: [],
  gapMs: firstGapMs,
  makeMs: 100,
  cycleMs: 30,
  canCopy: true,
  ...unfilled(),
});
