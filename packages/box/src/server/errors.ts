/** Errors as HTTP answers; the one place where a code becomes a status. Never a stack. */

import { BoxError, type ErrorBody, errorKinds } from '@skillbox/protocol';
import { diskTrouble } from '../disk-trouble.ts';
import type { Logger } from '../observe/log.ts';

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: ErrorBody;
}

export function errorAnswer(error: unknown, requestId: string, log: Logger): ErrorAnswer {
  const trouble = diskTrouble(error);
  if (trouble) log.error({ err: error, request_id: requestId }, 'a request met a disk that refuses');
  const known = error instanceof BoxError ? error : trouble;
  if (!known || known.code === 'internal') log.error({ err: error, request_id: requestId }, 'a request failed');
  if (!known || known.code === 'internal') {
    const body = {
      error: 'internal',
      message: 'The box could not answer this request.',
      hint: errorKinds.internal.hint,
      request_id: requestId,
    };
    return { status: 500, headers: {}, body };
  }
  // A code that describes an execution's end has no status of its own; as an answer it means that a part failed.
  const status = known.status === 200 ? 503 : known.status;
  const headers: Record<string, string> = {};
  if (status === 401) headers['WWW-Authenticate'] = 'Bearer';
  if (known.retryAfter !== undefined || status === 503 || status === 429) headers['Retry-After'] = String(known.retryAfter ?? 5);
  const { code, message, hint, details } = known;
  return { status, headers, body: { error: code, message, hint, ...(details === undefined ? {} : { details }), request_id: requestId } };
}
