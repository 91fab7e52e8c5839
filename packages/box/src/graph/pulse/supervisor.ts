/** Pulse at work: hears of processes that end, looks at everything now and then, and hands what fell to the mender. */

import { existsSync, mkdirSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config.ts';
import { identify, isAlive, type ProcessIdentity } from '../../process/identity.ts';
import { readServerRecord } from '../../state.ts';
import { apiService } from '../rules.ts';
import { graphFolder, isGraphBusy, type Runtime } from '../runtime.ts';
import { outputFile } from '../sandboxed-output.ts';
import { readServiceRecords, type ServiceRecord } from '../services/records.ts';
import { definitionOf } from '../services/running.ts';
import { type Patience, usualPatience } from './backoff.ts';
import { openBook } from './book.ts';
import { createContextKeeper } from './context-keeper.ts';
import { createGraphs, type Load } from './graphs.ts';
import { lookAt, type Sight } from './look.ts';
import { createMender } from './mender.ts';
import { readPulseState } from './state.ts';
import { tellTransitions } from './transitions.ts';
import { keepLogs } from './upkeep.ts';
import { startWatcher } from './watcher.ts';

export interface SupervisorParts {
  /** As it is now: files and environment may have changed. */
  config(): Config;
  readonly load: Load;
  readonly intervalMs: number;
  say(text: string): void;
  readonly patience?: Patience;
  readonly random?: () => number;
  /** For tests: where the watcher of processes is. */
  readonly watcherProgram?: string;
}

export interface Supervisor {
  /** A whole look now, or the end of the one that is under way. */
  look(): Promise<void>;
  stop(): Promise<void>;
}

/** Records change in bursts: up writes several for each service. */
const gatherMs = 20;
/** So many bad answers in a row, and only then is a service that lives taken for unhealthy: one slow answer is no fall. */
const strikesToFall = 3;
const strikeMs = 1000;
/** While somebody changes the graph, a look would see half of it. */
const politeMs = 1000;
const politeTimes = 10;
/** For a start that is under way when pulse is told to stop. */
const stopMs = 3000;

/** Its first look is under way when it returns, so that it can be stopped while that waits for others. */
export function startSupervisor(parts: SupervisorParts): Supervisor {
  const { say, load, intervalMs, patience = usualPatience, random = Math.random } = parts;
  let config = parts.config();
  const { stateRoot } = config;
  const ending = new AbortController();
  const runtime = (): Runtime => ({ config, server: false, progress: () => undefined, signal: ending.signal });
  const before = readPulseState(stateRoot);
  const keeper = createContextKeeper(runtime, say);
  const book = openBook(stateRoot, before, say, keeper.happened);
  const { state } = book;
  const graphs = createGraphs(load);
  const mender = createMender({ runtime, graphs, book, patience, random, say, mended: () => reread() });
  const watcher = startWatcher({
    onGone: (process) => lostProcess(process),
    onTrouble: (why) => say(`${why}; processes are looked at instead`),
    ...(parts.watcherProgram !== undefined && { program: parts.watcherProgram }),
  });
  const strikes = new Map<string, number>();
  let owners = new Map<string, string>();
  let stopped = false;
  let looking: Promise<void> | undefined;
  const timers = new Set<NodeJS.Timeout>();

  const later = (ms: number, work: () => void): void => {
    if (stopped) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      work();
    }, ms);
    timers.add(timer);
  };

  /** What the records say now: whom to watch, who is gone, who was started or stopped by hand. */
  const readRecords = (records = readServiceRecords(stateRoot)): ServiceRecord[] => {
    const processes = new Map<string, ProcessIdentity>();
    for (const record of records) {
      mender.recorded(record);
      if (!record.wanted || mender.isFallen(record.id)) continue;
      const process = processOf(stateRoot, record);
      if (process && isAlive(process)) processes.set(record.id, process);
      // In a sandbox its output ends with it: the server then removes the file that says where it goes.
      else if (!record.sandbox || !existsSync(outputFile(stateRoot, record.sandbox.program))) mender.suspect(record.id, 'crashed');
    }
    owners = new Map([...processes].map(([id, { pid, startTime }]) => [`${pid} ${startTime}`, id]));
    watcher.watch([...processes.values()]);
    return records;
  };

  const lostProcess = ({ pid, startTime }: ProcessIdentity): void => {
    const id = owners.get(`${pid} ${startTime}`);
    if (id !== undefined) mender.suspect(id, 'crashed');
  };

  const readConfig = (records: readonly ServiceRecord[]): void => {
    let error: Error | undefined;
    try {
      config = parts.config();
      error = graphs.reload(
        config,
        records.filter(({ wanted }) => wanted).map(({ selection }) => selection),
      );
    } catch (cause) {
      error = cause as Error;
    }
    const message = error ? error.message : null;
    if (message !== state.graph_error) {
      if (message !== null) book.emit('config.invalid', 'box', { message });
      else book.emit('config.valid', 'box');
      state.graph_error = message;
    }
    const hash = graphs.configHash;
    if (hash === null || hash === state.config_hash) return;
    const was = state.config_hash;
    state.config_hash = hash;
    if (was === null) return;
    book.emit('config.changed', 'box', { was, is: hash });
    mender.causeChanged();
  };

  /** What runs is not what is declared: told, not restarted, since only a person knows whether now is the time. */
  const tellStale = (records: readonly ServiceRecord[]): void => {
    const stale = records.flatMap((record) => {
      if (!record.wanted || record.definition === '') return [];
      const declared = graphs.find(config, record);
      return declared && definitionOf(declared.service, record.mode) !== record.definition ? [record.id] : [];
    });
    for (const id of stale) {
      if (state.stale.includes(id)) continue;
      book.emit('service.stale', `service:${id}`, { fix: `skillbox restart --service ${id}` });
    }
    state.stale = stale;
  };

  const judge = ({ services }: Sight): void => {
    const states: Record<string, string> = {};
    for (const { service, graph, status } of services) {
      const { id } = service;
      states[id] = status.state;
      const managed = status.wanted || service.own !== undefined || Object.keys(service.commands).length > 0;
      if (!managed) {
        const was = state.service_states[id];
        const bad = status.state === 'down';
        if (was !== undefined && (was === 'down') !== bad)
          book.emit(bad ? 'service.unhealthy' : 'service.recovered', `service:${id}`, { managed: false, detail: status.detail });
        continue;
      }
      if (!status.wanted || mender.isFallen(id)) continue;
      if (status.state === 'running') {
        strikes.delete(id);
        mender.found(id);
      } else if (status.state === 'down' && status.healthy === false) strike(id, graph, service.healthcheck?.intervalMs ?? 0);
      else if (status.state === 'down') mender.suspect(id, 'crashed');
    }
    state.service_states = states;
  };

  const strike = (id: string, graph: Sight['services'][number]['graph'], everyMs: number): void => {
    const count = (strikes.get(id) ?? 0) + 1;
    strikes.set(id, count);
    if (count >= strikesToFall) {
      strikes.delete(id);
      mender.suspect(id, 'unhealthy');
      return;
    }
    later(Math.min(Math.max(strikeMs, everyMs), intervalMs), () => void again(id, graph));
  };
  /** Only this one, so that three bad answers do not take three whole looks. */
  const again = async (id: string, graph: Sight['services'][number]['graph']): Promise<void> => {
    if (!strikes.has(id)) return;
    const only = {
      ...graph,
      services: graph.services.filter((service) => service.id === id),
      checks: [],
      envFiles: [],
      artifacts: [],
      skills: [],
    };
    try {
      const [seen] = (await lookAt(runtime(), [only])).services;
      if (seen?.status.wanted && seen.status.state === 'down' && seen.status.healthy === false)
        return strike(id, graph, seen.service.healthcheck?.intervalMs ?? 0);
    } catch (error) {
      say(`service ${id} could not be looked at: ${(error as Error).message}`);
    }
    strikes.delete(id);
  };

  const look = async (): Promise<void> => {
    for (let times = 0; times < politeTimes && !stopped && (await isGraphBusy(stateRoot)); times++)
      await sleep(politeMs, undefined, { signal: ending.signal });
    if (stopped) return;
    // First what is declared now: it may be what lets one that fell start again.
    const records = readServiceRecords(stateRoot);
    readConfig(records);
    readRecords(records);
    tellStale(records);
    const sight = await lookAt(runtime(), graphs.all());
    if (stopped) return;
    judge(sight);
    state.check_states = withoutPrefix(
      tellTransitions(book, withPrefix(state.check_states), sight.checks, (is) => (is === 'ok' ? 'check.recovered' : 'check.failed')),
    );
    const name = (subject: string, is: string): string => `${subject.split(':')[0]}.${is}`;
    for (const one of sight.items) tellTransitions(book, state.item_states, [one], (is) => name(one.subject, is));
    state.item_states = Object.fromEntries(sight.items.map(({ subject, state: is }) => [subject, is]));
    await keepLogs(runtime(), graphs.all(), records, say);
    state.cycle_count++;
    book.flush();
  };
  const lookOnce = (): Promise<void> => {
    looking ??= look()
      .catch((error: Error) => {
        if (!stopped) say(`a look failed: ${error.stack}`);
      })
      .finally(() => {
        looking = undefined;
      });
    return looking;
  };
  const lookOn = (): void => void lookOnce().finally(() => later(intervalMs, lookOn));

  let gathering = false;
  const reread = (): void => {
    if (gathering) return;
    gathering = true;
    later(gatherMs, () => {
      gathering = false;
      readRecords();
    });
  };
  const folders = [join(graphFolder(stateRoot), 'services'), dirname(outputFile(stateRoot, 0))];
  const folderWatchers = folders.map((folder) => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return watch(folder, reread).on('error', (error) => say(`${folder} is read at whole looks only: ${error.message}`));
  });

  const self = identify(process.pid);
  Object.assign(state, {
    pid: process.pid,
    start_time: self?.startTime ?? null,
    interval: intervalMs / 1000,
    auto_restart: true,
    stopped: false,
  });
  book.flush();
  book.emit('pulse.started', 'pulse', {
    pid: process.pid,
    interval: intervalMs / 1000,
    watching: readRecords().filter(({ wanted }) => wanted).length,
  });
  lookOn();

  return {
    look: lookOnce,
    async stop() {
      stopped = true;
      for (const timer of timers) clearTimeout(timer);
      for (const one of folderWatchers) one.close();
      await keeper.stop();
      const patient = setTimeout(() => ending.abort(), stopMs);
      await mender.stop();
      clearTimeout(patient);
      ending.abort();
      await looking;
      watcher.close();
      book.emit('pulse.stopped', 'pulse', { pid: process.pid });
      book.flush();
    },
  };
}

/** The server of the box writes down itself who it is: it may have been started by other means. */
function processOf(stateRoot: string, record: ServiceRecord): ProcessIdentity | undefined {
  return record.id === apiService ? (readServerRecord(stateRoot) ?? record.process) : record.process;
}

const prefix = 'check:';
const withPrefix = (states: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(states).map(([id, state]) => [`${prefix}${id}`, state]));
const withoutPrefix = (states: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(states).map(([subject, state]) => [subject.slice(prefix.length), state]));
