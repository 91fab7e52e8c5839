/** One service: start it, stop it, look at it. For up, down, restart and pulse, which hold the lock of the graph. */

import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError, type Fault, type ServiceOutcome, type ServiceStatus, type StartMode } from '@skillbox/protocol';
import type { Ending } from '../../process/endings.ts';
import { rotateLog, sizeOfFile, tailOfFile } from '../../process/log-file.ts';
import type { EndOfTree } from '../../process/tree.ts';
import { formatDuration } from '../../units.ts';
import type { Graph, Selection, Service } from '../graph.ts';
import { logPath } from '../programs/log-path.ts';
import type { Runtime } from '../runtime.ts';
import { recordActivity } from '../runtime-log.ts';
import { asStep, endOfService } from '../work-steps.ts';
import { apiStatus, startApi, stopApi } from './api.ts';
import { probeHealth } from './health.ts';
import { type Launched, launch } from './launch.ts';
import { faultOf, faultOfError, noLongerWanted, outcome } from './outcome.ts';
import { commandMissing, isManaged, requireMode, requireStartable } from './preconditions.ts';
import { readServiceRecord, type ServiceRecord, writeServiceRecord } from './records.ts';
import { definitionOf, type Running, runningOf } from './running.ts';
import { type Look, statusOf } from './service-state.ts';
import { endRecorded } from './stop.ts';

export interface StartOptions {
  readonly mode: StartMode;
  readonly selection: Selection;
  /** Of its record; 0 when somebody starts it by hand. */
  readonly restarts: number;
  readonly waitMs: number | undefined;
}

const tailLines = 40;
const firstLookMs = 25;
/** How long a service without a healthcheck must live to count as started. */
const settleMs = 300;
/** The shell's word for a program that is not there. */
const notFoundExit = 127;

/** Starts it and waits for its health. A service that fails or is late is stopped again. */
export async function startService(runtime: Runtime, graph: Graph, service: Service, options: StartOptions): Promise<ServiceOutcome> {
  const since = performance.now();
  if (service.own === 'api') return startApi(runtime, service, options);
  if (!isManaged(service)) return lookElsewhere(runtime, graph, service, since);
  requireMode([service], options.mode);
  const { stateRoot } = runtime.config;
  const record = readServiceRecord(stateRoot, service.id);
  const start: Start = { runtime, graph, service, options, since, log: logPath(stateRoot, graph, 'services', service) };
  try {
    const running = await runningOf(runtime, service, record);
    if (record && running && record.client !== service.client)
      return outcome(service.id, 'failed', since, { error: taken(service, record) });
    if (record && running) {
      const kept = await keep(start, record, running);
      if (kept) return kept;
    }
    // Also what is left of one whose first process is gone: it may hold the port.
    if (record) await endRecorded(runtime, record, service.stopMs);
    return await begin(start);
  } catch (error) {
    if (!(error instanceof BoxError) || runtime.signal.aborted) throw error;
    return fail(start, 'failed', faultOfError(error), undefined);
  }
}

/** stopService as a part of longer work, told as it begins and ends. */
export const stopAsStep = (...[runtime, service, options]: Parameters<typeof stopService>): Promise<ServiceOutcome> =>
  asStep(
    runtime,
    { kind: 'service', name: `stop ${service.id}` },
    `Stopping ${service.id}`,
    () => stopService(runtime, service, options),
    endOfService,
  );

/** SIGTERM to its group, its patience, SIGKILL. `wanted`: whether pulse may start it again. */
export async function stopService(
  runtime: Runtime,
  service: Pick<Service, 'id' | 'own' | 'stopMs'>,
  { wanted }: { wanted: boolean },
): Promise<ServiceOutcome> {
  const since = performance.now();
  if (service.own === 'api') return stopApi(runtime, service, { wanted });
  const { stateRoot } = runtime.config;
  const record = readServiceRecord(stateRoot, service.id);
  if (!record) return outcome(service.id, 'not-running', since);
  // Before the signal: who looks in between must not take it for a crash.
  if (record.wanted !== wanted) writeServiceRecord(stateRoot, { ...record, wanted });
  const pid = record.process?.pid ?? null;
  const stuck = (fault: Fault): ServiceOutcome => outcome(service.id, 'stuck', since, { pid, error: fault });
  let end: EndOfTree;
  try {
    end = await endRecorded(runtime, record, service.stopMs, (ms) => runtime.progress(`Stopping ${service.id}, ${formatDuration(ms)}`));
  } catch (error) {
    // In a sandbox that nobody can reach into just now: it goes on.
    if (error instanceof BoxError) return stuck(faultOfError(error));
    throw error;
  }
  if (end === 'stuck') return stuck(faultOf('service_failed', `Service ${service.id} did not end, not even by SIGKILL.`));
  writeServiceRecord(stateRoot, { ...record, wanted, process: undefined, sandbox: undefined, run: undefined, failure: undefined });
  if (end === 'gone') return outcome(service.id, 'not-running', since, { detail: record.wanted && !wanted ? noLongerWanted : null });
  recordActivity(stateRoot, 'service.stopped', `service:${service.id}`, { pid, killed: end === 'killed' });
  return outcome(service.id, end, since, { pid });
}

export async function serviceStatus(runtime: Runtime, graph: Graph, service: Service, look: Look = {}): Promise<ServiceStatus> {
  return service.own === 'api' ? apiStatus(runtime, service) : statusOf(runtime, graph, service, look);
}

interface Start {
  readonly runtime: Runtime;
  readonly graph: Graph;
  readonly service: Service;
  readonly options: StartOptions;
  readonly since: number;
  readonly log: string;
}

/** It runs already: as good as started once it is healthy. undefined when it had its time and must be started anew. */
async function keep(
  { runtime, graph, service, options, since }: Start,
  record: ServiceRecord,
  running: Running,
): Promise<ServiceOutcome | undefined> {
  const { stateRoot } = runtime.config;
  const leftMs = Date.parse(record.startedAt) + (options.waitMs ?? service.startMs) - Date.now();
  for (let first = true; ; first = false) {
    const { healthy } = await probeHealth(runtime, graph, service, running.sandbox);
    if (healthy) break;
    const over = performance.now() - since > leftMs;
    if ((over && !first) || (first && leftMs <= 0) || !(await runningOf(runtime, service, record))) return undefined;
    runtime.signal.throwIfAborted();
    await sleep(service.healthcheck?.intervalMs ?? settleMs);
  }
  const pid = running.process?.pid ?? null;
  const { restarts } = options;
  const changed = record.definition !== definitionOf(service, record.mode);
  writeServiceRecord(stateRoot, {
    ...record,
    process: running.process,
    wanted: true,
    restarts,
    selection: selectionOf(options),
    failure: undefined,
  });
  const differs = record.mode === options.mode ? null : `it runs in mode ${record.mode}`;
  const detail = changed ? 'its declaration changed since it was started' : differs;
  return outcome(service.id, 'already-running', since, {
    pid,
    detail: detail && `${detail}: skillbox restart --service ${service.id}${changed ? '' : ` --mode ${options.mode}`}`,
  });
}

async function begin(start: Start): Promise<ServiceOutcome> {
  const { runtime, graph, service, options, since, log } = start;
  const command = service.commands[options.mode] ?? '';
  await requireStartable(runtime, graph, service, command);
  runtime.signal.throwIfAborted();
  runtime.progress(`Starting ${service.id}`);
  rotateLog(log);
  const before = sizeOfFile(log);
  const launched = await launch(runtime, graph, service, command, draftOf(start));
  const verdict = await waitForHealth(start, launched);
  if (verdict === 'healthy') {
    const pid = launched.record.process?.pid ?? null;
    recordActivity(runtime.config.stateRoot, 'service.started', `service:${service.id}`, {
      pid,
      mode: options.mode,
      ...(options.restarts > 0 && { restarts: options.restarts }),
    });
    return outcome(service.id, 'started', since, { pid });
  }
  await endRecorded(runtime, launched.record, service.stopMs);
  runtime.signal.throwIfAborted();
  return fail(start, verdict.result, verdict.fault, before);
}

interface Verdict {
  readonly result: 'failed' | 'timeout';
  readonly fault: Fault;
}

async function waitForHealth({ runtime, graph, service, options }: Start, { record, ended }: Launched): Promise<'healthy' | Verdict> {
  const since = performance.now();
  const limitMs = options.waitMs ?? service.startMs;
  const at = record.sandbox && { sandbox: record.sandbox.id, program: record.sandbox.program };
  const looksAtProcess = service.healthcheck === undefined || service.healthcheck.type === 'process_running';
  const intervalMs = service.healthcheck?.intervalMs ?? settleMs;
  for (let pause = firstLookMs; ; pause = Math.min(pause * 2, intervalMs)) {
    await sleep(pause);
    const ending = await ended();
    if (ending) return { result: 'failed', fault: endFault(service.id, ending) };
    if (runtime.signal.aborted) return { result: 'failed', fault: faultOf('cancelled', 'Interrupted.') };
    const waited = performance.now() - since;
    if (looksAtProcess && waited >= settleMs) return 'healthy';
    if (looksAtProcess) continue;
    const { healthy, detail } = await probeHealth(runtime, graph, service, at);
    // Somebody else may answer in its place: only one that lives is healthy.
    if (healthy && (await ended()) === undefined) return 'healthy';
    if (performance.now() - since < limitMs) continue;
    const message = `Service ${service.id} was not healthy after ${formatDuration(limitMs)} and was stopped${detail ? `: ${detail}` : ''}.`;
    return { result: 'timeout', fault: faultOf('service_failed', message, `Read what it said: skillbox logs --service ${service.id}.`) };
  }
}

function endFault(id: string, { code, signal }: Ending): Fault {
  if (code === notFoundExit) return faultOfError(commandMissing(id, undefined));
  const how = code === null ? `was ended by ${signal}` : `ended with exit code ${code}`;
  const why = code === 0 ? '; a service stays in the foreground' : '';
  return faultOf(
    'service_failed',
    `Service ${id} ${how} before it was healthy${why}.`,
    `Read its last lines; all of them: skillbox logs --service ${id}.`,
  );
}

/** Nothing of it runs now; the record says why. A start by pulse stays wanted, so that the next attempt comes. */
function fail(
  { runtime, service, options, since, log, ...start }: Start,
  result: 'failed' | 'timeout',
  fault: Fault,
  before: number | undefined,
): ServiceOutcome {
  const draft = draftOf({ runtime, service, options, since, log, ...start });
  writeServiceRecord(runtime.config.stateRoot, { ...draft, wanted: options.restarts > 0, failure: fault.message });
  recordActivity(runtime.config.stateRoot, 'service.failed', `service:${service.id}`, {
    result,
    error: fault.error,
    message: fault.message,
  });
  return outcome(service.id, result, since, { error: fault, tail: before === undefined ? [] : tailOfFile(log, tailLines, before) });
}

async function lookElsewhere(runtime: Runtime, graph: Graph, service: Service, since: number): Promise<ServiceOutcome> {
  const { healthy, detail } = await probeHealth(runtime, graph, service, undefined);
  if (healthy) return outcome(service.id, 'external', since, { detail: 'managed elsewhere' });
  const message = `Service ${service.id} is managed elsewhere, and is not well: ${detail}.`;
  return outcome(service.id, 'failed', since, {
    error: faultOf('service_failed', message, 'Start it where it is managed, then try again.'),
  });
}

function draftOf({ service, options, log }: Start): ServiceRecord {
  const { id, client, stopMs, dependsOn } = service;
  return {
    ...{ id, client, stopMs, dependsOn, log, wanted: true, mode: options.mode, restarts: options.restarts },
    ...{ process: undefined, sandbox: undefined, selection: selectionOf(options) },
    startedAt: new Date().toISOString(),
    definition: definitionOf(service, options.mode),
  };
}

const selectionOf = ({ selection }: StartOptions) => ({ client: selection.client, profiles: selection.profiles });

/** Records are by id: two clients cannot both have a service of one name at a time. */
function taken({ id }: Service, { client }: ServiceRecord): Fault {
  const [owner, flag] = client === undefined ? ['the box', ''] : [`client ${client}`, `--client ${client} `];
  const hint = `Stop that one first: skillbox down ${flag}--service ${id}`;
  return faultOf('LOCAL_RUNTIME_START_BLOCKED', `A service ${id} of ${owner} runs already.`, hint);
}
