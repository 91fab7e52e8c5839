/** Programs in living sandboxes: started, watched, fed, signalled. */

import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError, page, sandboxId, timestamp } from '@skillbox/protocol';
import { z } from 'zod';
import type { Program, ProgramInfo, SandboxHandle } from '../sandbox/living.ts';
import { metricsHistory } from '../sandbox/metrics-history.ts';
import {
  collect,
  homeFolder,
  outputEvents,
  type ProgramResult,
  positionOf,
  programSpec,
  signalNumber,
  withProgram,
} from '../sandbox/programs.ts';
import { parseDuration } from '../units.ts';
import { type CommandContext, command, Reply, type StreamEvent } from './command.ts';
import { queryFlag } from './query-flag.ts';
import { rawBody, sandboxPath, withSandbox } from './sandbox-use.ts';

const longestUnread = 60_000;
const one = z.object({ id: sandboxId });
const programNumber = z.coerce
  .number()
  .int()
  .min(1)
  .max(2 ** 32 - 1)
  .describe('Number of the program');
const oneProgram = one.extend({ program: programNumber });
const columns = z.coerce.number().int().min(1).max(1000).describe('Width of the terminal');
const rows = z.coerce.number().int().min(1).max(1000).describe('Height of the terminal');
const plainText = (max: number) =>
  z
    .string()
    .max(max)
    .refine((text) => !text.includes('\0'), 'no null bytes');

const programResult = z
  .object({
    program_id: z.number().int(),
    pid: z.number().int(),
    ended: z.boolean(),
    exit_code: z.number().int().nullable(),
    signal: z.string().nullable(),
    stdout: z.string().describe('What a terminal shows, for a program that has one'),
    stderr: z.string(),
    timed_out: z.boolean(),
  })
  .meta({ id: 'ProgramResult' });

const programInfo = z
  .object({
    program_id: z.number().int(),
    pid: z.number().int(),
    argv: z.array(z.string()),
    cwd: z.string(),
    tag: z.string(),
    started_at: timestamp,
    ended: z.boolean(),
    exit_code: z.number().int().nullable(),
    signal: z.string().nullable(),
    last_event: z.number().int().describe('Number of its last output so far'),
  })
  .meta({ id: 'Program' });

const programEvent = z
  .object({
    text: z.string().optional(),
    base64: z.string().optional(),
    before: z.number().int().optional(),
    exit_code: z.number().int().nullable().optional(),
    signal: z.string().nullable().optional(),
    error: z.string().optional(),
    message: z.string().optional(),
  })
  .describe(
    'event: stdout or stderr with text or base64, pty with base64, lost when output before a number is gone, end with exit_code and signal, error when the sandbox went away; id: to be sent as Last-Event-ID to go on from there',
  )
  .meta({ id: 'ProgramEvent' });

const execInput = one
  .extend({
    cmd: plainText(128 * 1024)
      .min(1)
      .optional()
      .describe('A line for bash'),
    argv: z
      .array(plainText(128 * 1024))
      .min(1)
      .max(1000)
      .optional()
      .describe('Words, instead of cmd; the first is the program'),
    env: z
      .record(z.string().regex(/^[A-Za-z_]\w{0,255}$/, 'a name of a variable'), plainText(128 * 1024))
      .default({})
      .describe('Variables of this program'),
    cwd: sandboxPath.default(homeFolder).describe('Folder it starts in'),
    user: z.string().default('user').describe('There is one user: user'),
    stdin: z.union([z.string(), z.boolean()]).default(false).describe('Text that it reads, or true to keep stdin open for …/stdin'),
    pty: z
      .object({ cols: columns.default(80), rows: rows.default(24) })
      .optional()
      .describe('Give it a terminal'),
    timeout: z
      .union([z.string().regex(/^\d{1,9}(\.\d{1,3})?(ms|s|m|h)$/), z.number().positive().max(86_400)])
      .optional()
      .describe('Time limit: seconds, or a text such as 90s; then it is killed'),
    wait: z.boolean().default(true).describe('Answer when it has ended'),
    tag: plainText(200).optional().describe('A name of your own'),
  })
  .strict();

export const sandboxProgramCommands = [
  command({
    name: 'sandbox.exec',
    summary: 'Run a program in a sandbox',
    description:
      'Waits for the end and answers with output and exit code; with wait: false it answers 202 at once, and the program goes on whether or not anybody listens.',
    scope: 'sandboxes:use',
    effect: 'change',
    input: execInput,
    output: { kind: 'json', schema: programResult, accepted: programResult },
    http: { method: 'POST', path: '/v1/sandboxes/:id/programs' },
    cli: {
      words: 'sandbox exec',
      args: ['id', 'command'],
      polished: true,
      examples: ['skillbox sandbox exec ID -- ls -la', 'skillbox sb exec ID --timeout 10s -- make test'],
    },
    run: (context, input) => withSandbox(context, input.id, (handle) => exec(context, handle, input)),
  }),

  command({
    name: 'sandbox.programs',
    summary: 'List the programs of a sandbox',
    scope: 'sandboxes:read',
    effect: 'read',
    input: one,
    output: { kind: 'json', schema: page(programInfo) },
    http: { method: 'GET', path: '/v1/sandboxes/:id/programs' },
    cli: { words: 'sandbox ps', args: ['id'], examples: ['skillbox sandbox ps ID'] },
    run: (context, { id }) =>
      withSandbox(context, id, async (handle) => ({ items: (await handle.programs()).map(programBody), next_cursor: null })),
  }),

  command({
    name: 'sandbox.program',
    summary: 'Show one program of a sandbox',
    scope: 'sandboxes:read',
    effect: 'read',
    input: oneProgram,
    output: { kind: 'json', schema: programInfo },
    http: { method: 'GET', path: '/v1/sandboxes/:id/programs/:program' },
    run: (context, { id, program }) => withSandbox(context, id, async (handle) => programBody(await infoOf(handle, program))),
  }),

  command({
    name: 'sandbox.output',
    summary: 'Read the output of a program',
    description:
      'Server-sent events from the beginning, or after Last-Event-ID; the stream ends when the program has. Text may not hold every byte that a program writes: encoding=base64 does.',
    scope: 'sandboxes:read',
    effect: 'read',
    input: oneProgram.extend({
      encoding: z.enum(['text', 'base64']).default('text').describe('How output is written'),
      follow: queryFlag(true).describe('false: end with what there is so far'),
    }),
    output: { kind: 'events', schema: programEvent },
    http: { method: 'GET', path: '/v1/sandboxes/:id/programs/:program/events' },
    cli: {
      words: 'sandbox logs',
      args: ['id', 'program'],
      polished: true,
      examples: ['skillbox sandbox logs ID 3', 'skillbox sandbox logs ID 3 --follow'],
    },
    async run(context, { id, program, encoding, follow }) {
      const { box, caller, lastEventId, signal } = context;
      const { handle, done } = await box.sandboxes.use(caller.tenant, id);
      try {
        const from = positionOf(lastEventId);
        const until = follow ? undefined : (await infoOf(handle, program)).lastNumber;
        const joined = await handle.join(program, from.number);
        return stream(
          joined,
          outputEvents(until === undefined ? joined.events : upTo(joined, until, from.number), encoding, from),
          signal,
          done,
        );
      } catch (error) {
        done();
        throw error;
      }
    },
  }),

  command({
    name: 'sandbox.stdin',
    summary: 'Write to the stdin of a program',
    description: 'Bytes as they are, or JSON: data as text or base64, and close to end it.',
    scope: 'sandboxes:use',
    effect: 'change',
    input: oneProgram.extend({
      data: z.string().optional(),
      encoding: z.enum(['text', 'base64']).default('text').describe('How data is written'),
      close: z.boolean().default(false).describe('End it after that'),
      body: rawBody.optional(),
    }),
    output: { kind: 'empty' },
    http: { method: 'POST', path: '/v1/sandboxes/:id/programs/:program/stdin', raw: 'unless-json' },
    run: (context, { id, program, data, encoding, close, body }) =>
      withSandbox(context, id, (handle) =>
        withProgram(handle, program, async (joined) => {
          if (data !== undefined) await joined.write(Buffer.from(data, encoding === 'base64' ? 'base64' : 'utf8'));
          if (body) await feed(joined, body);
          if (close) await joined.closeStdin();
        }),
      ),
  }),

  command({
    name: 'sandbox.stdin.close',
    summary: 'End the stdin of a program',
    scope: 'sandboxes:use',
    effect: 'change',
    input: oneProgram,
    output: { kind: 'empty' },
    http: { method: 'DELETE', path: '/v1/sandboxes/:id/programs/:program/stdin' },
    run: (context, { id, program }) => withSandbox(context, id, (handle) => withProgram(handle, program, (joined) => joined.closeStdin())),
  }),

  command({
    name: 'sandbox.signal',
    summary: 'Send a signal to a program and what it started',
    scope: 'sandboxes:use',
    effect: 'change',
    input: oneProgram
      .extend({
        signal: z
          .union([z.string().max(20), z.number().int()])
          .default('SIGTERM')
          .describe('Name or number'),
      })
      .strict(),
    output: { kind: 'empty' },
    http: { method: 'POST', path: '/v1/sandboxes/:id/programs/:program/signal' },
    cli: {
      words: 'sandbox kill',
      args: ['id', 'program'],
      examples: ['skillbox sandbox kill ID 3', 'skillbox sandbox kill ID 3 --signal KILL'],
    },
    run: (context, { id, program, signal }) =>
      withSandbox(context, id, async (handle) => {
        const number = signalNumber(signal);
        if ((await infoOf(handle, program)).ended) throw new BoxError('already_finished', `Program ${program} has ended.`);
        await handle.signal(program, number);
      }),
  }),

  command({
    name: 'sandbox.resize',
    summary: 'Resize the terminal of a program',
    scope: 'sandboxes:use',
    effect: 'change',
    input: oneProgram.extend({ cols: columns, rows }).strict(),
    output: { kind: 'empty' },
    http: { method: 'POST', path: '/v1/sandboxes/:id/programs/:program/resize' },
    run: (context, { id, program, cols, rows: height }) =>
      withSandbox(context, id, (handle) => withProgram(handle, program, (joined) => joined.resize(cols, height))),
  }),
];

async function exec({ box, signal }: CommandContext, handle: SandboxHandle, input: z.output<typeof execInput>): Promise<Reply> {
  if (input.user !== 'user') throw new BoxError('bad_request', `There is no user ${JSON.stringify(input.user)}: programs run as user.`);
  const timeoutMs = input.timeout === undefined ? undefined : parseDuration(input.timeout);
  const spec = programSpec(box.sandboxes.nextProgramId(input.id), {
    ...{ cmd: input.cmd, argv: input.argv, env: input.env, cwd: input.cwd, tag: input.tag, stdin: input.stdin !== false },
    pty: input.pty && { columns: input.pty.cols, rows: input.pty.rows },
  });
  const clock = await box.sandboxes.limitTime(input.id, spec.id, timeoutMs);
  const program = await handle.start(spec).catch((error) => {
    clock.stop();
    throw error;
  });
  metricsHistory(box.sandboxes).follow(input.id, handle);
  const headers = { Location: `/v1/sandboxes/${input.id}/programs/${program.id}` };
  const given = typeof input.stdin === 'string' ? feedText(program, input.stdin) : undefined;
  if (!input.wait) {
    await given;
    program.detach();
    return new Reply(resultBody(program, undefined, false), { status: 202, headers });
  }
  const [result] = await Promise.all([collect(program, box.config.maxLogSize, signal), given]);
  return new Reply(resultBody(program, result, clock.stop()), { headers });
}

/** A program that does not want what it is given, or not all of it, is no fault. */
async function feedText(program: Program, text: string): Promise<void> {
  try {
    if (text !== '') await program.write(Buffer.from(text));
    await program.closeStdin();
  } catch (error) {
    if (!(error instanceof BoxError)) throw error;
  }
}

async function feed(program: Program, body: Readable): Promise<void> {
  for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) await writePatiently(program, chunk);
}

/** A program that reads slowly makes the sender wait; one that reads nothing for long is given up. */
async function writePatiently(program: Program, chunk: Buffer): Promise<void> {
  const deadline = Date.now() + longestUnread;
  for (;;) {
    try {
      return await program.write(chunk);
    } catch (error) {
      if (!(error instanceof BoxError) || error.code !== 'unavailable' || Date.now() > deadline) throw error;
      await sleep(20);
    }
  }
}

function resultBody({ id, pid }: Program, result: ProgramResult | undefined, timedOut: boolean): z.input<typeof programResult> {
  return {
    program_id: id,
    pid,
    ended: result !== undefined,
    exit_code: result?.exitCode ?? null,
    signal: result?.signal ?? null,
    stdout: result?.stdout ?? '',
    stderr: result?.stderr ?? '',
    timed_out: timedOut,
  };
}

function programBody({
  id,
  pid,
  argv,
  cwd,
  tag,
  startedAt,
  ended,
  exitCode,
  signal,
  lastNumber,
}: ProgramInfo): z.input<typeof programInfo> {
  return {
    ...{ program_id: id, pid, argv: [...argv], cwd, tag, started_at: new Date(startedAt).toISOString() },
    ...{ ended, exit_code: exitCode, signal, last_event: lastNumber },
  };
}

async function infoOf(handle: SandboxHandle, id: number): Promise<ProgramInfo> {
  const info = (await handle.programs()).find((candidate) => candidate.id === id);
  if (info) return info;
  throw new BoxError('not_found', `There is no program ${id} in this sandbox.`);
}

/** What there is already; the program goes on without us. */
async function* upTo(program: Program, last: number, after: number): AsyncGenerator<import('../sandbox/living.ts').ProgramEvent> {
  if (after >= last) return program.detach();
  for await (const event of program.events) {
    yield event;
    if (event.type !== 'lost' && event.number >= last) return;
  }
}

/** Lets go of the sandbox when the stream ends or its reader is gone, be it before the first event. */
function stream(program: Program, events: AsyncIterable<StreamEvent>, signal: AbortSignal, done: () => void): AsyncGenerator<StreamEvent> {
  const release = (): void => {
    program.detach();
    done();
  };
  signal.addEventListener('abort', release, { once: true });
  return (async function* () {
    try {
      yield* events;
    } finally {
      signal.removeEventListener('abort', release);
      release();
    }
  })();
}
