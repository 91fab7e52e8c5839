/** A program that runs to its end: a task or a bridge, on the host or in its sandbox. */

import { randomBytes } from 'node:crypto';
import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError } from '@skillbox/protocol';
import { readJsonFile, writeRunFile } from '../../private-file.ts';
import type { ProcessIdentity } from '../../process/identity.ts';
import { rotateLog, sizeOfFile, tailOfFile } from '../../process/log-file.ts';
import { startProgram } from '../../process/program.ts';
import { readProcessTable } from '../../process/table.ts';
import { endTree, findLeader, runVariable } from '../../process/tree.ts';
import type { Graph, Program } from '../graph.ts';
import type { Runtime } from '../runtime.ts';
import { exitOfSandboxed, signalSandboxed, startSandboxed } from '../sandboxed.ts';
import { hostEnvironment } from './environment.ts';
import { missingProgram } from './first-word.ts';

export interface RunOptions {
  /** For messages, such as task seed. */
  readonly name: string;
  readonly id: string;
  readonly client: string | undefined;
  readonly log: string;
  readonly timeoutMs: number;
  /** File that says what became of it, and what runs of it. */
  readonly record: string;
  readonly definition: string;
}

export interface RunEnd {
  /** null: it was ended, for being late or with its sandbox. */
  readonly exit: number | null;
  readonly late: boolean;
  readonly tail: string[];
}

export interface RunRecord {
  readonly definition: string;
  /** While it runs. */
  readonly run?: string | undefined;
  readonly process?: ProcessIdentity | undefined;
  /** How the last run ended. */
  readonly exit?: number | null;
  readonly endedAt?: string;
}

const pollMs = 200;
const patienceMs = 2000;
const tailLines = 40;

export const readRunRecord = (file: string): RunRecord | undefined => readJsonFile<RunRecord>(file);

/** When it is interrupted, what runs of it is ended, and the reason thrown. */
export async function runToEnd(runtime: Runtime, graph: Graph, program: Program, options: RunOptions): Promise<RunEnd> {
  const { log, record, definition } = options;
  mkdirSync(dirname(record), { recursive: true, mode: 0o700 });
  await endLeftovers(record);
  rotateLog(log);
  const before = sizeOfFile(log);
  const run =
    program.template === undefined ? await runOnHost(runtime, graph, program, options) : await runInside(runtime, program, options);
  writeRecord(record, { definition, exit: run.exit, endedAt: new Date().toISOString() });
  runtime.signal.throwIfAborted();
  return { ...run, tail: tailOfFile(log, tailLines, before) };
}

type Ended = Omit<RunEnd, 'tail'>;

async function runOnHost(runtime: Runtime, graph: Graph, { command, cwd, env: own }: Program, options: RunOptions): Promise<Ended> {
  const { name, log, timeoutMs, record, definition } = options;
  const env = hostEnvironment(runtime.config, graph, own);
  requireHostGround(name, cwd);
  const missing = missingProgram(command, cwd.hostPath, env.PATH ?? '');
  if (missing !== undefined) throw new BoxError('command_missing', `${capital(name)} cannot run: ${missing} was not found.`);
  const run = randomBytes(16).toString('hex');
  // Before it is there, so that the next one finds it when this process is killed in between.
  writeRecord(record, { definition, run });
  const started = await startProgram({
    argv: ['/bin/sh', '-c', command],
    cwd: cwd.hostPath,
    env: { ...env, [runVariable]: run },
    log,
  });
  writeRecord(record, { definition, run, process: started.identity });
  const limit = over(runtime.signal, timeoutMs);
  const ending = await Promise.race([started.ended, limit.reached]);
  limit.clear();
  // In either case: what a task leaves running behind it would be nobody's.
  await endTree({ leader: started.identity, run }, { patienceMs });
  return ending === 'over' ? { exit: null, late: !runtime.signal.aborted } : { exit: ending.code, late: false };
}

async function runInside(runtime: Runtime, program: Program, { id, client, log, timeoutMs }: RunOptions): Promise<Ended> {
  const at = await startSandboxed(runtime, program, { id, client, log });
  const since = performance.now();
  for (;;) {
    const exit = await exitOfSandboxed(runtime, at);
    if (exit !== undefined) return { exit, late: false };
    if (performance.now() - since > timeoutMs || runtime.signal.aborted) break;
    await sleep(pollMs);
  }
  await signalSandboxed(runtime, at, 'SIGTERM');
  await sleep(patienceMs);
  if ((await exitOfSandboxed(runtime, at)) === undefined) await signalSandboxed(runtime, at, 'SIGKILL');
  return { exit: null, late: !runtime.signal.aborted };
}

/** What a killed command of the graph left running: two of the same at once would be in each other's way. */
async function endLeftovers(file: string): Promise<void> {
  const { run, process: known } = readRunRecord(file) ?? {};
  if (run === undefined) return;
  const leader = known ?? findLeader(run, readProcessTable());
  if (leader) await endTree({ leader, run }, { patienceMs });
}

function requireHostGround(name: string, cwd: Program['cwd']): void {
  const why = cwd.inside
    ? `its folder ${cwd.path} lies in the workspace, and it names no template to run in`
    : statSync(cwd.hostPath, { throwIfNoEntry: false })?.isDirectory()
      ? undefined
      : `its folder ${cwd.hostPath} is not there`;
  if (why !== undefined) throw new BoxError('LOCAL_RUNTIME_START_BLOCKED', `${capital(name)} cannot run: ${why}.`);
}

/** Its timer keeps this process alive meanwhile: the program itself does not. */
function over(signal: AbortSignal, timeoutMs: number): { readonly reached: Promise<'over'>; clear(): void } {
  let clear = (): void => undefined;
  const reached = new Promise<'over'>((resolve) => {
    const end = (): void => resolve('over');
    const timer = setTimeout(end, timeoutMs);
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    clear = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
    };
  });
  return { reached, clear };
}

const writeRecord = (file: string, record: RunRecord): void => writeRunFile(file, `${JSON.stringify(record)}\n`);
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
