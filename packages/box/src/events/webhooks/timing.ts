/** How patient webhooks are. docs/webhooks.md says the same in words. */

export interface Timing {
  /** Of one attempt, from the name's resolution to the status of the answer. */
  readonly timeoutMs: number;
  /** Attempts of one webhook that run at once. */
  readonly connections: number;
  /** Before the second attempt; doubles with each. */
  readonly retryFirstMs: number;
  readonly retryMostMs: number;
  /** A delivery that fails for as long, while its hub answers, is given up. */
  readonly giveUpMs: number;
  /** The longest time between two questions to a hub that is away. */
  readonly probeMostMs: number;
  /** Deliveries of one webhook that may wait in the outbox; what comes after them waits in the table of events. */
  readonly window: number;
  /** Of those delivered, and of those given up, so many of each webhook stay visible. */
  readonly kept: number;
}

export const usualTiming: Timing = {
  timeoutMs: 10_000,
  connections: 4,
  retryFirstMs: 1000,
  retryMostMs: 5 * 60_000,
  giveUpMs: 24 * 3600_000,
  probeMostMs: 60_000,
  window: 200,
  kept: 1000,
};

/** A quarter more or less, so that many who failed together do not come back together. */
export function backoffMs(failures: number, firstMs: number, mostMs: number): number {
  return Math.round(Math.min(mostMs, firstMs * 2 ** Math.max(0, failures - 1)) * (0.75 + Math.random() / 2));
}
