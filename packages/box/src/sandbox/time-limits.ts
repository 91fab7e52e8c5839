/**
 * Time limits of programs in living sandboxes. Kept in the database, since the program outlives the server that was asked to
 * end it; and they end what runs only, so that a sandbox that was paused meanwhile stays asleep.
 */

import { constants } from 'node:os';
import type { Logger } from '../observe/log.ts';
import type { Secrets } from '../secrets.ts';
import type { Database } from '../store/database.ts';
import type { ProgramLimitRow } from '../store/tables.ts';
import type { Locks } from './locks.ts';
import type { SandboxRecords } from './records.ts';
import type { Providers } from './routing.ts';
import { handleOf } from './spec.ts';

export interface TimeLimit {
  /** The program has ended: takes the limit away, and tells whether that was its doing. */
  stop(): boolean;
}

export interface TimeLimits {
  /** Before the program starts. Without a time there is nothing to hold. */
  begin(sandbox: string, program: number, ms: number | undefined): Promise<TimeLimit>;
  /** After a restart: those of programs that still run hold again. */
  recover(): Promise<void>;
  stop(): void;
}

export interface TimeLimitParts {
  readonly database: Database;
  readonly host: string;
  readonly locks: Locks;
  readonly log: Logger;
  readonly providers: Providers;
  readonly records: SandboxRecords;
  readonly secrets: Secrets;
}

interface Clock {
  timer?: NodeJS.Timeout;
  struck: boolean;
}

const retryMs = 1000;
/** A timer that is set to more would go off at once. */
const longestTimerMs = 2 ** 31 - 1;
const none: TimeLimit = { stop: () => false };

export function createTimeLimits({ database, host, locks, log, providers, records, secrets }: TimeLimitParts): TimeLimits {
  const { kysely } = database;
  const clocks = new Map<string, Clock>();
  const keyOf = ({ sandbox, program }: Pick<ProgramLimitRow, 'sandbox' | 'program'>): string => `${sandbox}/${program}`;

  const remove = async ({ sandbox, program, kill_at }: ProgramLimitRow): Promise<void> => {
    await kysely
      .deleteFrom('program_limits')
      .where('sandbox', '=', sandbox)
      .where('program', '=', program)
      .where('kill_at', '=', kill_at)
      .execute();
  };

  const runs = async (limit: Pick<ProgramLimitRow, 'sandbox' | 'program'>) => {
    const row = await records.row(limit.sandbox);
    if (row?.state !== 'ready' || row.host !== host) return undefined;
    const handle = handleOf(providers, secrets, row);
    // Does not start what is at rest.
    const found = (await handle.programs()).some(({ id, ended }) => id === limit.program && !ended);
    return found ? handle : undefined;
  };

  /** Alone with the sandbox: nobody pauses it between the look and the signal. */
  const strike = (limit: ProgramLimitRow, clock: Clock): Promise<void> =>
    locks.exclusive(limit.sandbox, async () => {
      const kept = await kysely
        .selectFrom('program_limits')
        .select('kill_at')
        .where('sandbox', '=', limit.sandbox)
        .where('program', '=', limit.program)
        .executeTakeFirst();
      // Paused or made anew since: another program may have the number.
      if (kept?.kill_at !== limit.kill_at) return;
      const handle = await runs(limit);
      if (handle) {
        clock.struck = true;
        await handle.signal(limit.program, constants.signals.SIGKILL);
      }
      await remove(limit);
    });

  const arm = (limit: ProgramLimitRow, clock: Clock, ms: number): void => {
    clocks.set(keyOf(limit), clock);
    clock.timer = setTimeout(
      () => {
        if (Date.now() < limit.kill_at) return arm(limit, clock, limit.kill_at - Date.now());
        strike(limit, clock).then(
          () => clocks.delete(keyOf(limit)),
          (error: Error) => {
            log.warn({ sandbox: limit.sandbox, program: limit.program, err: error }, 'a program could not be ended in time; tried again');
            if (clocks.get(keyOf(limit)) === clock) arm(limit, clock, retryMs);
          },
        );
      },
      Math.max(0, Math.min(ms, longestTimerMs)),
    );
    clock.timer.unref();
  };

  return {
    async begin(sandbox, program, ms) {
      if (ms === undefined) return none;
      const limit = { sandbox, program, kill_at: Date.now() + Math.ceil(ms) };
      await kysely
        .insertInto('program_limits')
        .values(limit)
        .onConflict((conflict) => conflict.columns(['sandbox', 'program']).doUpdateSet({ kill_at: limit.kill_at }))
        .execute();
      const clock: Clock = { struck: false };
      arm(limit, clock, ms);
      return {
        stop() {
          clearTimeout(clock.timer);
          if (clocks.get(keyOf(limit)) === clock) clocks.delete(keyOf(limit));
          if (!clock.struck)
            remove(limit).catch((error: Error) => log.warn({ err: error }, 'a time limit that is over could not be removed'));
          return clock.struck;
        },
      };
    },

    async recover() {
      const limits = await kysely
        .selectFrom('program_limits')
        .innerJoin('sandboxes', 'sandboxes.id', 'program_limits.sandbox')
        .select(['sandbox', 'program', 'kill_at'])
        .where('sandboxes.host', '=', host)
        .execute();
      for (const limit of limits) {
        if (clocks.has(keyOf(limit))) continue;
        try {
          if (await runs(limit)) arm(limit, { struck: false }, limit.kill_at - Date.now());
          else await remove(limit);
        } catch (error) {
          log.warn({ sandbox: limit.sandbox, err: error }, 'could not see whether a program with a time limit runs');
          arm(limit, { struck: false }, Math.max(retryMs, limit.kill_at - Date.now()));
        }
      }
    },

    stop() {
      for (const { timer } of clocks.values()) clearTimeout(timer);
      clocks.clear();
    },
  };
}
