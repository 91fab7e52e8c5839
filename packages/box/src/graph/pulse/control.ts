/** Pulse from outside: look at it, start it in the background, stop it. */

import { mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorKinds, type PulseStatus } from '@skillbox/protocol';
import type { Config } from '../../config.ts';
import { endProcess } from '../../process/tree.ts';
import { startOwnProgram } from '../programs/own-program.ts';
import { type Runtime, runtimeLogFolder } from '../runtime.ts';
import { asPulseStatus, livingPulse, readPulseState, writePulseState } from './state.ts';
import { pulseLogBounds, pulseLogFile } from './upkeep.ts';

/** A cold disk and a busy machine; it usually takes a fifth of a second. */
const startMs = 20_000;
/** It lets a start that is under way come to its end. */
const stopMs = 10_000;
const pollMs = 20;

/** Reads only. */
export async function pulse({ config }: Pick<Runtime, 'config'>): Promise<PulseStatus> {
  const state = readPulseState(config.stateRoot);
  // Before the first start: what it would be.
  return asPulseStatus(state.updated_at === null ? { ...state, interval: config.pulseInterval / 1000 } : state);
}

/** Harmless when it runs already; with another interval than it has it begins anew. */
export async function startPulse(
  runtime: Pick<Runtime, 'config' | 'signal'>,
  { interval }: { interval?: number | undefined } = {},
): Promise<PulseStatus> {
  const { config, signal } = runtime;
  const state = readPulseState(config.stateRoot);
  if (livingPulse(state)) {
    if (interval === undefined || interval === state.interval) return asPulseStatus(state);
    await endPulse(config);
  }
  mkdirSync(runtimeLogFolder(config.stateRoot), { recursive: true, mode: 0o700 });
  const log = pulseLogFile(config.stateRoot);
  const started = await startOwnProgram(config, wordsOf(config, interval), log, pulseLogBounds);
  for (const since = performance.now(); performance.now() - since < startMs && !signal.aborted; ) {
    const seen = readPulseState(config.stateRoot);
    const living = livingPulse(seen);
    const ending = started.ending();
    // Ours, or that of another who started it at the same moment.
    if (living && (living.pid === started.identity.pid || ending?.code === errorKinds.already_running.exit)) return asPulseStatus(seen);
    if (ending && ending.code !== errorKinds.already_running.exit) break;
    await sleep(pollMs);
  }
  await endProcess(started.identity, { patienceMs: stopMs });
  signal.throwIfAborted();
  throw started.failure('Pulse');
}

/** Services go on; nobody starts them again when they fall, and nobody starts pulse by itself until up or pulse start. */
export async function stopPulse({ config }: Pick<Runtime, 'config'>): Promise<PulseStatus> {
  await endPulse(config);
  const state = readPulseState(config.stateRoot);
  // One that never ran leaves nothing to write down.
  if (state.updated_at === null) return pulse({ config });
  const stopped = { ...state, pid: null, start_time: null, stopped: true };
  writePulseState(config.stateRoot, stopped);
  return asPulseStatus(stopped);
}

async function endPulse({ stateRoot }: Config): Promise<void> {
  const living = livingPulse(readPulseState(stateRoot));
  // By pid and start time: a pid alone may long be somebody else's.
  if (living) await endProcess(living, { patienceMs: stopMs });
}

/** What it must see as this process sees it, whoever gave it: a flag, the environment or a file. */
function wordsOf({ stateRoot, manifest }: Config, interval: number | undefined): string[] {
  return [
    ...['pulse', 'run', '--state-root', stateRoot],
    ...(manifest === undefined ? [] : ['--manifest', manifest]),
    ...(interval === undefined ? [] : ['--interval', String(interval)]),
  ];
}
