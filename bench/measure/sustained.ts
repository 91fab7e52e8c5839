/** How many runs a second many callers get, each asking again as soon as it is answered. */

import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { type Command, type Contender, Refused } from '../contenders/command.ts';

/** Who is refused asks again after this long; only what ran counts. */
const patienceMs = 100;

/** Runs a second: asks for `ms`, and counts until the last answer. */
export async function rateOfCallers(callers: readonly Contender[], ms: number): Promise<number> {
  const started = performance.now();
  let done = 0;
  await Promise.all(
    callers.map(async (caller) => {
      while (performance.now() - started < ms) {
        const ran = await caller.run().then(
          () => true,
          async (error: unknown) => {
            if (!(error instanceof Refused)) throw error;
            await delay(patienceMs);
            return false;
          },
        );
        if (!ran) continue;
        caller.check();
        done += 1;
      }
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
