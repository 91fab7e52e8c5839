/** What every operation on the graph needs: where things are, who is told of progress, and one at a time. */

import { createHash } from 'node:crypto';
import { mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError, type WorkStep } from '@skillbox/protocol';
import type { Config } from '../config.ts';
import { readJsonFile, writePrivateFile } from '../private-file.ts';
import { type AbstractLock, tryLock } from '../process/abstract-lock.ts';
import { identify, isAlive } from '../process/identity.ts';

export interface Runtime {
  readonly config: Config;
  /** Whether the server of the box does it: then it must not stop itself. */
  readonly server: boolean;
  /** The sandbox that asks for it, through its channel: it must not lose the ground it stands on, nor the supervisor of the operator. */
  readonly inside?: string | undefined;
  /** One line about what goes on now; `step`: the part of the work that began or ended with it. */
  progress(text: string, step?: WorkStep): void;
  /** Aborts when the caller goes away or interrupts. */
  readonly signal: AbortSignal;
}

/** Machine-local state of the graph: services' records, pulse, locks. */
export const graphFolder = (stateRoot: string): string => join(stateRoot, 'run', 'graph');
export const runtimeLogFolder = (stateRoot: string): string => join(stateRoot, 'logs', 'runtime');
export const serviceLogFolder = (stateRoot: string): string => join(stateRoot, 'logs', 'services');

const pollMs = 50;

interface Holder {
  readonly pid: number;
  readonly startTime: string;
  readonly what: string;
}

/**
 * One change of the graph at a time. The kernel frees the lock with the process that holds it, so a dead owner holds nothing;
 * who waits is told for whom.
 */
export async function exclusively<T>(runtime: Runtime, what: string, work: () => Promise<T>, patienceMs = 600_000): Promise<T> {
  const { stateRoot } = runtime.config;
  mkdirSync(graphFolder(stateRoot), { recursive: true, mode: 0o700 });
  const file = join(graphFolder(stateRoot), 'holder.json');
  const lock = await acquire(runtime, file, what, patienceMs);
  try {
    const self = identify(process.pid);
    writePrivateFile(file, `${JSON.stringify({ ...self, what })}\n`);
    return await work();
  } finally {
    lock.release();
  }
}

/** Whether somebody changes the graph at this moment: what one sees may be half of it. */
export async function isGraphBusy(stateRoot: string): Promise<boolean> {
  const lock = await tryLock(lockName('graph', stateRoot));
  lock?.release();
  return lock === undefined;
}

/** The same for whichever way leads to the state root. */
export const lockName = (what: string, stateRoot: string): string =>
  `${what}-${createHash('sha256').update(realpathSync(stateRoot)).digest('hex').slice(0, 32)}`;

async function acquire(runtime: Runtime, file: string, what: string, patienceMs: number): Promise<AbstractLock> {
  const name = lockName('graph', runtime.config.stateRoot);
  const since = performance.now();
  for (;;) {
    const lock = await tryLock(name);
    if (lock) return lock;
    const holder = readJsonFile<Holder>(file);
    const who = holder && isAlive(holder) ? `skillbox ${holder.what} (pid ${holder.pid})` : 'another command of the graph';
    runtime.signal.throwIfAborted();
    if (performance.now() - since > patienceMs) throw new BoxError('graph_busy', `${who} is at work; skillbox ${what} did not begin.`);
    runtime.progress(`Waiting for ${who}`);
    await sleep(pollMs);
  }
}
