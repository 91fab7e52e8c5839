/** The server of the box as a service of the graph: the same program in the background, known by the record that it writes itself. */

import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError, errorKinds, type ServiceOutcome, type ServiceStatus } from '@skillbox/protocol';
import type { Config } from '../../config.ts';
import { endProcess } from '../../process/tree.ts';
import { makeStateRoot, reachable, readServerRecord, type ServerRecord, serverLogFile } from '../../state.ts';
import { formatDuration } from '../../units.ts';
import type { Service } from '../graph.ts';
import { startOwnProgram } from '../programs/own-program.ts';
import type { Runtime } from '../runtime.ts';
import { recordActivity } from '../runtime-log.ts';
import type { StartOptions } from './control.ts';
import { itemStatus } from './item-status.ts';
import { faultOfError, noLongerWanted, outcome } from './outcome.ts';
import { readServiceRecord, type ServiceRecord, writeServiceRecord } from './records.ts';

/** A start may migrate a large database or close the work of a crash first. */
const startMs = 120_000;
const readyMs = 20_000;
/** Beyond the drain time: closing the database, ending sandboxes. */
const stopMarginMs = 10_000;
const pollMs = 25;
const lookMs = 2000;

type Api = Pick<Service, 'id'>;

export async function startApi(runtime: Runtime, api: Service, options: StartOptions): Promise<ServiceOutcome> {
  const since = performance.now();
  const { config } = runtime;
  if (runtime.server) return outcome(api.id, 'already-running', since, { pid: process.pid });
  const before = readServiceRecord(config.stateRoot, api.id);
  // Pulse starts it with the words of who started it by hand, such as another port.
  const words = options.restarts > 0 && before?.words ? before.words : serveWords(config);
  try {
    const running = readServerRecord(config.stateRoot);
    const { server, ours } = running ? { server: running, ours: false } : await startServer(runtime, words);
    writeServiceRecord(config.stateRoot, {
      ...recordOf(api, options, server, ours || !before ? words : (before.words ?? words), config.stateRoot),
      // Who finds it running has not started it anew.
      ...(before?.process?.pid === server.pid && before.process.startTime === server.startTime && { startedAt: before.startedAt }),
    });
    await waitUntilReady(runtime, reachable(server.url));
    if (ours) recordActivity(config.stateRoot, 'service.started', `service:${api.id}`, { pid: server.pid, url: server.url });
    return outcome(api.id, ours ? 'started' : 'already-running', since, { pid: server.pid });
  } catch (error) {
    if (!(error instanceof BoxError) || runtime.signal.aborted) throw error;
    recordActivity(config.stateRoot, 'service.failed', `service:${api.id}`, { error: error.code });
    return outcome(api.id, 'failed', since, { error: faultOfError(error) });
  }
}

/** Executions that run may finish first. A server never stops itself on behalf of a caller. */
export async function stopApi(runtime: Runtime, api: Api, { wanted }: { wanted: boolean }): Promise<ServiceOutcome> {
  const since = performance.now();
  const { stateRoot, drainTimeout } = runtime.config;
  if (runtime.server)
    return outcome(api.id, 'external', since, { pid: process.pid, detail: 'it answers this; stop it on its machine: skillbox down' });
  const record = readServiceRecord(stateRoot, api.id);
  if (record) writeServiceRecord(stateRoot, { ...record, wanted });
  const server = readServerRecord(stateRoot);
  if (!server) return outcome(api.id, 'not-running', since, { detail: record?.wanted && !wanted ? noLongerWanted : null });
  const end = await endProcess(server, {
    patienceMs: drainTimeout + stopMarginMs,
    onWait: (ms) =>
      runtime.progress(`Stopping the server, ${formatDuration(ms)} (executions may take ${formatDuration(drainTimeout)} to finish)`),
  });
  if (record) writeServiceRecord(stateRoot, { ...record, wanted, process: undefined });
  const { pid } = server;
  recordActivity(stateRoot, 'service.stopped', `service:${api.id}`, { pid, killed: end === 'killed' });
  return outcome(api.id, end === 'gone' ? 'not-running' : end, since, { pid });
}

export async function apiStatus(runtime: Runtime, api: Service): Promise<ServiceStatus> {
  const { stateRoot } = runtime.config;
  const server = readServerRecord(stateRoot);
  const record = readServiceRecord(stateRoot, api.id);
  const answers = server ? runtime.server || (await isUp(reachable(server.url))) : false;
  const known = server && record?.process?.pid === server.pid ? record : undefined;
  const down = record?.wanted === true;
  return {
    ...itemStatus(api),
    kind: api.kind,
    state: server ? (answers ? 'running' : 'down') : down ? 'down' : 'declared',
    wanted: record?.wanted ?? false,
    pid: server?.pid ?? null,
    sandbox: null,
    healthy: server ? answers : null,
    mode: null,
    modes: [],
    depends_on: [],
    started_at: known?.startedAt ?? null,
    restarts: known?.restarts ?? 0,
    log: serverLogFile(stateRoot),
    detail: server
      ? answers
        ? null
        : `pid ${server.pid} runs but does not answer at ${server.url}`
      : down
        ? 'the server of the box is gone'
        : null,
  };
}

/** Where the box answers, for who is on the same machine. */
export function apiUrl(config: Config): string | null {
  const server = readServerRecord(config.stateRoot);
  return server ? reachable(server.url) : null;
}

interface Started {
  readonly server: ServerRecord;
  readonly ours: boolean;
}

async function startServer(runtime: Runtime, words: readonly string[]): Promise<Started> {
  const { config } = runtime;
  makeStateRoot(config.stateRoot);
  const log = serverLogFile(config.stateRoot);
  const { identity, ending, failure } = await startOwnProgram(config, words, log);
  const since = performance.now();
  while (!ending()) {
    const server = readServerRecord(config.stateRoot);
    if (server?.pid === identity.pid) return { server, ours: true };
    const waited = performance.now() - since;
    if (waited > startMs || runtime.signal.aborted) {
      await endProcess(identity, { patienceMs: config.drainTimeout + stopMarginMs });
      runtime.signal.throwIfAborted();
      throw new BoxError('start_failed', `The server was not up after ${formatDuration(startMs)} and was stopped.`, {
        hint: `Its log may say why: ${log}`,
      });
    }
    runtime.progress(`Starting the server, ${formatDuration(waited)}`);
    await sleep(pollMs);
  }
  // Another was quicker by a moment, such as skillbox serve: its server is as good as ours.
  const other = ending()?.code === errorKinds.already_running.exit ? await otherServer(config.stateRoot) : undefined;
  if (other) return { server: other, ours: false };
  throw failure('The server');
}

async function otherServer(stateRoot: string): Promise<ServerRecord | undefined> {
  const since = performance.now();
  while (performance.now() - since < readyMs) {
    const record = readServerRecord(stateRoot);
    if (record) return record;
    await sleep(pollMs);
  }
  return undefined;
}

interface Readiness {
  readonly status: string;
  readonly checks: Record<string, string>;
}

async function waitUntilReady(runtime: Runtime, url: string): Promise<void> {
  const since = performance.now();
  for (;;) {
    const { status, checks } = await readiness(url);
    if (status === 'ok') return;
    const wrong = Object.entries(checks).filter(([, state]) => state !== 'ok');
    // A layer that the host lacks does not appear by waiting.
    const hopeless = wrong.length > 0 && wrong.every(([name]) => name === 'sandboxes');
    if (hopeless || performance.now() - since > readyMs) throw notReady(url, wrong, hopeless);
    runtime.signal.throwIfAborted();
    runtime.progress(`Waiting for ${wrong.map(([name]) => name).join(', ')}`);
    await sleep(250);
  }
}

async function readiness(url: string): Promise<Readiness> {
  try {
    const response = await fetch(`${url}/ready`, { signal: AbortSignal.timeout(readyMs) });
    return (await response.json()) as Readiness;
  } catch (cause) {
    const reason = cause instanceof Error ? ((cause.cause as Error | undefined)?.message ?? cause.message) : String(cause);
    return { status: 'error', checks: { server: reason } };
  }
}

async function isUp(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/livez`, { signal: AbortSignal.timeout(lookMs) })).ok;
  } catch {
    // Whatever the reason, it does not answer; that is all that is asked.
    return false;
  }
}

function notReady(url: string, wrong: readonly (readonly [string, string])[], host: boolean): BoxError {
  const what = wrong.map(([name, state]) => `${name} (${state})`).join(', ');
  return new BoxError('start_failed', `The server runs at ${url} but cannot do its work yet: ${what}.`, {
    hint: host
      ? 'Run skillbox doctor for the line that mends it, then skillbox down and up. A layer you can do without is named in the manifest: sandbox.accept_missing.'
      : 'skillbox health shows when it is ready; the log has the cause.',
  });
}

/** As they are now, whoever gave them: a flag, the environment or a file. */
function serveWords({ stateRoot, manifest, bind, port }: Config): string[] {
  const named = manifest === undefined ? [] : ['--manifest', manifest];
  return ['serve', '--state-root', stateRoot, ...named, '--bind', bind, '--port', String(port)];
}

function recordOf(
  api: Service,
  { restarts, mode }: StartOptions,
  server: ServerRecord,
  words: readonly string[],
  stateRoot: string,
): ServiceRecord {
  return {
    ...{ id: api.id, client: undefined, wanted: true, mode, restarts, words },
    selection: { client: undefined, profiles: [] },
    process: { pid: server.pid, startTime: server.startTime },
    sandbox: undefined,
    startedAt: new Date().toISOString(),
    definition: '',
    log: serverLogFile(stateRoot),
  };
}
