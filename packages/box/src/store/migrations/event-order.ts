/**
 * PostgreSQL gives out `seq` when an event is inserted but shows the event when its transaction commits, and those orders
 * differ: a reader that has seen 12 must not conclude that 11 will never come. So each inserting transaction first takes a
 * shared advisory lock whose key says "what I insert is above N". The locks are held until the commit and never block
 * anybody; events/settled.ts reads from them how far the numbers are final. Serialising the inserts with an exclusive lock
 * would be simpler, but it makes all hosts queue for each other's commits, and deadlocks with the row locks of
 * transactions that append on the way.
 */

import { type Kysely, sql } from 'kysely';

/** Upper 16 bits of the lock's key; the lower 48 are N. */
export const eventLockTag = 0x5342;

export async function protectEventOrder(kysely: Kysely<unknown>): Promise<void> {
  await sql`
    create function skillbox_event_order() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock_shared((${sql.lit(eventLockTag)}::bigint << 48) | case when is_called then last_value else 0 end)
        from events_seq_seq;
      return null;
    end $$`.execute(kysely);
  // For each statement, before it: the lock must be held before the first number is taken.
  await sql`
    create trigger skillbox_event_order before insert on events
    for each statement execute function skillbox_event_order()`.execute(kysely);
}
