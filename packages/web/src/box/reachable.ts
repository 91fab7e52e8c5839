/** Whether the box answers. One place knows, and looks again by itself until it does. */

import { Client, ConnectionError, TimeoutError } from '@skillbox/sdk';
import { useSyncExternalStore } from 'react';

const lookAgainMs = 2000;
const listeners = new Set<() => void>();
let reachable = true;
/** Grows each time the box is back, so that whoever depends on it loads anew. */
let returns = 0;

export const useReachable = (): boolean => useSyncExternalStore(subscribe, () => reachable);
export const useReturns = (): number => useSyncExternalStore(subscribe, () => returns);

export const isAway = (error: unknown): boolean => error instanceof ConnectionError || error instanceof TimeoutError;

/** Told of every failure; only those of the connection count. */
export function noteFailure(error: unknown): void {
  if (!isAway(error) || !reachable) return;
  reachable = false;
  tell();
  setTimeout(look, lookAgainMs);
}

async function look(): Promise<void> {
  try {
    await new Client(location.origin, undefined, { maxRetries: 0, timeoutMs: 4000 }).health();
    reachable = true;
    returns += 1;
    tell();
  } catch {
    // Still away: that is what is being waited for.
    setTimeout(look, lookAgainMs);
  }
}

function tell(): void {
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
