/**
 * Starts again what fell. Whether a service really fell is decided under the lock of the graph, where nobody else is in the middle of
 * stopping or starting it: so the history is true, and two never start one service.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError, type ServiceOutcome } from '@skillbox/protocol';
import { endingOf } from '../../process/endings.ts';
import { isAlive } from '../../process/identity.ts';
import { apiService } from '../rules.ts';
import { exclusively, type Runtime } from '../runtime.ts';
import { endOfSandboxed } from '../sandboxed.ts';
import { serviceStatus, startService, stopService } from '../services/control.ts';
import { readServiceRecord, type ServiceRecord, writeServiceRecord } from '../services/records.ts';
import { definitionOf, runningOf, sandboxOf } from '../services/running.ts';
import { fall, type Patience, well } from './backoff.ts';
import type { Book } from './book.ts';
import type { Declared, Graphs } from './graphs.ts';
import type { Fallen } from './state.ts';

export type Suspicion = 'crashed' | 'unhealthy';

export interface Mender {
  /** It seems to have fallen. */
  suspect(id: string, why: Suspicion): void;
  /** A look found it well. */
  found(id: string): void;
  /** Its record as it is now: somebody may have started or stopped it by hand. */
  recorded(record: ServiceRecord): void;
  /** What kept services from starting may be gone. */
  causeChanged(): void;
  isFallen(id: string): boolean;
  stop(): Promise<void>;
}

export interface MenderParts {
  runtime(): Runtime;
  readonly graphs: Graphs;
  readonly book: Book;
  readonly patience: Patience;
  readonly random: () => number;
  say(text: string): void;
  /** One was looked after: its record is another, and what it started may have ended since. */
  mended(): void;
}

/** For the lock: then it is tried again, and whoever waits as well has had a chance. */
const lockMs = 2000;
const fairMs = 60;
/** Others that fall meanwhile are started in the same hold of the lock, up to this long. */
const holdMs = 10_000;
/** Between hearing that a process ended, and how. */
const heardMs = 100;
/** After an error that is none of a service. */
const troubleMs = 1000;

export function createMender({ runtime, graphs, book, patience, random, say, mended }: MenderParts): Mender {
  const { state } = book;
  const suspects = new Map<string, Suspicion>();
  /** Falls that nobody may mend, each told once. */
  const told = new Set<string>();
  const askedNeeds = new Map<string, number>();
  const busy = new Map<string, Promise<void>>();
  let working: Promise<void> | undefined;
  let stopping = false;
  let timer: NodeJS.Timeout | undefined;
  let woken: () => void = () => undefined;

  const subject = (id: string): string => `service:${id}`;
  const now = (): number => Date.now();
  const stateRoot = (): string => runtime().config.stateRoot;

  /** One whose need is about to be started waits for it, so that it does not fall over it again. */
  const waitsForOther = (id: string): boolean => {
    const record = readServiceRecord(stateRoot(), id);
    const service = record && graphs.find(runtime().config, record)?.service;
    // Sandboxes are made by the server.
    const needs = [...(service?.dependsOn ?? []), ...(service?.template === undefined ? [] : [apiService])];
    return needs.some((need) => busy.has(need) || suspects.has(need) || (need in state.fallen && !state.falls[need]?.givenUp));
  };
  const due = (): string[] => {
    const fallen = Object.keys(state.fallen).filter((id) => (state.fallen[id]?.nextAt ?? 0) <= now() && !waitsForOther(id));
    return [...new Set([...suspects.keys(), ...fallen])].filter((id) => !busy.has(id));
  };

  const wake = (): void => {
    clearTimeout(timer);
    if (stopping) return;
    woken();
    // One whose time has come may wait for another, whose time is still to come: that is the one to wake for.
    const coming = Object.values(state.fallen).flatMap(({ nextAt }) => (nextAt > now() ? [nextAt] : []));
    const next = Math.min(...coming);
    if (Number.isFinite(next)) timer = setTimeout(wake, Math.min(next - now(), 2 ** 31 - 1));
    if (due().length === 0) return;
    working ??= work().finally(() => {
      working = undefined;
      wake();
    });
  };

  const work = async (): Promise<void> => {
    while (!stopping && due().length > 0) {
      try {
        await exclusively(runtime(), 'pulse', hold, lockMs);
        await sleep(fairMs);
      } catch (error) {
        if (stopping) return;
        if (error instanceof BoxError && error.code === 'graph_busy') continue;
        say(`services could not be looked after: ${(error as Error).message}`);
        await sleep(troubleMs);
      }
    }
  };

  const hold = async (): Promise<void> => {
    const until = now() + holdMs;
    for (;;) {
      const heard = new Promise<void>((resolve) => {
        woken = resolve;
      });
      if (!stopping && now() < until) for (const id of due()) busy.set(id, mend(id));
      if (busy.size === 0) return;
      await Promise.race([...busy.values(), heard]);
    }
  };

  const mend = async (id: string): Promise<void> => {
    try {
      await (suspects.has(id) ? confirm(id) : attempt(id));
    } catch (error) {
      if (!stopping) {
        say(`service ${id} could not be looked after: ${(error as Error).stack}`);
        if (id in state.fallen) fell(id, 'restart_failed', { message: (error as Error).message });
      }
    } finally {
      busy.delete(id);
      book.changed();
      mended();
    }
  };

  const confirm = async (id: string): Promise<void> => {
    const suspicion = suspects.get(id);
    suspects.delete(id);
    const record = readServiceRecord(stateRoot(), id);
    if (!record?.wanted) return forget(id);
    if (id in state.fallen) return;
    const declared = graphs.find(runtime().config, record);
    const running = await runningOf(runtime(), declared?.service ?? { own: undefined }, record);
    // Its starter was killed before it could write down the process: now it is.
    if (running?.process && !record.process) writeServiceRecord(stateRoot(), { ...record, process: running.process });
    const facts = { pid: record.process?.pid ?? null, lived_s: Math.round((now() - Date.parse(record.startedAt)) / 1000) };
    if (!running) return lost(record, declared, 'crashed', { ...facts, ...(await howItEnded(runtime(), record)) });
    if (suspicion !== 'unhealthy' || !declared) return;
    const { state: seen, healthy, detail } = await serviceStatus(runtime(), declared.graph, declared.service);
    if (seen === 'down' && healthy === false) lost(record, declared, 'unhealthy', { ...facts, detail });
  };

  const lost = (record: ServiceRecord, declared: Declared | undefined, why: Suspicion, facts: Record<string, unknown>): void => {
    const { id } = record;
    state.service_states[id] = 'down';
    if (declared?.service.restart) {
      fell(id, why, facts);
      return;
    }
    const key = `${id} ${record.startedAt} ${why}`;
    if (told.has(key)) return;
    told.add(key);
    book.emit(`service.${why}`, subject(id), {
      ...facts,
      restart: false,
      reason: declared ? 'it is declared with restart: false' : 'it is no longer declared',
    });
  };

  const fell = (id: string, why: Fallen['reason'], facts: Record<string, unknown>): void => {
    const at = now();
    const { falls, delayMs, givesUp } = fall(state.falls[id], at, patience, random);
    state.falls[id] = falls;
    state.fallen[id] = { since: state.fallen[id]?.since ?? at, nextAt: at + delayMs, reason: why };
    state.service_states[id] = 'down';
    book.emit(`service.${why}`, subject(id), { ...facts, fall: falls.times.length, retry_in_ms: delayMs });
    if (givesUp)
      book.emit('service.given_up', subject(id), {
        falls: falls.times.length,
        within_minutes: patience.windowMs / 60_000,
        retry_in_ms: delayMs,
        fix: `skillbox logs --service ${id}; skillbox restart --service ${id}`,
      });
    wake();
  };

  const attempt = async (id: string): Promise<void> => {
    const record = readServiceRecord(stateRoot(), id);
    const fallen = state.fallen[id];
    if (!record?.wanted || !fallen) return forget(id);
    const declared = graphs.find(runtime().config, record);
    if (!declared?.service.restart) {
      forget(id);
      return lost(record, declared, 'crashed', {});
    }
    const { graph, service } = declared;
    if (missesNeed(id, service.dependsOn, fallen)) return;
    const running = await runningOf(runtime(), service, record);
    // Somebody was quicker.
    if (running && fallen.reason !== 'unhealthy') return up(id, fallen, record.process?.pid ?? null, record.restarts, false);
    if (running) await stopService(runtime(), service, { wanted: true });
    const restarts = record.restarts + 1;
    const outcome = await startService(runtime(), graph, service, {
      ...{ mode: record.mode, selection: record.selection, restarts, waitMs: undefined },
    });
    if (isUp(outcome)) return up(id, fallen, outcome.pid, restarts, true);
    fell(id, 'restart_failed', { result: outcome.result, message: outcome.detail });
  };

  /** Often one falls because another did, of which nobody has heard yet: that one is looked at first, once for each fall. */
  const missesNeed = (id: string, needs: readonly string[], { since }: Fallen): boolean => {
    if (askedNeeds.get(id) === since) return false;
    askedNeeds.set(id, since);
    const gone = needs.filter((need) => {
      const { wanted, process } = readServiceRecord(stateRoot(), need) ?? {};
      return wanted && process && !isAlive(process);
    });
    for (const need of gone) suspects.set(need, 'crashed');
    return gone.length > 0;
  };

  const up = (id: string, { since }: Fallen, pid: number | null, restarts: number, ours: boolean): void => {
    delete state.fallen[id];
    const falls = state.falls[id];
    if (falls) state.falls[id] = { ...falls, wellSince: now() };
    state.service_states[id] = 'running';
    if (!ours) return;
    state.heals++;
    book.emit('service.restarted', subject(id), { pid, restarts, down_ms: now() - since });
  };

  const forget = (id: string): void => {
    delete state.fallen[id];
    delete state.falls[id];
    askedNeeds.delete(id);
  };

  wake();
  return {
    suspect(id, why) {
      if (id in state.fallen || busy.has(id)) return;
      suspects.set(id, why);
      wake();
    },
    found(id) {
      const before = state.falls[id];
      if (!before || id in state.fallen) return;
      const after = well(before, now(), patience);
      if (after) state.falls[id] = after;
      else {
        delete state.falls[id];
        if (before.givenUp) book.emit('service.recovered', subject(id));
      }
    },
    recorded(record) {
      const { id, wanted, restarts, startedAt } = record;
      const last = state.falls[id]?.times.at(-1);
      if (last === undefined && !(id in state.fallen)) return;
      const byHand = wanted && restarts === 0 && Date.parse(startedAt) > (last ?? 0);
      if (wanted && !byHand) {
        // Another declaration may well start. (That of the server is not written down.)
        const declared = id in state.fallen && record.definition !== '' ? graphs.find(runtime().config, record) : undefined;
        if (declared && definitionOf(declared.service, record.mode) !== record.definition) retry(id);
        return;
      }
      const gaveUp = state.falls[id]?.givenUp;
      forget(id);
      if (byHand && gaveUp) book.emit('service.resumed', subject(id), { by: 'hand' });
      book.changed();
    },
    causeChanged() {
      for (const id of Object.keys(state.fallen)) retry(id);
    },
    isFallen: (id) => id in state.fallen,
    async stop() {
      stopping = true;
      clearTimeout(timer);
      suspects.clear();
      woken();
      await working;
    },
  };

  function retry(id: string): void {
    const [falls, fallen] = [state.falls[id], state.fallen[id]];
    if (falls) state.falls[id] = { ...falls, givenUp: false, row: 0 };
    if (fallen) state.fallen[id] = { ...fallen, nextAt: now() };
    wake();
  }
}

/** null and null where nobody heard: it was not ours to wait for, or ended while nobody watched. */
async function howItEnded(runtime: Runtime, record: ServiceRecord): Promise<{ exit_code: number | null; signal: string | null }> {
  const at = sandboxOf(record);
  const ending = at ? await endOfSandboxed(runtime, at) : record.process && (await endingOf(record.process, heardMs));
  return { exit_code: ending?.code ?? null, signal: ending?.signal ?? null };
}

function isUp({ result }: ServiceOutcome): boolean {
  return result === 'started' || result === 'already-running';
}
