/** Ends what a record names. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type EndOfTree, endTree } from '../../process/tree.ts';
import type { Runtime } from '../runtime.ts';
import { exitOfSandboxed, type SandboxedProgram, signalSandboxed } from '../sandboxed.ts';
import type { ServiceRecord } from './records.ts';
import { runningOf, sandboxOf } from './running.ts';

const pollMs = 100;
const killMs = 5000;

/** What is left of it too, when its first process is gone but others of it are not. */
export async function endRecorded(
  runtime: Runtime,
  record: ServiceRecord,
  patienceMs: number,
  onWait?: (ms: number) => void,
): Promise<EndOfTree> {
  const at = sandboxOf(record);
  if (at) return endSandboxed(runtime, at, patienceMs, onWait);
  const leader = (await runningOf(runtime, { own: undefined }, record))?.process ?? record.process;
  return leader ? endTree({ leader, run: record.run }, { patienceMs, ...(onWait && { onWait }) }) : 'gone';
}

async function endSandboxed(runtime: Runtime, at: SandboxedProgram, patienceMs: number, onWait?: (ms: number) => void): Promise<EndOfTree> {
  const runs = async (): Promise<boolean> => (await exitOfSandboxed(runtime, at)) === undefined;
  const wait = async (ms: number): Promise<boolean> => {
    const since = performance.now();
    while (await runs()) {
      if (performance.now() - since > ms) return false;
      onWait?.(performance.now() - since);
      await sleep(pollMs);
    }
    return true;
  };
  if (!(await runs())) return 'gone';
  await signalSandboxed(runtime, at, 'SIGTERM');
  if (await wait(patienceMs)) return 'stopped';
  await signalSandboxed(runtime, at, 'SIGKILL');
  return (await wait(killMs)) ? 'killed' : 'stuck';
}
