/** skillbox run: starts an execution, waits for it or shows it live, and brings its artifacts home. */

import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError, type Execution, executionRequest, isFinal } from '@skillbox/protocol';
import { z } from 'zod';
import { onInterrupt } from '../process/interrupts.ts';
import { formatDuration } from '../units.ts';
import { commandNamed } from './call.ts';
import { type Answer, type Client, isBroken } from './client.ts';
import { executionView } from './execution-view.ts';
import { saveArtifacts } from './files.ts';
import { followExecution, showOutput } from './follow.ts';
import type { CliContext, Outcome } from './leaf.ts';
import { requestFrom } from './run-request.ts';

const input = z.object({
  skill: executionRequest.shape.skill,
  input: z.string().optional().describe('Input for the skill: JSON, @FILE, or - to read stdin. Default {}').meta({ placeholder: 'json' }),
  file: z
    .array(z.string())
    .default([])
    .describe('Input file, as PATH or NAME=PATH; the skill finds it under SANDBOX_INPUT_DIR. May be repeated')
    .meta({ placeholder: 'path' }),
  env: z.array(z.string()).default([]).describe('Environment variable for the skill. May be repeated').meta({ placeholder: 'K=V' }),
  version: executionRequest.shape.version.meta({ placeholder: 'version' }),
  timeout: z
    .string()
    .regex(/^\d+(\.\d+)?(ms|s|m|h)?$/, 'expected a time such as 90s or 2m')
    .optional()
    .describe('Time limit, such as 90s or 2m')
    .meta({ placeholder: 'time' }),
  wait: z.boolean().default(true).describe('Do not wait for the end: print the record as it is accepted'),
  idempotency_key: z
    .string()
    .regex(/^[\x21-\x7e]{1,200}$/, 'expected up to 200 printable characters without blanks')
    .optional()
    .describe('The same key with the same request runs once, however often it is sent within a day')
    .meta({ placeholder: 'key' }),
  download: z.string().optional().describe('Save the artifacts into this folder').meta({ placeholder: 'dir' }),
  follow: z.boolean().default(false).describe('Show stdout and stderr while it runs'),
});

export const runPolish = {
  description:
    'Runs it in a sandbox of its own and waits for the end; Ctrl-C cancels it. The exit code is 0 when it succeeded and 1 when it did not; what became of it is printed either way.',
  input,
  async run(context: CliContext, given: Record<string, unknown>): Promise<Outcome> {
    const flags = input.parse(given);
    if (!flags.wait && (flags.follow || flags.download !== undefined)) {
      throw new BoxError('usage', '--no-wait does not go together with --follow or --download.', { hint: 'Leave --no-wait out.' });
    }
    const request = await requestFrom(flags);
    const client = await context.client();
    // With a key the request can be sent again: after a broken connection, and to learn the id of what is to be cancelled.
    const key = flags.idempotency_key ?? `cli-${crypto.randomUUID()}`;
    const submit = (wait: boolean): Promise<Answer> => submitOnce(client, { ...request, wait }, key);
    if (!flags.wait) return outcome(context, await submit(false), { logs: false });

    const interrupts = onInterrupt(() => void cancel(client, context.io, submit));
    const waiting = flags.follow ? undefined : showWaiting(context, flags.skill);
    try {
      const answer = flags.follow ? await followToEnd(client, context.io, await submit(false)) : await submit(true);
      waiting?.stop();
      const record = answer.body as Execution;
      const { download } = flags;
      if (download !== undefined) await saveArtifacts(client, record.execution_id, record.files_list, download);
      return outcome(context, answer, { logs: false, ...(download !== undefined && { saved: download }) }, flags.follow);
    } finally {
      waiting?.stop();
      interrupts.stop();
    }
  },
};

/** A connection that breaks while we wait loses nothing: the same request finds the same execution. */
async function submitOnce(client: Client, request: Record<string, unknown>, idempotencyKey: string): Promise<Answer> {
  const command = commandNamed('execution.create');
  let accepted = false;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await client.call(command, request, { idempotencyKey, silenceMs: 0 });
    } catch (error) {
      accepted ||= isBroken(error);
      const again = accepted && attempt < 6 && error instanceof BoxError && error.code === 'unreachable';
      if (!again) throw error;
      await sleep(200 * 2 ** attempt);
    }
  }
}

async function followToEnd(client: Client, io: CliContext['io'], accepted: Answer): Promise<Answer> {
  const { execution_id: id, status } = accepted.body as Execution;
  if (!isFinal(status)) await showOutput(followExecution(client, id), io);
  // The last event comes a moment before the record is written.
  return untilFinal(client, id);
}

async function untilFinal(client: Client, id: string): Promise<Answer> {
  for (let attempt = 0; ; attempt += 1) {
    const answer = await client.call(commandNamed('execution.get'), { id });
    if (isFinal((answer.body as Execution).status)) return answer;
    await sleep(Math.min(1000, 20 * 2 ** attempt));
  }
}

async function cancel(client: Client, io: CliContext['io'], submit: (wait: boolean) => Promise<Answer>): Promise<void> {
  io.note('Cancelling. Press Ctrl-C again to leave at once.');
  try {
    const { execution_id: id } = (await submit(false)).body as Execution;
    await client.call(commandNamed('execution.cancel'), { id }, { silenceMs: 0 });
  } catch (error) {
    // It ended by itself in the meantime; its record is on the way.
    if (error instanceof BoxError && error.code === 'already_finished') return;
    io.note(`It could not be cancelled: ${(error as Error).message}`);
  }
}

function showWaiting({ io }: CliContext, skill: string): { stop(): void } {
  const since = performance.now();
  const timer = setInterval(() => io.progress.show(`Running ${skill}, ${formatDuration(performance.now() - since)}`), 500);
  timer.unref();
  return {
    stop() {
      clearInterval(timer);
      io.progress.clear();
    },
  };
}

function outcome({ io }: CliContext, { body, text }: Answer, view: Parameters<typeof executionView>[2], shown = false): Outcome {
  const record = body as Execution;
  // What was shown live is not shown again.
  const visible = shown ? { ...record, logs: '' } : record;
  const failed = isFinal(record.status) && record.status !== 'success';
  return { value: record, raw: text, text: `${shown ? '\n' : ''}${executionView(visible, io, view)}`, exit: failed ? 1 : 0 };
}
