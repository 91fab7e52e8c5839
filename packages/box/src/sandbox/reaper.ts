/** Ends what has lived long enough and pauses what nobody uses. The next expiry has a timer of its own, so that time holds to the second. */

import type { Logger } from '../observe/log.ts';
import type { Secrets } from '../secrets.ts';
import type { SandboxRow } from '../store/tables.ts';
import type { Activity } from './activity.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Locks } from './locks.ts';
import { boxActor, type SandboxRecords } from './records.ts';
import type { Providers } from './routing.ts';
import { handleOf } from './spec.ts';

export interface Reaper {
  start(): void;
  /** Something expires then; sooner than what is waited for, perhaps. */
  expect(expiresAt: string | null): void;
  /** Whatever is due now. */
  run(): Promise<void>;
  stop(): Promise<void>;
}

export interface ReaperParts {
  readonly host: string;
  readonly log: Logger;
  readonly activity: Activity;
  readonly lifecycle: Lifecycle;
  readonly locks: Locks;
  readonly providers: Providers;
  readonly records: SandboxRecords;
  readonly secrets: Secrets;
  /** Something ended: what it stood on may not be needed any more. */
  onEnded(): void;
}

const idleEveryMs = 1000;
const noteEveryTicks = 3;
/** A clock that is set, a host that slept: never wait longer than this for the next look. */
const longestWaitMs = 60_000;

export function createReaper({ host, log, activity, lifecycle, locks, providers, records, secrets, onEnded }: ReaperParts): Reaper {
  let timer: NodeJS.Timeout | undefined;
  let dueAt = Number.POSITIVE_INFINITY;
  let ticker: NodeJS.Timeout | undefined;
  let ticks = 0;
  let running: Promise<void> | undefined;
  let idling: Promise<void> | undefined;
  let stopped = true;

  const arm = (at: number): void => {
    if (stopped) return;
    clearTimeout(timer);
    dueAt = at;
    timer = setTimeout(() => void run(), Math.max(0, Math.min(at - Date.now(), longestWaitMs)));
    timer.unref();
  };

  const expire = (due: SandboxRow): Promise<void> =>
    locks.exclusive(due.id, async () => {
      const row = await records.row(due.id);
      if (!row || row.expires_at === null || row.expires_at > new Date().toISOString()) return;
      if (row.on_expiry === 'destroy') {
        await lifecycle.end(row, boxActor, 'its time was over');
        onEnded();
        return;
      }
      const patch = { expires_at: null };
      if (row.state === 'ready') await lifecycle.pause(row, boxActor, { cause: 'expired', reason: 'its time was over', patch });
      else await records.update(row, patch, ['paused']);
    });

  const runOnce = async (): Promise<void> => {
    let next: string | null = null;
    try {
      const due = await records.due(host, new Date().toISOString());
      next = due.next;
      await Promise.all(
        due.rows.map((row) =>
          expire(row).catch((error: Error) =>
            log.error({ sandbox: row.id, err: error }, 'a sandbox whose time is over could not be ended'),
          ),
        ),
      );
    } catch (error) {
      log.error({ err: error }, 'could not look for sandboxes whose time is over');
    }
    arm(next === null ? Date.now() + longestWaitMs : Date.parse(next));
  };

  const run = (): Promise<void> => {
    running ??= runOnce().finally(() => {
      running = undefined;
    });
    return running;
  };

  const isIdle = (row: Pick<SandboxRow, 'id' | 'idle_ms' | 'last_used_at' | 'ready_at'>): boolean => {
    if (row.idle_ms === null || activity.inUse(row.id) || locks.isHeld(row.id)) return false;
    const last = Math.max(activity.lastUse(row.id) ?? 0, Date.parse(row.last_used_at ?? row.ready_at ?? ''));
    return Date.now() - last >= row.idle_ms;
  };

  const rest = (id: string): Promise<void> =>
    locks.exclusive(id, async () => {
      const row = await records.row(id);
      // Uses that came meanwhile wait for this lock, and find it paused: they resume it.
      if (row?.state !== 'ready' || activity.inUse(id)) return;
      if (await handleOf(providers, secrets, row).isActive()) {
        activity.touch(id);
        return;
      }
      const reason = `nothing used it for ${Math.round((row.idle_ms ?? 0) / 1000)} s`;
      if (row.on_idle === 'pause') {
        await lifecycle.pause(row, boxActor, { cause: 'idle', reason });
        return;
      }
      await lifecycle.end(row, boxActor, reason);
      onEnded();
    });

  const tick = async (): Promise<void> => {
    ticks += 1;
    try {
      if (ticks % noteEveryTicks === 0) await records.noteUses(activity.takeDirty());
      for (const row of await records.mayIdle(host)) {
        if (!isIdle(row)) continue;
        await rest(row.id).catch((error: Error) => log.error({ sandbox: row.id, err: error }, 'an idle sandbox could not be put to rest'));
      }
    } catch (error) {
      log.error({ err: error }, 'could not look for idle sandboxes');
    }
  };

  return {
    run,
    start() {
      if (!stopped) return;
      stopped = false;
      void run();
      ticker = setInterval(() => {
        idling ??= tick().finally(() => {
          idling = undefined;
        });
      }, idleEveryMs);
      ticker.unref();
    },
    expect(expiresAt) {
      const at = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
      // While a look is under way its end decides when the next one is.
      if (running) void running.then(() => at < dueAt && arm(at));
      else if (at < dueAt) arm(at);
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      clearInterval(ticker);
      await Promise.all([running, idling]);
      await records
        .noteUses(activity.takeDirty())
        .catch((error: Error) => log.warn({ err: error }, 'the last uses of sandboxes could not be noted'));
    },
  };
}
