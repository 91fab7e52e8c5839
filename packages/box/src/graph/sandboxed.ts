/**
 * Programs of the graph that run in a sandbox: the box's own server makes it, so it must be up. They outlive whoever started them, and the
 * server: the guest keeps their last output and their exit code. Their output is written to their log by the server (sandboxed-output.ts).
 */

import { createHash, randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError } from '@skillbox/protocol';
import type { Ending } from '../process/endings.ts';
import { reachGuest } from '../sandbox/without-server.ts';
import { workspaceName } from '../sandbox/workspace/template.ts';
import { localBox, requireLocalBox } from './box-api.ts';
import type { Program } from './graph.ts';
import type { Runtime } from './runtime.ts';
import { knownSandbox, sandboxFor } from './sandbox-for.ts';
import { askInside, byServer, type Inside, type InsideProgram, isAway, type RunEnd, type RunOptions, runIn } from './sandboxed-inside.ts';
import { outputFile, writeOutputRecord } from './sandboxed-output.ts';

export interface SandboxedProgram {
  readonly sandbox: string;
  /** Of this start, never given again: not the number that the guest counts by, which begins anew with the sandbox. */
  readonly program: number;
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
  const sandbox = await sandboxFor(api, {
    ...{ template, client: options.client, stateRoot, asking: runtime.inside },
    note: (text) => runtime.progress(text),
  });
  const name = nameOf(options);
  await endFormer(byServer(api, sandbox), name);
  const run = newRun();
  const tag = tagOf(name, run);
  const cwd = folderInside(program);
  const started = await api.request<{ program_id: number }>('POST', `/v1/sandboxes/${sandbox}/programs`, {
    argv: ['/bin/sh', '-c', program.command],
    env: { ...program.env, [runVariable]: String(run) },
    ...(cwd !== undefined && { cwd }),
    wait: false,
    tag,
  });
  writeOutputRecord(stateRoot, run, { sandbox, program: started.program_id, tag, log: options.log, after: 0 });
  return { sandbox, program: run };
}

/**
 * Its exit code once it has ended, 128 and the signal for one that was killed; undefined while it runs, and while nobody can be asked:
 * what runs in a sandbox goes on without the server. null when the sandbox is gone, or began anew.
 */
export async function exitOfSandboxed(runtime: Runtime, at: SandboxedProgram): Promise<number | null | undefined> {
  const end = await endOfSandboxed(runtime, at);
  return end && (end.code ?? 128 + signalNumber(end.signal));
}

/** The same with the name of the signal. */
export async function endOfSandboxed(runtime: Runtime, at: SandboxedProgram): Promise<Ending | null | undefined> {
  const { stateRoot } = runtime.config;
  let found: InsideProgram | undefined;
  try {
    found = await askInside(stateRoot, at.sandbox, (inside) => findProgram(inside, at));
  } catch (error) {
    if (isAway(error)) return undefined;
    throw error;
  }
  if (!found) return null;
  if (!found.ended) return undefined;
  // Its last words stand in the log before its end is told.
  const since = performance.now();
  while (localBox(stateRoot) && existsSync(outputFile(stateRoot, at.program)) && performance.now() - since < writtenMs) await sleep(10);
  return { code: found.exit_code, signal: found.signal };
}

/** To its session, and to what it started that moved to another. Nothing, when it has ended. */
export async function signalSandboxed(runtime: Runtime, at: SandboxedProgram, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  await askInside(runtime.config.stateRoot, at.sandbox, async (inside) => {
    const found = await findProgram(inside, at);
    if (found && !found.ended) await inside.signal(found.program_id, signal);
    if (found) await signalStrays(inside, at.program, signal);
  });
}

/**
 * Whether something listens there, and what http answers; for healthchecks. Without a path: 0 when a connection is taken. Throws
 * unreachable when no server is there to ask.
 */
export async function probeSandboxed(
  runtime: Runtime,
  { sandbox }: Pick<SandboxedProgram, 'sandbox'>,
  port: number,
  path: string | undefined,
): Promise<number | undefined> {
  const api = requireLocalBox(runtime.config.stateRoot);
  if (path !== undefined) return api.status(sandbox, port, path, probeMs).catch(nothing);
  const ran = await runIn(api, sandbox, ['/bin/bash', '-c', connects, String(port)], { timeoutMs: probeMs }).catch(nothing);
  return ran?.exit === 0 ? 0 : undefined;
}

/** A command beside it in the same sandbox, to its end. */
export async function runBeside(
  runtime: Runtime,
  { sandbox }: Pick<SandboxedProgram, 'sandbox'>,
  command: string,
  options: RunOptions,
): Promise<RunEnd> {
  return runIn(requireLocalBox(runtime.config.stateRoot), sandbox, ['/bin/sh', '-c', command], options);
}

/** The folder that a program begins in there; undefined: the usual one, since what the sandbox does not see cannot be entered. */
export const folderInside = ({ template, cwd }: Pick<Program, 'template' | 'cwd'>): string | undefined =>
  template === workspaceName && (cwd.inside || cwd.path !== cwd.hostPath) ? cwd.path : undefined;

/** The sandbox that programs of this template and client share, if it runs: to look must not start it. */
export async function standingSandbox(runtime: Runtime, template: string, client: string | undefined): Promise<string | undefined> {
  const { stateRoot } = runtime.config;
  const api = localBox(stateRoot);
  const sandbox = api && (await knownSandbox(api, { template, client }));
  return sandbox !== undefined && (await reachGuest(stateRoot, sandbox)) !== 'gone' ? sandbox : undefined;
}

const connects = '(exec 3<>"/dev/tcp/127.0.0.1/$0") 2>/dev/null || (exec 3<>"/dev/tcp/::1/$0") 2>/dev/null';

/** A probe that comes to nothing is an answer: who asks says what is wrong. That nobody could be asked is none. */
function nothing(error: unknown): undefined {
  if (error instanceof BoxError && !isAway(error)) return undefined;
  throw error;
}

/** Of a start whose starter was killed before it could write it down: two of one would get in each other's way. */
async function endFormer(inside: Inside, name: string): Promise<void> {
  for (const { program_id, tag, ended } of await inside.programs()) {
    const run = runOf(tag, name);
    if (run === undefined || ended) continue;
    await inside.signal(program_id, 'SIGKILL');
    await signalStrays(inside, run, 'SIGKILL');
  }
}

/** Inside, by what stands in their environment; the one that looks has another. */
const strays = `for folder in /proc/[0-9]*; do
  if tr '\\0' '\\n' < "$folder/environ" 2>/dev/null | grep -qx "$1"; then kill -s "$2" "\${folder#/proc/}" 2>/dev/null; fi
done
true`;

const signalStrays = (inside: Inside, run: number, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> =>
  inside.run(['/bin/bash', '-c', strays, 'strays', `${runVariable}=${run}`, signal.slice('SIG'.length)]);

async function findProgram(inside: Inside, { program }: SandboxedProgram): Promise<InsideProgram | undefined> {
  const all = await inside.programs();
  return all.find(({ tag }) => tag.startsWith(tagPrefix) && tag.endsWith(`:${program}`));
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
