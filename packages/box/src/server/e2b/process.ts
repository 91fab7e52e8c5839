/** The service `process.Process`: programs of a sandbox by their pid or tag. */

import { constants } from 'node:os';
import { BoxError } from '@skillbox/protocol';
import { z } from 'zod';
import type { Program, ProgramEvent, ProgramInfo, ProgramSpec, SandboxHandle } from '../../sandbox/living.ts';
import { programSpec, withProgram } from '../../sandbox/programs.ts';
import { type Method, stream, unary } from './method.ts';
import { resolvePath } from './paths.ts';
import { RpcError } from './rpc-error.ts';
import { noteHeard, wasHeard } from './unheard-ends.ts';
import type { Use } from './use.ts';

const selector = z.object({ pid: z.number().int().optional(), tag: z.string().optional() });
type Selected = z.output<typeof selector>;
const size = z.object({ cols: z.number().int().min(1).max(65535), rows: z.number().int().min(1).max(65535) });
const terminal = z.object({ size: size.optional() });
const text = z.string().regex(/^[^\0]*$/, 'must not have a null byte');

const startRequest = z.object({
  process: z.object({
    cmd: text.min(1),
    args: z.array(text).default([]),
    envs: z.record(z.string().regex(/^[^\0=]+$/), text).default({}),
    cwd: text.optional(),
  }),
  pty: terminal.optional(),
  tag: text.optional(),
  stdin: z.boolean().optional(),
});

const keepalive = { event: { keepalive: {} } };
const signals: Record<string, number> = {
  SIGNAL_SIGKILL: constants.signals.SIGKILL,
  SIGNAL_SIGTERM: constants.signals.SIGTERM,
  9: constants.signals.SIGKILL,
  15: constants.signals.SIGTERM,
};

export const processMethods: Record<string, Method> = {
  Start: stream(startRequest, keepalive, start),
  Connect: stream(z.object({ process: selector }), keepalive, async function* (use, { process }) {
    const { id, ended, lastNumber } = await findToJoin(use, process);
    yield* follow(use, await use.handle.join(id, ended ? 0 : lastNumber));
  }),
  List: unary(z.unknown(), async ({ handle }) => ({ processes: (await running(handle)).map(describe) })),
  SendInput: unary(
    z.object({ process: selector, input: z.object({ stdin: z.base64().optional(), pty: z.base64().optional() }) }),
    ({ handle }, { process, input }) =>
      tell(handle, process, (program) => program.write(Buffer.from(input.pty ?? input.stdin ?? '', 'base64'))),
  ),
  CloseStdin: unary(z.object({ process: selector }), ({ handle }, { process }) => tell(handle, process, (program) => program.closeStdin())),
  SendSignal: unary(z.object({ process: selector, signal: z.union([z.string(), z.number()]) }), async ({ handle }, { process, signal }) => {
    const number = signals[signal];
    if (number === undefined) throw new RpcError('invalid_argument', `The signal ${signal} cannot be sent.`);
    await handle.signal((await find(handle, process)).id, number);
    return {};
  }),
  Update: unary(z.object({ process: selector, pty: terminal.optional() }), ({ handle }, { process, pty }) =>
    tell(handle, process, async (program) => {
      if (pty?.size) await program.resize(pty.size.cols, pty.size.rows);
    }),
  ),
};

/** The program outlives the caller who goes away, but not the time the caller gave it. */
async function* start(use: Use, message: z.output<typeof startRequest>, timeoutMs: number | undefined): AsyncGenerator<unknown> {
  const { box, handle, sandbox } = use;
  const { args, cmd, cwd, envs } = message.process;
  const { cols = 80, rows = 24 } = message.pty?.size ?? {};
  const spec = programSpec(box.sandboxes.nextProgramId(sandbox.id), {
    argv: [cmd, ...args],
    env: envs,
    cwd: resolvePath(cwd ?? ''),
    // Callers from before the field existed expect to write.
    stdin: message.stdin ?? true,
    pty: message.pty && { columns: cols, rows },
    tag: message.tag,
  });
  const limit = await box.sandboxes.limitTime(sandbox.id, spec.id, timeoutMs);
  const program = await startIn(handle, spec).catch((error) => {
    limit.stop();
    throw error;
  });
  let late = false;
  const onEnd = (): void => {
    late = limit.stop();
  };
  for await (const event of follow(use, program, onEnd)) {
    if (late) throw new RpcError('deadline_exceeded', `The program ran longer than ${timeoutMs} ms and was ended.`);
    yield event;
  }
}

async function startIn(handle: SandboxHandle, spec: ProgramSpec): Promise<Program> {
  try {
    return await handle.start(spec);
  } catch (error) {
    if (!(error instanceof BoxError) || error.code !== 'not_found') throw error;
    const folder = await handle.files.stat(spec.cwd).catch(() => undefined);
    if (folder?.kind !== 'directory') throw new RpcError('invalid_argument', `There is no folder ${spec.cwd}.`);
    throw new RpcError('invalid_argument', error.message);
  }
}

async function* follow(use: Use, program: Program, onEnd?: () => void): AsyncGenerator<unknown> {
  const { signal } = use;
  const detach = (): void => program.detach();
  signal.addEventListener('abort', detach, { once: true });
  try {
    yield { event: { start: { pid: program.pid } } };
    for await (const event of program.events) {
      if (event.type === 'end') onEnd?.();
      const message = toMessage(event);
      if (message) yield message;
      if (event.type === 'end') noteHeard(use, program.id);
    }
  } catch (error) {
    // Detaching ends the connection under the iteration.
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener('abort', detach);
    program.detach();
  }
}

function toMessage(event: ProgramEvent): unknown {
  if (event.type === 'lost') return undefined;
  if (event.type !== 'end') return { event: { data: { [event.type]: event.bytes.toString('base64') } } };
  if (event.signal === null) {
    const exitCode = event.exitCode ?? -1;
    const status = `exit status ${exitCode}`;
    return { event: { end: { exitCode, exited: true, status, ...(exitCode !== 0 && { error: status }) } } };
  }
  const status = `signal: ${signalWords[event.signal] ?? event.signal.slice(3).toLowerCase()}`;
  return { event: { end: { exitCode: -1, exited: false, status, error: status } } };
}

const signalWords: Record<string, string> = {
  SIGKILL: 'killed',
  SIGTERM: 'terminated',
  SIGINT: 'interrupt',
  SIGHUP: 'hangup',
  SIGSEGV: 'segmentation fault',
  SIGABRT: 'aborted',
  SIGPIPE: 'broken pipe',
};

async function tell(handle: SandboxHandle, selected: Selected, action: (program: Program) => Promise<void>): Promise<object> {
  await withProgram(handle, (await find(handle, selected)).id, action);
  return {};
}

async function find(handle: SandboxHandle, selected: Selected): Promise<ProgramInfo> {
  const { pid, tag } = selected;
  const found = (await running(handle)).find((program) => isSelected(program, selected));
  if (!found) throw new RpcError('not_found', `There is no running program with ${pid === undefined ? `tag ${tag}` : `pid ${pid}`}.`);
  return found;
}

/** What runs, or what ended while nobody listened. */
async function findToJoin(use: Use, selected: Selected): Promise<ProgramInfo> {
  const all = await use.handle.programs();
  const unheard = all.filter((program) => program.ended && isSelected(program, selected) && !wasHeard(use, program.id));
  const runs = all.some((program) => !program.ended && isSelected(program, selected));
  return (runs ? undefined : unheard.at(-1)) ?? find(use.handle, selected);
}

const isSelected = (program: ProgramInfo, { pid, tag }: Selected): boolean =>
  pid === undefined ? tag !== undefined && tag !== '' && program.tag === tag : program.pid === pid;

const running = async (handle: SandboxHandle): Promise<ProgramInfo[]> => (await handle.programs()).filter(({ ended }) => !ended);

function describe({ argv: [cmd = '', ...args], cwd, pid, tag }: ProgramInfo): unknown {
  return { config: { cmd, args, envs: {}, cwd }, pid, ...(tag && { tag }) };
}
