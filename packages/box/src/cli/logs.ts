/** skillbox exec logs: the log so far, or as it grows. */

import { executionId } from '@skillbox/protocol';
import { z } from 'zod';
import { commandNamed } from './call.ts';
import { followExecution, type OutputEvent, showOutput } from './follow.ts';
import type { CliContext, Outcome } from './leaf.ts';
import { printable } from './paint.ts';

const input = z.object({
  id: executionId,
  follow: z.boolean().default(false).describe('Go on until the execution ends; with --json one event per line'),
});

export const logsPolish = {
  input,
  async run({ client, io }: CliContext, given: Record<string, unknown>): Promise<Outcome> {
    const { id, follow } = input.parse(given);
    const box = await client();
    if (!follow) {
      const { text } = await box.call(commandNamed('execution.logs'), { id });
      const shown = io.width === undefined ? text : printable(text);
      return { value: { execution_id: id, logs: text }, text: shown };
    }
    const events = followExecution(box, id);
    if (!io.json) {
      await showOutput(events, io);
      return {};
    }
    for await (const { id: seq, event, data } of events) io.print(JSON.stringify({ id: seq, event, ...(data as OutputEvent) }));
    return {};
  },
};
