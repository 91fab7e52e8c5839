/** A command of a check: it runs to its end within a short time, and only its exit code and last words matter. */

import { spawn } from 'node:child_process';

export interface ShortRun {
  /** null: it took too long and was ended. */
  readonly exit: number | null;
  /** Its last words, on one line. */
  readonly output: string;
}

const keptBytes = 2000;

export function runShort(command: string, cwd: string, env: NodeJS.ProcessEnv, timeoutMs: number): Promise<ShortRun> {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', command], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    let late = false;
    const take = (bytes: Buffer): void => {
      output = (output + bytes.toString('utf8')).slice(-keptBytes);
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    const timer = setTimeout(() => {
      late = true;
      // Its whole group: it was made for it, and its leader is our own child, not yet reaped.
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    }, timeoutMs);
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once('exit', (code) => {
      clearTimeout(timer);
      // What it left behind may hold the pipes open for ever.
      child.stdout.destroy();
      child.stderr.destroy();
      resolve({ exit: late ? null : (code ?? 1), output: output.trim().split('\n').at(-1)?.trim() ?? '' });
    });
  });
}
