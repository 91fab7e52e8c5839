/** Reads new events once for all followers of this process, and hands each to those whose filter it passes. */

import { BoxError, type BoxEvent } from '@skillbox/protocol';
import type { Database } from '../store/database.ts';
import { type EventFilter, matchesFilter } from './filter.ts';
import { asEvent } from './row.ts';
import type { Settled } from './settled.ts';

export const eventChannel = 'skillbox_events';

/** Catches what no notification told: another process on SQLite, or a notification lost with its sender or its connection. */
const pollMs = 1000;
const settleMs = 10;
const batchSize = 500;

export interface TailFollower {
  readonly filter: EventFilter;
  offer(event: BoxEvent): void;
  fail(error: unknown): void;
}

export interface Tail {
  /** From the moment this resolves the follower is offered everything that is not yet in the table. Returns the way to leave. */
  join(follower: TailFollower): Promise<() => void>;
}

export function createTail(database: Database, readSettled: () => Promise<Settled>, lastSeq: () => Promise<number>): Tail {
  const followers = new Set<TailFollower>();
  let starting: Promise<void> | undefined;
  let stopListening: (() => void) | undefined;
  let poll: NodeJS.Timeout | undefined;
  let position = 0;
  let starts = 0;
  let reading = false;
  let again = false;

  async function start(): Promise<void> {
    // Listen first: what is appended while we ask for the position is either below it or wakes us.
    stopListening = database.listen(eventChannel, wake);
    poll = setInterval(wake, pollMs);
    poll.unref();
    const mine = ++starts;
    const seq = await lastSeq();
    // A start that was overtaken by a stop and another start must not move the position of followers who rely on it.
    if (mine === starts) position = seq;
  }

  function stop(): void {
    stopListening?.();
    clearInterval(poll);
    starting = undefined;
  }

  function wake(): void {
    again = true;
    if (!reading) void readAll();
  }

  async function readAll(): Promise<void> {
    reading = true;
    try {
      await starting;
      while (again && followers.size > 0) {
        again = false;
        await readBatch();
      }
    } catch (error) {
      // While the database is away followers wait; the poll tries again. Anything else will not mend itself.
      const temporary = error instanceof BoxError && error.code === 'unavailable';
      if (!temporary) for (const follower of followers) follower.fail(error);
    } finally {
      reading = false;
    }
  }

  async function readBatch(): Promise<void> {
    const settled = await readSettled();
    const rows = await database.kysely
      .selectFrom('events')
      .selectAll()
      .where('seq', '>', position)
      .where('seq', '<=', settled.seq)
      .orderBy('seq')
      .limit(batchSize)
      .execute();
    for (const row of rows) {
      const interested = [...followers].filter((follower) => matchesFilter(row, follower.filter));
      if (interested.length > 0) {
        const event = asEvent(row);
        for (const follower of interested) follower.offer(event);
      }
      position = row.seq;
    }
    if (rows.length === batchSize) again = true;
    else if (settled.waiting) setTimeout(wake, settleMs).unref();
  }

  return {
    async join(follower) {
      followers.add(follower);
      const leave = () => {
        if (followers.delete(follower) && followers.size === 0) stop();
      };
      starting ??= start();
      try {
        await starting;
      } catch (error) {
        leave();
        throw error;
      }
      return leave;
    },
  };
}
