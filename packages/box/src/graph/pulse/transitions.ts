/** What changed between two looks, told once: what was never seen before is only written down. */

import type { Book } from './book.ts';

export interface Seen {
  /** Such as check:disk. */
  readonly subject: string;
  readonly state: string;
  readonly detail?: string | null;
}

/** `name` is that of the event for a state. Those that are no longer declared are forgotten. */
export function tellTransitions(
  book: Book,
  before: Readonly<Record<string, string>>,
  seen: readonly Seen[],
  name: (state: string) => string,
): Record<string, string> {
  for (const { subject, state, detail } of seen) {
    const was = before[subject];
    if (was === undefined || was === state) continue;
    book.emit(name(state), subject, { was, ...(detail && { detail }) });
  }
  return Object.fromEntries(seen.map(({ subject, state }) => [subject, state]));
}
