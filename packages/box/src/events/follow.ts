/** One follower: the table from where it left off, then live, then the table again if it fell behind; never a loss or a repeat. */

import type { BoxEvent } from '@skillbox/protocol';
import type { EventFilter } from './filter.ts';
import type { Tail } from './tail.ts';

/** A reader slower than this is served from the table, so that it costs no memory. */
const inboxLimit = 1000;
const pageSize = 200;

export type PageReader = (filter: EventFilter, afterSeq: number, limit: number) => Promise<BoxEvent[]>;

export async function* followEvents(
  { tail, readPage }: { readonly tail: Tail; readonly readPage: PageReader },
  filter: EventFilter,
  afterSeq: number,
  signal: AbortSignal,
): AsyncGenerator<BoxEvent, void, undefined> {
  if (signal.aborted) return;
  const inbox = new Inbox();
  // Joined before the table is read: an event is then in the table, in the inbox, or in both, and `last` sorts out the latter.
  const leave = await tail.join({ filter, offer: (event) => inbox.offer(event), fail: (error) => inbox.fail(error) });
  const wake = () => inbox.wake();
  signal.addEventListener('abort', wake);
  let last = afterSeq;
  try {
    while (!signal.aborted) {
      inbox.overflowed = false;
      for (let full = true; full && !signal.aborted; ) {
        const page = await readPage(filter, last, pageSize);
        for (const event of page) {
          if (signal.aborted) return;
          last = event.seq;
          yield event;
        }
        full = page.length === pageSize;
      }
      while (!signal.aborted && !inbox.overflowed) {
        const event = inbox.take();
        if (!event) await inbox.somethingNew();
        else if (event.seq > last) {
          last = event.seq;
          yield event;
        }
      }
    }
  } finally {
    signal.removeEventListener('abort', wake);
    leave();
  }
}

class Inbox {
  /** Events were dropped; they are in the table. */
  overflowed = false;
  #events: BoxEvent[] = [];
  #failure: { readonly error: unknown } | undefined;
  #waiting: (() => void) | undefined;

  offer(event: BoxEvent): void {
    if (this.#events.length >= inboxLimit) {
      this.#events = [];
      this.overflowed = true;
    }
    this.#events.push(event);
    this.wake();
  }

  fail(error: unknown): void {
    this.#failure = { error };
    this.wake();
  }

  take(): BoxEvent | undefined {
    if (this.#failure) throw this.#failure.error;
    return this.#events.shift();
  }

  wake(): void {
    this.#waiting?.();
  }

  /** Only after take() found nothing, without an await in between. */
  async somethingNew(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#waiting = resolve;
    });
    this.#waiting = undefined;
  }
}
