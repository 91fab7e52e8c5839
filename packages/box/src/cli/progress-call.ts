/** A command that takes long, done by a box elsewhere: its progress is shown as it comes, as if it were done here. */

import { BoxError, isErrorCode, type WorkProgress } from '@skillbox/protocol';
import type { Command } from '../commands/command.ts';
import { type Client, RemoteError } from './client.ts';
import type { Io } from './io.ts';

/** The server says that it is alive every 15 seconds. */
const silenceMs = 45_000;

interface RemoteFailure {
  readonly error: string;
  readonly message: string;
  readonly hint?: string;
  readonly details?: unknown;
  readonly request_id?: string;
}

export async function callWithProgress(
  client: Client,
  io: Io,
  command: Command,
  input: Record<string, unknown>,
): Promise<{ readonly body: unknown; readonly text: string }> {
  try {
    for await (const { event, data } of client.events(command, input, { silenceMs })) {
      if (event === 'result') return { body: data, text: JSON.stringify(data) };
      if (event === 'error') throw failureOf(data as RemoteFailure);
      const { text, step } = data as WorkProgress;
      if (!step || step.state === 'running') io.progress.show(text);
    }
  } finally {
    io.progress.clear();
  }
  throw new BoxError('unreachable', `${client.url} ended the answer before its end.`, { hint: 'What was asked may have been done: look.' });
}

function failureOf({ error, message, hint, details, request_id: requestId }: RemoteFailure): RemoteError {
  return new RemoteError(isErrorCode(error) ? error : 'internal', message, {
    ...(hint !== undefined && { hint }),
    ...(details !== undefined && { details }),
    ...(requestId !== undefined && { requestId }),
  });
}
