/** A disk that refuses is no defect of ours, wherever it is met: it is a part that is away, and comes back. */

import { BoxError } from '@skillbox/protocol';

const words: Record<string, string> = {
  ENOSPC: 'it is full',
  EDQUOT: 'the quota of the user that runs the box is used up',
  EROFS: 'it is read-only',
  EIO: 'it cannot be read or written',
};

/** undefined when it is something else. */
export function diskTrouble(error: unknown): BoxError | undefined {
  const { code = '' } = (error ?? {}) as { readonly code?: string };
  const state = words[code];
  if (state === undefined || error instanceof BoxError) return undefined;
  return new BoxError('unavailable', `The disk of the state root refuses: ${state} (${(error as Error).message}).`, {
    ...{ cause: error, retryAfter: 10, hint: 'An operator has to look at the disk of this host: skillbox doctor.' },
  });
}
