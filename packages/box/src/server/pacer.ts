/**
 * Who is refused and asks again at once would keep the server busy with refusing it. Beyond a few refusals a second each one is told
 * a little later: a caller that waits as Retry-After says never notices, one that does not gets no more of the server than that.
 */

const windowMs = 1000;
const freeRefusals = 20;
const holdMs = 500;
/** Callers that are remembered; one that is forgotten has its free refusals again. */
const mostCallers = 10_000;

export interface Pacer {
  /** Notes a refusal; resolves when it may be told. */
  refusal(caller: string): Promise<void>;
}

export function createPacer(now: () => number = () => performance.now()): Pacer {
  const seen = new Map<string, { since: number; refusals: number }>();
  return {
    async refusal(caller) {
      const time = now();
      let entry = seen.get(caller);
      if (!entry || time - entry.since >= windowMs) {
        if (seen.size >= mostCallers) seen.clear();
        entry = { since: time, refusals: 0 };
        seen.set(caller, entry);
      }
      entry.refusals += 1;
      if (entry.refusals > freeRefusals) await new Promise((resolve) => setTimeout(resolve, holdMs));
    },
  };
}
