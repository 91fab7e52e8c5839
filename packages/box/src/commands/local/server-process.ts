/** The server as a process in the background: started detached, found by its record, ended by pid and start time. */

import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config.ts';
import { inheritedEnv } from '../../config.ts';
import { isAlive, type ProcessIdentity } from '../../process/identity.ts';
import { makeStateRoot, readServerRecord, type ServerRecord } from '../../state.ts';

export const serverLogFile = (stateRoot: string): string => join(stateRoot, 'logs', 'server.log');

export interface StartedServer {
  /** The record once it listens; its exit code when it ended before that, null for a signal. */
  readonly settled: Promise<ServerRecord | number | null>;
  /** What this start wrote to the log. */
  logTail(): string;
  /** For who gives up before it is there. */
  stop(): void;
}

const pollMs = 25;
const tailLines = 20;

/** `flags` are those of this call, which the server must see as well. */
export function startServerProcess(config: Config, flags: Readonly<Record<string, string | undefined>>): StartedServer {
  makeStateRoot(config.stateRoot);
  const file = serverLogFile(config.stateRoot);
  const log = openSync(file, 'a', 0o600);
  const before = sizeOf(file);
  const args = Object.entries(flags).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
  const child = spawn(process.execPath, [process.argv[1] ?? '', 'serve', ...args], {
    cwd: config.baseDir,
    detached: true,
    stdio: ['ignore', log, log],
    env: inheritedEnv(),
  });
  closeSync(log);
  child.unref();
  return {
    settled: waitForRecord(config.stateRoot, child),
    logTail: () => readFileSync(file).subarray(before).toString('utf8').trimEnd().split('\n').slice(-tailLines).join('\n'),
    stop: () => void child.kill('SIGTERM'),
  };
}

/** Ends it in order; `true` when it had to be killed. */
export async function stopServerProcess(server: ProcessIdentity, patienceMs: number, onWait: (ms: number) => void): Promise<boolean> {
  const since = performance.now();
  // Between the look and the signal a pid cannot come to belong to somebody else in practice; the start time excludes the rest.
  if (isAlive(server)) process.kill(server.pid, 'SIGTERM');
  while (isAlive(server)) {
    const waited = performance.now() - since;
    if (waited > patienceMs) break;
    onWait(waited);
    await sleep(pollMs);
  }
  if (!isAlive(server)) return false;
  process.kill(server.pid, 'SIGKILL');
  while (isAlive(server)) await sleep(pollMs);
  return true;
}

async function waitForRecord(stateRoot: string, child: ChildProcess): Promise<ServerRecord | number | null> {
  let failed = false;
  child.once('error', () => {
    failed = true;
  });
  while (!failed && child.exitCode === null && child.signalCode === null) {
    const record = readServerRecord(stateRoot);
    if (record && record.pid === child.pid) return record;
    await sleep(pollMs);
  }
  return child.exitCode;
}

function sizeOf(file: string): number {
  return existsSync(file) ? readFileSync(file).length : 0;
}
