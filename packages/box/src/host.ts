/** This machine's part in the box: its id, its lease, and what must happen every few seconds. */

import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { hostLease } from './hosts.ts';
import type { Logger } from './observe/log.ts';
import { writePrivateFile } from './private-file.ts';
import type { Leases } from './store/leases.ts';

export interface Heartbeat {
  stop(): Promise<void>;
}

export interface HeartbeatParts {
  readonly host: string;
  readonly url: string;
  readonly leases: Leases;
  readonly ttlMs: number;
  readonly log: Logger;
  /** The lease is ours, for the first time or again: close or take up what we own and do not work on. */
  onLeaseHeld(): Promise<void>;
  /** That is done: new work is welcome. */
  onServing(): void;
  /** Another host is gone, and closing its work fell to us. */
  onHostGone(host: string): Promise<void>;
  /** We were taken for gone, or may be: others close our work. */
  onLeaseLost(): void;
  /** Whatever else wants doing at every beat. */
  onBeat(): Promise<void>;
  /** Whether something of ours waits for a host to take it, when we stop. */
  leavesWork(): Promise<boolean>;
}

const prefix = hostLease('');
/** A stopping server does not wait longer than this for a database that does not answer. */
const stopPatienceMs = 3000;

/** Made once, kept in the state root: the host stays the same through restarts. */
export function hostId(stateRoot: string): string {
  const file = join(stateRoot, 'host.id');
  if (existsSync(file)) return readFileSync(file, 'utf8').trim();
  const id = `host-${randomBytes(6).toString('hex')}`;
  writePrivateFile(file, `${id}\n`);
  return id;
}

export async function startHeartbeat(parts: HeartbeatParts): Promise<Heartbeat> {
  const { host, url, leases, log, ttlMs } = parts;
  const name = hostLease(host);
  const acquire = () => leases.acquire(name, host, ttlMs, { url });
  let renewedAt = performance.now();
  /** Since then every beat has reached the database; undefined while it is away. */
  let inTouchSince: number | undefined = renewedAt;
  let held = true;
  let serving = false;
  let beating: Promise<void> | undefined;
  let working: Promise<void> | undefined;

  const lose = (why: string): void => {
    if (!held) return;
    held = false;
    serving = false;
    log.warn(`${why}; what this host ran is stopped`);
    parts.onLeaseLost();
  };

  const beat = async (): Promise<void> => {
    // From before the question: the lease counts from some moment after it.
    const asked = performance.now();
    try {
      if (!(await leases.renew(name, host, ttlMs, { url }))) {
        lose('this host was taken for gone');
        if (!(await acquire())) return;
      }
      // A machine that slept was not in touch either.
      if (inTouchSince === undefined || asked - renewedAt > ttlMs) inTouchSince = asked;
      renewedAt = asked;
      held = true;
      // Beside the beat: closing the work of another host may take longer than a lease.
      working ??= work().finally(() => {
        working = undefined;
      });
    } catch (error) {
      inTouchSince = undefined;
      log.error({ err: error }, 'the heartbeat failed: the database was not reached');
      // Without a lease others may close our work at any moment; two answers for one execution must not be.
      if (performance.now() - renewedAt > ttlMs) lose('the lease could not be renewed in time');
    }
  };

  const work = async (): Promise<void> => {
    try {
      if (!serving) {
        await parts.onLeaseHeld();
        if (!held) return;
        serving = true;
        parts.onServing();
      }
      // Whoever has just found the database again cannot tell a host that is gone from one that missed it as well: those get a lease.
      const knowsOthers = inTouchSince !== undefined && performance.now() - inTouchSince >= ttlMs;
      for (const taken of knowsOthers ? await leases.takeExpired(prefix, host, ttlMs) : []) {
        const gone = taken.name.slice(prefix.length);
        if (gone === host) continue;
        log.warn({ gone }, 'a host is gone; closing its work');
        await parts.onHostGone(gone);
        await leases.release(taken.name, host);
      }
      await parts.onBeat();
    } catch (error) {
      log.error({ err: error }, 'the work of a heartbeat failed; the next one tries again');
    }
  };

  const tick = (): void => {
    // A database that does not even refuse: the question hangs, and the lease runs out meanwhile.
    if (beating && performance.now() - renewedAt > ttlMs) lose('the database has not answered for a lease');
    beating ??= beat().finally(() => {
      beating = undefined;
    });
  };

  // Somebody may be closing what our former process left; they are done within a lease.
  while (!(await acquire())) await delay(200);
  renewedAt = performance.now();
  inTouchSince = renewedAt;
  const timer = setInterval(tick, Math.max(100, Math.floor(ttlMs / 3)));
  timer.unref();
  const opening = parts.onLeaseHeld();
  working = opening
    .catch(() => undefined)
    .finally(() => {
      working = undefined;
    });
  try {
    await opening;
  } catch (error) {
    clearInterval(timer);
    throw error;
  }
  if (held) {
    serving = true;
    parts.onServing();
  }

  return {
    async stop() {
      clearInterval(timer);
      try {
        await Promise.race([Promise.all([beating, working]), delay(stopPatienceMs, undefined, { ref: false })]);
        if (!held) return;
        // An expired lease is how other hosts learn that there is work to take over; a released one has nothing to tell.
        const farewell = (await parts.leavesWork()) ? leases.renew(name, host, 0) : leases.release(name, host);
        await Promise.race([farewell, delay(stopPatienceMs, undefined, { ref: false })]);
      } catch (error) {
        log.warn({ err: error }, 'the lease could not be given back; it runs out by itself');
      }
    },
  };
}
