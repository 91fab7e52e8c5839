/** Of nginx, which has it for the same: nobody reads this answer, but logs and metrics must not call it a fault. */
export const goneStatus = 499;

/**
 * Whether nothing failed but the caller's patience. Work that is given up for that reason throws the very reason of the request's signal;
 * anything else is a fault, also when it happens after the caller has left.
 */
export function isGone(error: unknown, signal: AbortSignal): boolean {
  if (!signal.aborted) return false;
  return error === signal.reason || (error instanceof Error && error.name === 'AbortError' && error.cause === signal.reason);
}
