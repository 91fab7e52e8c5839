/** A program as the contenders without a server start it: nothing piped, nothing inherited but complaints. */

import { spawn } from 'node:child_process';

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  /** All that it gets. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Only root can change it. */
  readonly uid?: number;
}

/** One way to run the skill. */
export interface Contender {
  /** Until the result is there. */
  run(): Promise<unknown>;
  /** Throws unless the last run gave what the skill must give. */
  check(): void;
  close(): Promise<void> | void;
}

/** The box was asked for more than it can do, and said so; nothing has run. */
export class Refused extends Error {}

/** Resolves when it has ended well. `descriptor` becomes its third. */
export function runCommand({ program, args, env, cwd, uid }: Command, descriptor?: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      ...{ env: { ...env }, cwd },
      ...(uid !== undefined && { uid, gid: uid }),
      stdio: ['ignore', 'ignore', 'inherit', ...(descriptor === undefined ? [] : [descriptor])],
    });
    child.once('error', reject);
    child.once('exit', (code, signal) => (code === 0 ? resolve() : reject(new Error(`${program} ended with ${code ?? signal}`))));
  });
}
