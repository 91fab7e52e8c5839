/** Pulse as a process: one for a state root, until it is told to stop. */

import { realpathSync } from 'node:fs';
import { BoxError } from '@skillbox/protocol';
import type { Config } from '../../config.ts';
import { tryLock } from '../../process/abstract-lock.ts';
import { makeStateRoot } from '../../state.ts';
import { loadGraph } from '../load.ts';
import { lockName } from '../runtime.ts';
import { livingPulse, readPulseState } from './state.ts';
import { startSupervisor } from './supervisor.ts';

export interface PulseOptions {
  /** As it is now, read anew at each look. */
  config(): Config;
  /** Seconds; default: SKILLBOX_PULSE_INTERVAL. */
  readonly interval: number | undefined;
  say(text: string): void;
  /** Resolves when it should stop. */
  readonly until: Promise<void>;
}

export async function runPulse({ config, interval, say, until }: PulseOptions): Promise<void> {
  const { stateRoot, pulseInterval } = config();
  makeStateRoot(stateRoot);
  // The kernel frees it with this process, however it ends.
  const lock = await tryLock(lockName('pulse', stateRoot));
  if (!lock) {
    const other = livingPulse(readPulseState(stateRoot));
    throw new BoxError('already_running', `Pulse runs already for ${realpathSync(stateRoot)}${other ? ` (pid ${other.pid})` : ''}.`);
  }
  try {
    const supervisor = startSupervisor({
      config,
      load: loadGraph,
      intervalMs: interval === undefined ? pulseInterval : interval * 1000,
      say,
    });
    await until;
    await supervisor.stop();
  } finally {
    lock.release();
  }
}
