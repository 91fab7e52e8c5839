/**
 * Programs of the graph that run in a sandbox: the box's own server makes it, so it must be up. They outlive whoever started them, and the
 * server: the guest keeps their last output and their exit code. Their output is written to their log by the server (sandboxed-output.ts).
 */

import { createHash, randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError, type Page, type Sandbox } from '@skillbox/protocol';
import { workspaceName } from '../sandbox/workspace/template.ts';
import { type BoxApi, localBox, requireLocalBox } from './box-api.ts';
import type { Program } from './graph.ts';
import type { Runtime } from './runtime.ts';
import { sandboxFor } from './sandbox-for.ts';
import { outputFile, writeOutputRecord } from './sandboxed-output.ts';

export interface SandboxedProgram {
  readonly sandbox: string;
  /** Of this start, never given again: not the number that the guest counts by, which begins anew with the sandbox. */
  readonly program: number;
}

interface ProgramInfo {
  readonly program_id: number;
  readonly tag: string;
  readonly ended: boolean;
  readonly exit_code: number | null;
  readonly signal: string | null;
}

interface ProgramResult {
  readonly exit_code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly timed_out: boolean;
}

/** In the environment of everything that a program starts, whatever session it moves to. */
const runVariable = 'SKILLBOX_PROGRAM_RUN';
const writtenMs = 1000;
const probeMs = 5000;

/** In the sandbox of that template and client, made when there is none. Output goes to the log file on the host. */
export async function startSandboxed(
  runtime: Runtime,
  program: Program,
  options: { id: string; client: string | undefined; log: string },
): Promise<SandboxedProgram> {
  const { stateRoot } = runtime.config;
  const { template } = program;
  if (template === undefined) throw new BoxError('internal', `${options.id} names no template to run in.`);
  const api = requireLocalBox(stateRoot);
  const sandbox = await sandboxFor(api, { template, client: options.client, stateRoot, note: (text) => runtime.progress(text) });
  const name = nameOf(options);
  await endFormer(api, sandbox, name);
  const run = newRun();
  const tag = tagOf(name, run);
  const { cwd } = program;
  const started = await api.request<{ program_id: number }>('POST', `/v1/sandboxes/${sandbox}/programs`, {
    argv: ['/bin/sh', '-c', program.command],
    env: { ...program.env, [runVariable]: String(run) },
    // What the sandbox does not see cannot be entered.
    ...(template === workspaceName && (cwd.inside || cwd.path !== cwd.hostPath) && { cwd: cwd.path }),
    wait: false,
    tag,
  });
  writeOutputRecord(stateRoot, run, { sandbox, program: started.program_id, tag, log: options.log, after: 0 });
  return { sandbox, program: run };
}

/**
 * Its exit code once it has ended, 128 and the signal for one that was killed; undefined while it runs, and while no server is there to ask:
 * what runs in a sandbox goes on without it. null when the sandbox is gone, or began anew.
 */
export async function exitOfSandboxed(runtime: Runtime, at: SandboxedProgram): Promise<number | null | undefined> {
  const api = localBox(runtime.config.stateRoot);
  if (!api) return undefined;
  let found: ProgramInfo | undefined;
  try {
    found = await findProgram(api, at);
  } catch (error) {
    if (isAway(error)) return undefined;
    throw error;
  }
  if (!found) return null;
  if (!found.ended) return undefined;
  // Its last words stand in the log before its end is told.
  const since = performance.now();
  while (existsSync(outputFile(runtime.config.stateRoot, at.program)) && performance.now() - since < writtenMs) await sleep(10);
  return found.exit_code ?? 128 + signalNumber(found.signal);
}

/** To its session, and to what it started that moved to another. Nothing, when it has ended. */
export async function signalSandboxed(runtime: Runtime, at: SandboxedProgram, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const api = requireLocalBox(runtime.config.stateRoot);
  const found = await findProgram(api, at);
  if (found && !found.ended) await signalProgram(api, at.sandbox, found.program_id, signal);
  if (found) await signalStrays(api, at.sandbox, at.program, signal);
}

/** Whether something listens there, and what http answers; for healthchecks. Without a path: 0 when a connection is taken. */
export async function probeSandboxed(
  runtime: Runtime,
  { sandbox }: SandboxedProgram,
  port: number,
  path: string | undefined,
): Promise<number | undefined> {
  const api = localBox(runtime.config.stateRoot);
  if (!api) return undefined;
  if (path !== undefined) return api.status(sandbox, port, path, probeMs).catch(nothing);
  const { exit } = await runIn(api, sandbox, ['/bin/bash', '-c', connects, String(port)], probeMs).catch(() => ({ exit: 1 }));
  return exit === 0 ? 0 : undefined;
}

/** A command beside it in the same sandbox, to its end; 124 when it took too long. */
export async function runBeside(
  runtime: Runtime,
  { sandbox }: Pick<SandboxedProgram, 'sandbox'>,
  command: string,
  timeoutMs: number,
): Promise<{ exit: number; output: string }> {
  return runIn(requireLocalBox(runtime.config.stateRoot), sandbox, ['/bin/sh', '-c', command], timeoutMs);
}

const connects = '(exec 3<>"/dev/tcp/127.0.0.1/$0") 2>/dev/null || (exec 3<>"/dev/tcp/::1/$0") 2>/dev/null';

/** A probe that comes to nothing is an answer: who asks says what is wrong. */
function nothing(error: unknown): undefined {
  if (error instanceof BoxError) return undefined;
  throw error;
}

/** The server that there was a moment ago. */
const isAway = (error: unknown): boolean =>
  error instanceof BoxError && ['unreachable', 'shutting_down', 'unavailable'].includes(error.code);

async function runIn(api: BoxApi, sandbox: string, argv: readonly string[], timeoutMs: number): Promise<{ exit: number; output: string }> {
  const timeout = `${Math.max(1, Math.ceil(timeoutMs))}ms`;
  const path = `/v1/sandboxes/${sandbox}/programs`;
  const ran = await api.request<ProgramResult>('POST', path, { argv, timeout, wait: true }, timeoutMs + probeMs);
  return { exit: ran.timed_out ? 124 : (ran.exit_code ?? 128), output: ran.stdout + ran.stderr };
}

/** Of a start whose starter was killed before it could write it down: two of one would get in each other's way. */
async function endFormer(api: BoxApi, sandbox: string, name: string): Promise<void> {
  for (const { program_id, tag, ended } of await programsIn(api, sandbox)) {
    const run = runOf(tag, name);
    if (run === undefined || ended) continue;
    await signalProgram(api, sandbox, program_id, 'SIGKILL');
    await signalStrays(api, sandbox, run, 'SIGKILL');
  }
}

async function signalProgram(api: BoxApi, sandbox: string, program: number, signal: string): Promise<void> {
  try {
    await api.request('POST', `/v1/sandboxes/${sandbox}/programs/${program}/signal`, { signal });
  } catch (error) {
    // It ended between the look and the signal.
    if (!(error instanceof BoxError) || (error.code !== 'already_finished' && error.code !== 'not_found')) throw error;
  }
}

/** Inside, by what stands in their environment; the one that looks has another. */
const strays = `for folder in /proc/[0-9]*; do
  if tr '\\0' '\\n' < "$folder/environ" 2>/dev/null | grep -qx "$1"; then kill -s "$2" "\${folder#/proc/}" 2>/dev/null; fi
done
true`;

async function signalStrays(api: BoxApi, sandbox: string, run: number, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const words = ['/bin/bash', '-c', strays, 'strays', `${runVariable}=${run}`, signal.slice('SIG'.length)];
  await runIn(api, sandbox, words, probeMs);
}

async function findProgram(api: BoxApi, { sandbox, program }: SandboxedProgram): Promise<ProgramInfo | undefined> {
  const all = await programsIn(api, sandbox);
  return all.find(({ tag }) => tag.startsWith(tagPrefix) && tag.endsWith(`:${program}`));
}

/** None where there is no such sandbox, or where it rests. */
async function programsIn(api: BoxApi, sandbox: string): Promise<readonly ProgramInfo[]> {
  try {
    // To ask what runs in one that is paused would wake it.
    const { state } = await api.request<Sandbox>('GET', `/v1/sandboxes/${sandbox}`);
    return state === 'ready' ? (await api.request<Page<ProgramInfo>>('GET', `/v1/sandboxes/${sandbox}/programs`)).items : [];
  } catch (error) {
    if (error instanceof BoxError && error.code === 'not_found') return [];
    throw error;
  }
}

const tagPrefix = 'graph:';
const tagOf = (name: string, run: number): string => `${tagPrefix}${name}:${run}`;
const runOf = (tag: string, name: string): number | undefined =>
  tag.startsWith(`${tagPrefix}${name}:`) ? Number(tag.slice(tagPrefix.length + name.length + 1)) : undefined;

/** A task and a service may have one id, and write to different logs. */
const nameOf = ({ id, client, log }: { id: string; client: string | undefined; log: string }): string =>
  createHash('sha256')
    .update(`${id}\0${client ?? ''}\0${log}`)
    .digest('hex')
    .slice(0, 12);

/** The time to the millisecond and three digits of chance. */
const newRun = (): number => Date.now() * 1000 + randomInt(1000);

const signals: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGABRT: 6,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGPIPE: 13,
  SIGTERM: 15,
};
const signalNumber = (name: string | null): number => signals[name ?? ''] ?? 0;
