import { type Kysely, sql } from 'kysely';
import type { Tables } from './tables.ts';

/**
 * Sends notifications outside the transactions they speak of, one at a time for each channel: PostgreSQL makes commits
 * that notify wait for each other, and a burst of changes needs only one wake-up.
 */
export class PostgresNotifier {
  readonly #kysely: Kysely<Tables>;
  /** Channels with a notification under way; true when another is due after it. */
  readonly #sending = new Map<string, boolean>();

  constructor(kysely: Kysely<Tables>) {
    this.#kysely = kysely;
  }

  send(channel: string): void {
    if (this.#sending.has(channel)) {
      this.#sending.set(channel, true);
      return;
    }
    this.#sending.set(channel, false);
    sql`select pg_notify(${channel}, '')`
      .execute(this.#kysely)
      .catch(ignoreLostWakeup)
      .finally(() => {
        const again = this.#sending.get(channel);
        this.#sending.delete(channel);
        if (again) this.send(channel);
      });
  }
}

/** Listeners poll as well, so a notification that cannot be sent costs delay, not an event; ping reports the outage itself. */
function ignoreLostWakeup(): undefined {
  return undefined;
}
