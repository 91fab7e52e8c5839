/** Programs of the graph that run in a sandbox: the box's own server makes it, so it must be up. */

import type { Program } from './graph.ts';
import type { Runtime } from './runtime.ts';

export interface SandboxedProgram {
  readonly sandbox: string;
  readonly program: number;
}

/** In the sandbox of that template and client, made when there is none. Output goes to the log file on the host. */
export async function startSandboxed(
  _runtime: Runtime,
  _program: Program,
  _options: { id: string; client: string | undefined; log: string },
): Promise<SandboxedProgram> {
  throw new Error('being written');
}

/** Its exit code once it has ended; undefined while it runs; null when the sandbox is gone. */
export async function exitOfSandboxed(_runtime: Runtime, _at: SandboxedProgram): Promise<number | null | undefined> {
  throw new Error('being written');
}

export async function signalSandboxed(_runtime: Runtime, _at: SandboxedProgram, _signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  throw new Error('being written');
}

/** Whether something listens there, and what http answers; for healthchecks. */
export async function probeSandboxed(
  _runtime: Runtime,
  _at: SandboxedProgram,
  _port: number,
  _path: string | undefined,
): Promise<number | undefined> {
  throw new Error('being written');
}

/** A command beside it in the same sandbox, to its end. */
export async function runBeside(
  _runtime: Runtime,
  _at: Pick<SandboxedProgram, 'sandbox'>,
  _command: string,
  _timeoutMs: number,
): Promise<{ exit: number; output: string }> {
  throw new Error('being written');
}
