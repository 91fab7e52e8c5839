/** Output as it comes, through broken connections, without loss or repeat. */

import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError, type ExecutionStatus, isFinal } from '@skillbox/protocol';
import type { Command, StreamEvent } from '../commands/command.ts';
import { commandNamed } from './call.ts';
import type { Client } from './client.ts';
import type { Io } from './io.ts';
import { printable } from './paint.ts';

export interface OutputEvent {
  readonly time: string;
  readonly text: string;
}

/** The server says that it is alive every 15 seconds. */
const silenceMs = 45_000;
const mostAttempts = 6;

export const followExecution = (client: Client, id: string): AsyncGenerator<StreamEvent> =>
  followEvents(client, commandNamed('execution.events'), { id });

/** `endless`: an end of the stream is a break too. */
export async function* followEvents(
  client: Client,
  command: Command,
  input: Record<string, unknown>,
  { endless = false } = {},
): AsyncGenerator<StreamEvent> {
  let lastEventId: string | undefined;
  let attempts = 0;
  for (;;) {
    try {
      for await (const event of client.events(command, input, { silenceMs, ...(lastEventId !== undefined && { lastEventId }) })) {
        attempts = 0;
        lastEventId = event.id;
        yield event;
      }
      if (!endless) return;
      throw new BoxError('unreachable', `${client.url} ended the stream.`);
    } catch (error) {
      attempts += 1;
      if (!(error instanceof BoxError) || error.code !== 'unreachable' || lastEventId === undefined || attempts > mostAttempts) throw error;
      await sleep(200 * 2 ** attempts);
    }
  }
}

/** Shows output on its own stream; where stdout is for JSON, all of it goes to stderr. Resolves to the last status seen. */
export async function showOutput(events: AsyncIterable<StreamEvent>, { json }: Pick<Io, 'json'>): Promise<ExecutionStatus | undefined> {
  let status: ExecutionStatus | undefined;
  for await (const { event, data } of events) {
    const { text } = data as OutputEvent;
    if (event === 'status') {
      status = text as ExecutionStatus;
      if (isFinal(status)) return status;
      continue;
    }
    const stream = event === 'stderr' || json ? process.stderr : process.stdout;
    stream.write(stream.isTTY ? printable(text) : text);
  }
  return status;
}
