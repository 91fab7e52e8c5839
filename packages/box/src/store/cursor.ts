/** Opaque cursors: the sort key of the last item, in base64url. */

import { BoxError } from '@skillbox/protocol';

export function encodeCursor(...parts: (string | number)[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

export function decodeCursor<N extends number>(cursor: string, count: N): N extends 1 ? [string] : [string, string] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    if (Array.isArray(parts) && parts.length === count && parts.every((part) => typeof part === 'string' && !part.includes('\0'))) {
      return parts as N extends 1 ? [string] : [string, string];
    }
  } catch {
    // Falls through to the one error below: whatever is wrong with it, the advice is the same.
  }
  throw new BoxError('invalid_cursor', 'This cursor was not made by the box.');
}
