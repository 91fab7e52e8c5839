/** When a service that fell is started again: at once, then later and later, and after too many falls only now and then. */

export interface Patience {
  /** Before the second start of a row; the first comes at once. Doubles from there. */
  readonly firstMs: number;
  readonly mostMs: number;
  /** So many falls within `windowMs` are too many. */
  readonly limit: number;
  readonly windowMs: number;
  /** One that has been well for so long starts a new row. */
  readonly steadyMs: number;
  /** Between two starts of one that was given up. */
  readonly slowMs: number;
}

const minute = 60_000;

export const usualPatience: Patience = {
  firstMs: 1000,
  mostMs: 5 * minute,
  limit: 10,
  windowMs: 15 * minute,
  steadyMs: minute,
  slowMs: 10 * minute,
};

/** What is remembered of a service, in pulse's state file too: a pulse that was killed goes on where it was. */
export interface Falls {
  /** When, within the window; milliseconds since 1970. */
  readonly times: readonly number[];
  /** In this row. */
  readonly row: number;
  readonly givenUp: boolean;
  /** Since when it has been well again. */
  readonly wellSince: number | undefined;
}

export interface Verdict {
  readonly falls: Falls;
  readonly delayMs: number;
  /** It was given up just now, not before. */
  readonly givesUp: boolean;
}

/** It fell, or could not be started. */
export function fall(before: Falls | undefined, now: number, patience: Patience, random: () => number): Verdict {
  const steady = before?.wellSince !== undefined && now - before.wellSince >= patience.steadyMs;
  const times = [...(before?.times ?? []).filter((time) => now - time < patience.windowMs), now];
  const row = steady ? 1 : (before?.row ?? 0) + 1;
  const wasGivenUp = before?.givenUp === true && !steady;
  const givenUp = wasGivenUp || times.length >= patience.limit;
  const falls = { times, row, givenUp, wellSince: undefined };
  return { falls, delayMs: givenUp ? spread(patience.slowMs, random) : pauseOf(row, patience, random), givesUp: givenUp && !wasGivenUp };
}

/** undefined once it has been well for so long that its falls no longer count against it. */
export function well(before: Falls, now: number, patience: Patience): Falls | undefined {
  if (before.wellSince === undefined) return { ...before, wellSince: now };
  if (now - before.wellSince < patience.steadyMs) return before;
  const times = before.times.filter((time) => now - time < patience.windowMs);
  // Those within the window still count: one that falls every few minutes is not well either.
  return times.length === 0 || before.givenUp ? undefined : { ...before, times, row: 0, wellSince: before.wellSince };
}

function pauseOf(row: number, { firstMs, mostMs }: Patience, random: () => number): number {
  return row <= 1 ? 0 : spread(Math.min(mostMs, firstMs * 2 ** (row - 2)), random);
}

/** A quarter more or less, so that those who fell together do not start together for ever. */
function spread(ms: number, random: () => number): number {
  return Math.round(ms * (0.75 + random() / 2));
}
