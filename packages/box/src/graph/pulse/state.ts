/** run/graph/pulse.json: what pulse sees and did, for everybody who asks, and for the next pulse when this one is killed. */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { PulseStatus } from '@skillbox/protocol';
import { readJsonFile, writePrivateFile } from '../../private-file.ts';
import { isAlive, type ProcessIdentity } from '../../process/identity.ts';
import { graphFolder } from '../runtime.ts';
import type { Falls } from './backoff.ts';

/** A service that fell and is not up yet. */
export interface Fallen {
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly nextAt: number;
  /** Told in its event. */
  readonly reason: string;
}

export interface PulseState extends Omit<PulseStatus, 'running' | 'pid' | 'updated_at'> {
  readonly pid: number | null;
  readonly updated_at: string | null;
  /** With the pid: which process it is. */
  readonly start_time: string | null;
  /** Somebody stopped it on purpose: nobody starts it again by itself. */
  readonly stopped: boolean;
  readonly falls: Readonly<Record<string, Falls>>;
  readonly fallen: Readonly<Record<string, Fallen>>;
  /** State of env files, artifacts and skills, by subject. */
  readonly item_states: Readonly<Record<string, string>>;
  /** What the graph was when it could not be loaded; null: it could. */
  readonly graph_error: string | null;
  /** Services that run what was declared before. */
  readonly stale: readonly string[];
}

export const emptyState: PulseState = {
  ...{ pid: null, start_time: null, updated_at: null, interval: 30, auto_restart: true, stopped: false },
  ...{ cycle_count: 0, heals: 0, events_emitted: 0, config_hash: null, graph_error: null },
  ...{ service_states: {}, check_states: {}, item_states: {}, given_up: [], next_attempts: {}, falls: {}, fallen: {}, stale: [] },
};

const stateFile = (stateRoot: string): string => join(graphFolder(stateRoot), 'pulse.json');

/** One of an earlier version may lack fields: they are as if nothing had happened. */
export function readPulseState(stateRoot: string): PulseState {
  return { ...emptyState, ...readJsonFile<Partial<PulseState>>(stateFile(stateRoot)) };
}

export function writePulseState(stateRoot: string, state: PulseState): void {
  mkdirSync(graphFolder(stateRoot), { recursive: true, mode: 0o700 });
  writePrivateFile(stateFile(stateRoot), `${JSON.stringify(state)}\n`);
}

/** The process that wrote it, if it lives. */
export function livingPulse({ pid, start_time }: PulseState): ProcessIdentity | undefined {
  if (pid === null || start_time === null) return undefined;
  const identity = { pid, startTime: start_time };
  return isAlive(identity) ? identity : undefined;
}

export function asPulseStatus(state: PulseState): PulseStatus {
  const { interval, auto_restart, cycle_count, heals, events_emitted, config_hash } = state;
  const { service_states, check_states, given_up, next_attempts, updated_at } = state;
  const alive = livingPulse(state);
  return {
    ...{ running: alive !== undefined, pid: alive?.pid ?? null, updated_at, interval, auto_restart, cycle_count, heals, events_emitted },
    ...{ config_hash, service_states, check_states, given_up },
    // Nobody will make them.
    next_attempts: alive ? next_attempts : {},
  };
}
