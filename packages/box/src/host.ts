/** This machine's part in the box: its id, its lease, and what must happen every few seconds. */

import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
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
  /** Another host is gone, and closing its work fell to us. */
  onHostGone(host: string): Promise<void>;
  /** We were taken for gone: others have closed our work. */
  onLeaseLost(): void;
  /** Whatever else wants doing at every beat. */
  onBeat(): Promise<void>;
}

const prefix = 'host/';

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
  const name = `${prefix}${host}`;
  let renewedAt = performance.now();
  let beating: Promise<void> = Promise.resolve();

  if (!(await leases.acquire(name, host, ttlMs, { url }))) {
    // Somebody is closing what our former process left; they are done within a lease.
    await parts.onHostGone(host);
    while (!(await leases.acquire(name, host, ttlMs, { url }))) await new Promise((resolve) => setTimeout(resolve, 200));
  }

  const beat = async (): Promise<void> => {
    try {
      if (!(await leases.renew(name, host, ttlMs, { url }))) {
        log.warn('this host was taken for gone; what it ran is stopped');
        parts.onLeaseLost();
        if (!(await leases.acquire(name, host, ttlMs, { url }))) return;
      }
      renewedAt = performance.now();
      for (const taken of await leases.takeExpired(prefix, host, ttlMs)) {
        const gone = taken.name.slice(prefix.length);
        log.warn({ gone }, 'a host is gone; closing its work');
        await parts.onHostGone(gone);
        await leases.release(taken.name, host);
      }
      await parts.onBeat();
    } catch (error) {
      log.error({ err: error }, 'the heartbeat failed');
      // Without a lease others may close our work at any moment; two answers for one execution must not be.
      if (performance.now() - renewedAt > ttlMs) parts.onLeaseLost();
    }
  };

  const timer = setInterval(
    () => {
      beating = beating.then(beat);
    },
    Math.max(100, Math.floor(ttlMs / 3)),
  );
  timer.unref();

  return {
    async stop() {
      clearInterval(timer);
      await beating;
      await leases.release(name, host);
    },
  };
}
