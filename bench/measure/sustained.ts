/** How many runs a second many callers get, each asking again as soon as it is answered. */

import { spawn } from 'node:child_process';
import type { Command, Contender } from '../contenders/command.ts';

/** Runs a second: asks for `ms`, and counts until the last answer. */
export async function rateOfCallers(callers: readonly Contender[], ms: number): Promise<number> {
  const started = performance.now();
  let done = 0;
  await Promise.all(
    callers.map(async (caller) => {
      while (performance.now() - started < ms) {
        await caller.run();
        done += 1;
      }
      caller.check();
    }),
  );
  return (done * 1000) / (performance.now() - started);
}

/**
 * The same for processes. Not started by Node, whose share of the two cores would count against them: xargs keeps `callers` of
 * them running, and fails when one of them does.
 */
export async function rateOfProcesses({ program, args, env, cwd, uid }: Command, callers: number, jobs: number): Promise<number> {
  const started = performance.now();
  await new Promise<void>((resolve, reject) => {
    const child = spawn('/usr/bin/xargs', ['-P', String(callers), '-n', '1', program, ...args], {
      ...{ env: { ...env }, cwd, stdio: ['pipe', 'ignore', 'inherit'] },
      ...(uid !== undefined && { uid, gid: uid }),
    });
    child.once('error', reject);
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`xargs ${program} ended with ${code}`))));
    child.stdin?.end(`${Array.from({ length: jobs }, (_, job) => job).join('\n')}\n`);
  });
  return (jobs * 1000) / (performance.now() - started);
}
