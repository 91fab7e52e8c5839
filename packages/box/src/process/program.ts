/** Starts a program in the background: in a session of its own, its output in a log file, and with no environment but what it is given. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync } from 'node:fs';
import { type Ending, rememberEnding } from './endings.ts';
import { type ProcessIdentity, readProcess } from './identity.ts';
import { openLogFile } from './log-file.ts';

export interface HostProgram {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  /** All of it: nothing of this process's own comes along. */
  readonly env: NodeJS.ProcessEnv;
  /** File that its output is appended to. */
  readonly log: string;
}

export interface StartedProgram {
  readonly identity: ProcessIdentity;
  /** Heard only by the process that started it. */
  readonly ended: Promise<Ending>;
}

/** It outlives this process, which must not be held up by it either. */
export async function startProgram({ argv: [file, ...args], cwd, env, log }: HostProgram): Promise<StartedProgram> {
  const output = openLogFile(log);
  try {
    const child = spawn(file, args, { cwd, env, detached: true, stdio: ['ignore', output, output] });
    if (child.pid === undefined) {
      const [error] = (await once(child, 'error')) as [Error];
      throw error;
    }
    // Not yet reaped, even if it ended already: its end is heard in a later turn of the loop.
    const identity = { pid: child.pid, startTime: readProcess(child.pid)?.startTime ?? '' };
    const ended = new Promise<Ending>((resolve) =>
      child.once('exit', (code, signal) => {
        rememberEnding(identity, { code, signal });
        resolve({ code, signal });
      }),
    );
    child.unref();
    return { identity, ended };
  } finally {
    closeSync(output);
  }
}
