/** skillbox sandbox exec and logs: a program's output as it comes, byte for byte, and its exit code as ours. */

import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError, sandboxId } from '@skillbox/protocol';
import { z } from 'zod';
import type { StreamEvent } from '../commands/command.ts';
import { commandNamed } from './call.ts';
import type { Client } from './client.ts';
import type { CliContext, Outcome } from './leaf.ts';

const execInput = z.object({
  id: sandboxId,
  command: z.array(z.string()).min(1).describe('Program and its words, after --'),
  env: z.record(z.string(), z.string()).optional().describe('Variables of this program'),
  cwd: z.string().optional().describe('Folder it starts in (default: /home/user)'),
  timeout: z.string().optional().describe('Time limit, such as 90s; then it is killed'),
  tag: z.string().optional().describe('A name of your own'),
  stdin: z.boolean().default(false).describe('Pass on what comes on stdin'),
  detach: z.boolean().default(false).describe('Do not wait: print the number of the program'),
});

/** The server says that it is alive every 15 seconds. */
const silenceMs = 45_000;
const mostAttempts = 6;

export const execPolish = {
  description:
    'Shows stdout and stderr as they come and exits with the exit code of the program (128 and the number of the signal that ended it). Ctrl-C goes to the program; the second one leaves it running.',
  input: execInput,
  async run({ client, io }: CliContext, given: Record<string, unknown>): Promise<Outcome> {
    const { id, command, detach, stdin, ...rest } = execInput.parse(given);
    const box = await client();
    const { body, text } = await box.call(commandNamed('sandbox.exec'), { id, argv: command, wait: false, stdin, ...rest });
    const program = (body as { program_id: number }).program_id;
    if (detach) return { value: body, raw: text, text: String(program) };
    const interrupts = passInterrupts(box, id, program);
    if (stdin) void passStdin(box, id, program);
    try {
      const end = await show(followProgram(box, id, program, true), io.json);
      return { value: { program_id: program, ...end }, exit: exitOf(end) };
    } finally {
      interrupts.stop();
    }
  },
};

const logsInput = z.object({
  id: sandboxId,
  program: z.coerce.number().int().positive().describe('Number of the program'),
  follow: z.boolean().default(false).describe('Go on until the program ends'),
});

export const sandboxLogsPolish = {
  description: 'Output so far, or as it grows.',
  input: logsInput,
  async run({ client, io }: CliContext, given: Record<string, unknown>): Promise<Outcome> {
    const { id, program, follow } = logsInput.parse(given);
    await show(followProgram(await client(), id, program, follow), io.json);
    return {};
  },
};

interface End {
  readonly exit_code: number | null;
  readonly signal: string | null;
}

/** Through broken connections, without loss or repeat. */
async function* followProgram(client: Client, id: string, program: number, follow: boolean): AsyncGenerator<StreamEvent> {
  const command = commandNamed('sandbox.output');
  let lastEventId: string | undefined;
  for (let attempts = 0; ; ) {
    try {
      const options = { silenceMs, ...(lastEventId !== undefined && { lastEventId }) };
      for await (const event of client.events(command, { id, program, encoding: 'base64', follow }, options)) {
        // The sandbox may well be there; only the way to it broke.
        if (isBrokenOff(event)) throw new BoxError('unreachable', 'The host of the sandbox went away.');
        attempts = 0;
        lastEventId = event.id;
        yield event;
        if (event.event === 'end') return;
      }
      if (!follow) return;
      throw new BoxError('unreachable', 'The output broke off.');
    } catch (error) {
      attempts += 1;
      if (!(error instanceof BoxError) || error.code !== 'unreachable' || attempts > mostAttempts) throw error;
      await sleep(100 * 2 ** attempts);
    }
  }
}

const isBrokenOff = ({ event, data }: StreamEvent): boolean => event === 'error' && (data as { error: string }).error === 'on_another_host';

/** Where stdout is for JSON, all of it goes to stderr. */
async function show(events: AsyncIterable<StreamEvent>, json: boolean): Promise<End | undefined> {
  for await (const { event, data } of events) {
    if (event === 'end') return data as End;
    if (event === 'error') throw new BoxError('sandbox_failed', (data as { message: string }).message);
    if (event === 'lost') process.stderr.write('[some output was lost]\n');
    const { base64 } = data as { base64?: string };
    if (base64 === undefined) continue;
    const stream = event === 'stderr' || json ? process.stderr : process.stdout;
    if (!stream.write(Buffer.from(base64, 'base64'))) await new Promise((resolve) => stream.once('drain', resolve));
  }
  return undefined;
}

export function exitOf(end: End | undefined): number {
  if (end?.exit_code !== null && end?.exit_code !== undefined) return end.exit_code;
  return 128 + (constants.signals[end?.signal as keyof typeof constants.signals] ?? 0);
}

function passInterrupts(client: Client, id: string, program: number): { stop(): void } {
  let pressed = 0;
  const interrupt = (): void => {
    pressed += 1;
    if (pressed > 1) process.exit(130);
    // It may have ended in this moment.
    client.call(commandNamed('sandbox.signal'), { id, program, signal: 'SIGINT' }).catch(() => undefined);
  };
  process.on('SIGINT', interrupt);
  return { stop: () => void process.off('SIGINT', interrupt) };
}

/** A program that ends without reading everything is no fault. */
async function passStdin(client: Client, id: string, program: number): Promise<void> {
  try {
    await client.call(commandNamed('sandbox.stdin'), { id, program, body: process.stdin }, { silenceMs: 0 });
    await client.call(commandNamed('sandbox.stdin.close'), { id, program });
  } catch (error) {
    if (!(error instanceof BoxError)) throw error;
  }
}
