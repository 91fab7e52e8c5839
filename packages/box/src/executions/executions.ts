/** Executions: accepted, queued or run, read, followed, cancelled. What was accepted always reaches an end. */

import { createHash, randomUUID } from 'node:crypto';
import {
  BoxError,
  type Execution,
  type ExecutionRequest,
  type ExecutionSummary,
  executionRequest,
  isFinal,
  type Page,
} from '@skillbox/protocol';
import { type Caller, encodeActor } from '../access/caller.ts';
import type { Tenants } from '../access/tenants.ts';
import type { Config } from '../config.ts';
import type { Secrets } from '../secrets.ts';
import type { Catalog } from '../skills/catalog.ts';
import type { Dependencies } from '../skills/dependencies/dependencies.ts';
import type { Database } from '../store/database.ts';
import type { ExecutionRow } from '../store/tables.ts';
import { describeExecution, type Written } from './description.ts';
import type { LogEntry } from './live-log.ts';
import { createPlaces } from './places.ts';
import { type Plan, planExecution } from './plan.ts';
import { openRequest, sealRequest } from './queued-request.ts';
import { bareFinish, type ExecutionFilter, type Finish } from './records.ts';
import { persist, type Run, type RunnerParts, startRun } from './runner.ts';
import { isWaiting, type Slot, type Slots } from './slots.ts';
import { createStopwatch, type Stopwatch } from './stopwatch.ts';

export interface Executions {
  /** Throws queue_full when one of this tenant would be refused now: known before anything of it is read. */
  requirePlace(tenant: string): void;
  /** Accepted when it resolves; the id is what everything else takes. Not new when the key was used for it before. */
  start(caller: Caller, request: ExecutionRequest, idempotencyKey?: string): Promise<{ readonly id: string; readonly isNew: boolean }>;
  /**
   * Resolves when it has ended, here or on another host; with what was written when that was here, so that nobody has to read it
   * again. Rejects with unavailable when its end is known and cannot be written.
   */
  ended(id: string, signal: AbortSignal): Promise<Written | undefined>;
  get(id: string, tenant: string | undefined, filesUrl: (id: string) => string): Promise<Execution>;
  row(id: string, tenant: string | undefined): Promise<ExecutionRow>;
  list(filter: ExecutionFilter): Promise<Page<ExecutionSummary>>;
  /** Output and states after entry `after`, live while it runs. */
  follow(row: ExecutionRow, after: number, signal: AbortSignal): AsyncGenerator<LogEntry>;
  cancel(row: ExecutionRow): Promise<void>;
  /** Takes it out of the queue if it is still there: whoever asked for it has gone. */
  leaveQueue(id: string): void;
  remove(row: ExecutionRow, actor: Caller['actor']): Promise<void>;
  /** Takes over a queued execution whose host is gone. */
  resume(row: ExecutionRow): Promise<void>;
  /** Whether this process works on it, from before its row is written until its end is. */
  owns(id: string): boolean;
  /** From now on new ones are taken: this host has its lease, and what its former process left is closed. */
  accept(): void;
  /** Stops what other hosts asked to be cancelled. */
  checkCancels(): Promise<void>;
  /** Stops all local runs and takes no new ones: this host has lost its lease. What can be resumed stays in its row. */
  abandon(): void;
  readonly running: number;
  /** No more are accepted; those that run may finish until the time is up. */
  drain(timeoutMs: number): Promise<void>;
}

export interface ExecutionsParts extends RunnerParts {
  readonly config: Config;
  readonly host: string;
  readonly database: Database;
  readonly catalog: Catalog;
  readonly tenants: Tenants;
  readonly secrets: Secrets;
  readonly slots: Slots;
  readonly dependencies: Dependencies;
}

interface Active {
  readonly controller: AbortController;
  /** There once it has its slot. */
  run: Run | undefined;
  /** Resolves when the run is there; never, if it is refused in the queue. */
  readonly begun: Promise<void>;
  done: Promise<Written | undefined>;
}

/** What an execution comes with into its process. */
interface Admission {
  readonly place: ReturnType<Slots['request']>;
  readonly controller: AbortController;
  readonly watch: Stopwatch;
}

/** Told to all hosts when an execution ends. */
const channel = 'executions';
/** Told to all hosts when one should be cancelled. */
export const cancelChannel = 'execution_cancels';
const pollMs = 500;
/** How long a caller waits for the record of what has ended. */
const unwrittenPatienceMs = 10_000;
/** How long a stopping server still tries to write the ends of executions. */
const recordGraceMs = 5000;

export function createExecutions(parts: ExecutionsParts): Executions {
  const { blobs, catalog, config, database, host, images, log, metrics, provider, records, secrets, slots, tenants } = parts;
  const places = createPlaces(parts);
  const active = new Map<string, Active>();
  const owned = new Set<string>();
  let accepting = false;

  /** Waits for the slot, runs, writes the end. Never rejects: whatever happens becomes the record. */
  const process = (accepted: ExecutionRow, plan: Plan, { place, controller, watch }: Admission): void => {
    let begin = (): void => undefined;
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const entry: Active = { controller, begun, run: undefined, done: Promise.resolve(undefined) };
    const work = async (): Promise<Written | undefined> => {
      let slot: Slot | undefined;
      try {
        slot = isWaiting(place) ? await place.slot : place;
        let row = accepted;
        if (isWaiting(place)) {
          watch.lap('queue');
          row = leftQueue(accepted);
          if (!(await claim(row, controller.signal))) return await persist(parts, accepted, { ...cancelledInQueue, watch });
          watch.lap('claim');
        }
        entry.run = startRun(parts, row, plan, { watch, signal: controller.signal, slot });
        begin();
        return await entry.run.done;
      } catch (error) {
        // What was refused in the queue has spent its time there.
        if (!slot) watch.lap('queue');
        return await closeUnrun(accepted, error, watch, controller.signal);
      } finally {
        slot?.release();
        active.delete(accepted.id);
        owned.delete(accepted.id);
        database.notify(channel);
      }
    };
    active.set(accepted.id, entry);
    entry.done = work();
  };

  const leftQueue = (row: ExecutionRow): ExecutionRow => {
    const now = new Date();
    const queuedMs = Math.max(0, now.getTime() - Date.parse(row.created_at));
    metrics.queueSeconds.observe(queuedMs / 1000);
    return { ...row, status: 'running', started_at: now.toISOString(), queued_ms: queuedMs, request: null };
  };

  /**
   * From queued to running; false when it was cancelled, or taken over by another host, at the last moment. Tried again while the
   * database is away: the slot is there, and nothing else could use it either.
   */
  const claim = async (row: ExecutionRow, signal: AbortSignal): Promise<boolean> => {
    for (let attempt = 0; ; attempt += 1) {
      if (signal.aborted) throw new BoxError('cancelled', 'Cancelled while it waited for a slot.');
      try {
        return await records.markRunning(row, attempt > 0);
      } catch (error) {
        if (!(error instanceof BoxError && error.code === 'unavailable')) throw error;
        await new Promise((resolve) => setTimeout(resolve, Math.min(100 * 2 ** attempt, 2000)));
      }
    }
  };

  /** The end of what never ran: refused in the queue, or stopped by a fault of the database on its way out of it. */
  const closeUnrun = async (row: ExecutionRow, error: unknown, watch: Stopwatch, signal: AbortSignal): Promise<Written | undefined> => {
    const close = (finish: Finish): Promise<Written | undefined> => persist(parts, row, { ...finish, watch });
    const code = signal.reason === 'interrupted' ? 'shutting_down' : error instanceof BoxError ? error.code : 'internal';
    // What can be started again later waits in its row for the next server.
    if (code === 'shutting_down' && row.request !== null) return undefined;
    if (code === 'cancelled') return close(cancelledInQueue);
    if (code === 'queue_timeout') return close(bareFinish('timeout', { code, message: (error as Error).message }));
    if (code === 'shutting_down') return close(bareFinish('failed', stoppedInQueue));
    if (code === 'dependencies_failed' || code === 'dependencies_building')
      return close(bareFinish('failed', { code, message: (error as Error).message }));
    log.error({ execution: row.id, err: error }, 'an execution could not leave the queue');
    return close(bareFinish('failed', lostOnItsWay));
  };

  const requireRow = async (id: string, tenant: string | undefined): Promise<ExecutionRow> => {
    const row = await records.row(id, tenant);
    if (row) return row;
    throw new BoxError('not_found', `There is no execution ${id}.`);
  };

  return {
    get running() {
      return active.size;
    },
    row: requireRow,
    list: (filter) => records.list(filter),
    owns: (id) => owned.has(id),
    accept() {
      accepting = true;
    },

    async start(caller, request, idempotencyKey) {
      const watch = createStopwatch();
      const requestHash = idempotencyKey ? hashOf(request) : '';
      if (idempotencyKey) {
        const existing = await records.findByKey(caller.tenant, idempotencyKey, requestHash);
        if (existing) return { id: existing, isNew: false };
      }
      if (!accepting) throw new BoxError('unavailable', 'This host takes no new work until it has its lease.', { retryAfter: 1 });
      const skill = await catalog.resolve(caller.tenant, request.skill, request.version);
      const plan = await planExecution(skill, request, config, provider, images);
      if (plan.image === undefined) requireReady(provider);
      await tenants.requireRoom(caller.tenant, 1);

      const controller = new AbortController();
      const place = await places.request(skill, { signal: controller.signal, patient: !request.wait });
      const queued = isWaiting(place);
      const id = randomUUID();
      owned.add(id);
      try {
        // Only what a caller can come back for is worth starting again after a crash.
        const canResume = queued && (!request.wait || idempotencyKey !== undefined);
        const now = new Date().toISOString();
        const row: ExecutionRow = {
          ...emptyRow,
          id,
          tenant: caller.tenant,
          skill_name: skill.name,
          skill_version: skill.version,
          status: queued ? 'queued' : 'running',
          input: plan.input,
          request: canResume ? await sealRequest(request, blobs, secrets) : null,
          provider: plan.image === undefined ? provider.name : 'docker',
          host,
          actor: encodeActor(caller.actor),
          created_at: now,
          started_at: queued ? null : now,
        };
        const winner = await records.insert(row, idempotencyKey ? { key: idempotencyKey, requestHash } : undefined);
        if (winner) {
          giveUp(place, controller);
          owned.delete(id);
          return { id: winner, isNew: false };
        }
        watch.lap('claim');
        process(row, plan, { place, controller, watch });
        return { id, isNew: true };
      } catch (error) {
        giveUp(place, controller);
        // If the row was written after all, and only the answer got lost, a later heartbeat finds and closes it.
        owned.delete(id);
        throw error;
      }
    },

    async ended(id, signal) {
      const local = active.get(id);
      if (local) {
        const over = Promise.race([local.done, aborted(signal)]).then((written) => ({ written }));
        for (;;) {
          const second = tick();
          const end = await Promise.race([over, second.passed]);
          second.cancel();
          if (end) return end.written;
          refuseIfUnwritten(id, local.run);
        }
      }
      let wake = (): void => undefined;
      const stop = database.listen(channel, () => wake());
      try {
        while (!signal.aborted) {
          const row = await records.row(id, undefined);
          if (!row || isFinal(row.status as Execution['status'])) return undefined;
          await new Promise<void>((resolve) => {
            const timer = setTimeout(resolve, pollMs);
            wake = () => {
              clearTimeout(timer);
              resolve();
            };
          });
        }
      } finally {
        stop();
      }
      return undefined;
    },

    async get(id, tenant, filesUrl) {
      const row = await requireRow(id, tenant);
      const liveLog = row.finished_at ? undefined : active.get(id)?.run?.live.entries;
      return describeExecution(await records.read(row, liveLog), filesUrl);
    },

    async *follow(row, after, signal) {
      const local = active.get(row.id);
      if (local && !local.run) await Promise.race([local.begun, local.done, aborted(signal)]);
      if (local?.run) {
        for await (const entry of local.run.live.follow(after, signal)) {
          // Whoever hears of the end and asks for the record must find it there.
          if (entry.type === 'status' && entry.text !== 'running') await Promise.race([local.done, aborted(signal)]);
          yield entry;
        }
        return;
      }
      await this.ended(row.id, signal);
      const finished = await records.row(row.id, undefined);
      if (!finished || signal.aborted) return;
      const entries = await records.log(finished);
      yield* entries.filter((entry) => entry.seq > after);
      // A record that was closed from outside has no entry for its end in the log.
      const last = entries.at(-1);
      if (last?.type !== 'status' || last.text !== finished.status) {
        const seq = (last?.seq ?? 0) + 1;
        if (seq > after) yield { seq, type: 'status', time: finished.finished_at ?? new Date().toISOString(), text: finished.status };
      }
    },

    async remove(row, actor) {
      if (isFinal(row.status as Execution['status'])) return records.remove(row, actor);
      throw new BoxError('not_finished', `The execution is ${row.status}.`);
    },

    async cancel(row) {
      if (isFinal(row.status as Execution['status'])) throw new BoxError('already_finished', `The execution has ended: ${row.status}.`);
      await records.requestCancel(row.id);
      const local = active.get(row.id);
      if (local) local.controller.abort('cancelled');
      else database.notify(cancelChannel);
    },

    requirePlace: (tenant) => slots.requirePlace(tenant),

    leaveQueue(id) {
      const local = active.get(id);
      if (local && !local.run) local.controller.abort('cancelled');
    },

    async resume(row) {
      if (!row.request) throw new BoxError('internal', `Execution ${row.id} cannot be resumed.`);
      if (owned.has(row.id)) return;
      owned.add(row.id);
      try {
        const controller = new AbortController();
        const skill = await catalog.resolve(row.tenant, row.skill_name, row.skill_version);
        const stored = await openRequest(row.request, blobs, secrets);
        const request = executionRequest.parse({
          skill: skill.name,
          version: skill.version,
          input: JSON.parse(row.input),
          wait: false,
          ...stored,
        });
        const plan = await planExecution(skill, request, config, provider, images);
        const place = await places.request(skill, { signal: controller.signal, patient: true, unbounded: true });
        // Through the queue even when a slot is free: that is where a row becomes running.
        const watch = createStopwatch(Math.max(0, Date.now() - Date.parse(row.created_at)));
        process(row, plan, { place: isWaiting(place) ? place : { slot: Promise.resolve(place) }, controller, watch });
      } catch (error) {
        owned.delete(row.id);
        throw error;
      }
    },

    async checkCancels() {
      for (const id of await records.cancelRequested([...active.keys()])) active.get(id)?.controller.abort('cancelled');
    },

    abandon() {
      accepting = false;
      for (const { controller } of active.values()) controller.abort('interrupted');
    },

    async drain(timeoutMs) {
      slots.close();
      const all = Promise.all([...active.values()].map(({ done }) => done));
      const timer = setTimeout(() => this.abandon(), timeoutMs);
      // A database that stays away must not keep the server from stopping: the next start closes what is open.
      await Promise.race([all, new Promise((resolve) => setTimeout(resolve, timeoutMs + recordGraceMs).unref())]);
      clearTimeout(timer);
    },
  };
}

/** Fields that have no value at acceptance. */
const emptyRow = {
  request: null,
  output: null,
  log: null,
  log_size: 0,
  error: null,
  exit_code: null,
  signal: null,
  queued_ms: 0,
  duration_ms: null,
  peak_memory_bytes: null,
  cpu_ms: null,
  timings: null,
  warm: null,
  cancel_requested: 0,
  finished_at: null,
};

const cancelledInQueue = bareFinish('cancelled', { code: 'cancelled', message: 'It was cancelled while it waited.' });
const lostOnItsWay = { code: 'unavailable', message: 'The database did not answer when its turn came; it did not run.' } as const;
const stoppedInQueue = { code: 'interrupted', message: 'The server stopped before it ran.' } as const;

/** Who waits is told after a while; the record is written when it can be. */
function refuseIfUnwritten(id: string, run: Run | undefined): void {
  if (!run?.unwritten || performance.now() - run.unwritten.since < unwrittenPatienceMs) return;
  throw new BoxError('unavailable', `It has ended, and its record cannot be written yet: ${run.unwritten.error.message}`, {
    retryAfter: 5,
    details: { execution_id: id },
  });
}

function tick(): { readonly passed: Promise<undefined>; cancel(): void } {
  let timer: NodeJS.Timeout | undefined;
  const passed = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), 1000).unref();
  });
  return { passed, cancel: () => clearTimeout(timer) };
}

function requireReady(provider: ExecutionsParts['provider']): void {
  if (provider.report.ready) return;
  const missing = provider.report.layers.filter((layer) => !layer.present && !layer.accepted).map((layer) => layer.name);
  throw new BoxError('sandbox_unavailable', `This host lacks a layer of the sandbox: ${missing.join(', ')}.`, { details: { missing } });
}

function giveUp(place: ReturnType<Slots['request']>, controller: AbortController): void {
  if (!isWaiting(place)) {
    place.release();
    return;
  }
  controller.abort('cancelled');
  // Its turn may have come in the meantime; a slot that nobody takes would be lost to the tenant for good.
  place.slot.then(
    (slot) => slot.release(),
    () => undefined,
  );
}

const hashOf = (request: ExecutionRequest): string =>
  createHash('sha256')
    .update(JSON.stringify({ ...request, wait: undefined }))
    .digest('hex');

const aborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
