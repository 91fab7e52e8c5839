/** Says in the log when a part the box needs is away, when it is back, and when the clock was set: once each, in plain words. */

import type { Logger } from './observe/log.ts';
import type { CheckName } from './readiness.ts';

export interface Watch {
  stop(): void;
}

export interface WatchParts {
  readonly log: Logger;
  check(): Promise<Record<CheckName, string>>;
  readonly checkEveryMs?: number;
  readonly clockEveryMs?: number;
  /** For tests: the clock on the wall, and one that only runs. */
  readonly clock?: () => number;
  readonly steady?: () => number;
}

const parts: Record<CheckName, string> = {
  database: 'the database',
  blobs: 'the blob store',
  sandboxes: 'the sandbox',
  disk: 'the disk of the state root',
};
/** What corrections in small steps, and a busy machine, may come to between two looks. */
const clockSlackMs = 2000;

export function startWatch({
  log,
  check,
  checkEveryMs = 5000,
  clockEveryMs = 1000,
  clock = Date.now,
  steady = () => performance.now(),
}: WatchParts): Watch {
  const awaySince = new Map<CheckName, number>();
  let looking = false;
  let offset = clock() - steady();

  const lookAtClock = (): void => {
    const now = clock() - steady();
    const jumpMs = Math.round(now - offset);
    offset = now;
    if (Math.abs(jumpMs) < clockSlackMs) return;
    const direction = jumpMs > 0 ? 'forward' : 'back';
    log.warn(
      { jump_ms: jumpMs },
      `the clock of this host jumped ${direction} by ${Math.round(Math.abs(jumpMs) / 1000)} s: times of sandboxes and keys follow it`,
    );
  };

  const look = async (): Promise<void> => {
    for (const [name, state] of Object.entries(await check()) as [CheckName, string][]) {
      const since = awaySince.get(name);
      if (state === 'ok' && since !== undefined) {
        awaySince.delete(name);
        log.info({ check: name, away_ms: Math.round(steady() - since) }, `${parts[name]} is well again`);
      }
      if (state === 'ok' || since !== undefined) continue;
      awaySince.set(name, steady());
      log.warn({ check: name, state }, `${parts[name]} is not well (${state}): requests that need it answer 503 until it is`);
    }
  };

  const checking = setInterval(() => {
    if (looking) return;
    looking = true;
    void look().finally(() => {
      looking = false;
    });
  }, checkEveryMs);
  const timing = setInterval(lookAtClock, clockEveryMs);
  for (const timer of [checking, timing]) timer.unref();
  return {
    stop() {
      for (const timer of [checking, timing]) clearInterval(timer);
    },
  };
}
