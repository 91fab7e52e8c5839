/** Errors as a shell wants them: an exit code, and words for people or JSON for programs. */

import { BoxError, type ErrorBody, exitCodes } from '@skillbox/protocol';
import { RemoteError } from './client.ts';
import { type Paint, printable } from './paint.ts';

export function exitCodeOf(error: unknown): number {
  return error instanceof BoxError ? error.exit : exitCodes.internal;
}

/** The same shape that the API answers with. */
export function failureBody(error: unknown): Partial<ErrorBody> {
  if (!(error instanceof BoxError)) return { error: 'internal', message: messageOf(error), hint: reportHint };
  const { code, message, hint, details } = error;
  const requestId = error instanceof RemoteError ? error.requestId : undefined;
  return {
    error: code,
    message,
    hint,
    ...(details !== undefined && { details }),
    ...(requestId !== undefined && { request_id: requestId }),
  };
}

export function failureText(error: unknown, paint: Paint): string {
  const { message = '', hint, request_id, details } = failureBody(error);
  const lines = [`${paint('red', 'Error:')} ${printable(message)}`];
  for (const problem of problemsOf(details).slice(1)) lines.push(`  ${printable(problem)}`);
  const advice =
    error instanceof BoxError && error.retryAfter !== undefined && hint ? hint.replace('Retry-After', String(error.retryAfter)) : hint;
  if (advice) lines.push(paint('dim', printable(advice)));
  if (request_id) lines.push(paint('dim', `Request id: ${printable(request_id)}`));
  if (!(error instanceof BoxError) && error instanceof Error && error.stack) lines.push(paint('dim', error.stack));
  return lines.join('\n');
}

const reportHint = 'This is a fault of the CLI. Please report it with the lines below.';

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The first one is in the message already. */
function problemsOf(details: unknown): string[] {
  const problems = (details as { problems?: { path?: string; message?: string }[] } | undefined)?.problems;
  if (!Array.isArray(problems)) return [];
  return problems.map(({ path, message }) => `${path ?? ''}: ${message ?? ''}`);
}
