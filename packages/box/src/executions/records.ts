/** Executions in the database: one row from acceptance to its end, and the end is written exactly once. */

import { type Artifact, BoxError, type ExecutionStatus, type ExecutionSummary, type Page } from '@skillbox/protocol';
import type { Caller } from '../access/caller.ts';
import { addUsage, usageStatement } from '../access/tenants.ts';
import type { Events } from '../events/events.ts';
import type { Blobs } from '../store/blobs.ts';
import { decodeCursor, encodeCursor } from '../store/cursor.ts';
import type { Database, Step } from '../store/database.ts';
import { statement } from '../store/statement.ts';
import type { ExecutionRow } from '../store/tables.ts';
import { summarizeExecution, summaryColumns, type Written } from './description.ts';
import { type LogEntry, logText } from './live-log.ts';
import type { ExecutionError, Outcome } from './outcome.ts';
import type { Stopwatch } from './stopwatch.ts';

export interface ExecutionFilter {
  readonly tenant?: string;
  readonly skill?: string;
  readonly status?: ExecutionStatus;
  readonly since?: string;
  readonly limit: number;
  readonly cursor?: string;
}

export interface Finish extends Outcome {
  readonly files: readonly Artifact[];
  readonly log: readonly LogEntry[];
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly durationMs: number | null;
  readonly peakMemoryBytes: number | null;
  readonly cpuMs: number | null;
  readonly warm: boolean | null;
  /** Absent when the process that ran it is gone. */
  readonly watch?: Stopwatch;
}

export interface Records {
  /** Throws idempotency_conflict when the key was used for another request; returns the other id when for the same. */
  insert(row: ExecutionRow, idempotency?: { key: string; requestHash: string }): Promise<string | undefined>;
  findByKey(tenant: string, key: string, requestHash: string): Promise<string | undefined>;
  /** From queued to running; false when it was cancelled or taken meanwhile. `again`: an earlier try may have been written. */
  markRunning(row: Pick<ExecutionRow, 'id' | 'host' | 'started_at' | 'queued_ms'>, again?: boolean): Promise<boolean>;
  /** Writes the end; undefined when somebody else has closed it already. */
  finish(row: ExecutionRow, finish: Finish): Promise<Written | undefined>;
  row(id: string, tenant: string | undefined): Promise<ExecutionRow | undefined>;
  /** What stands in the database, and in `liveLog` what a run that goes on has said. */
  read(row: ExecutionRow, liveLog?: readonly LogEntry[]): Promise<Written>;
  list(filter: ExecutionFilter): Promise<Page<ExecutionSummary>>;
  files(id: string): Promise<Artifact[]>;
  log(row: ExecutionRow): Promise<LogEntry[]>;
  requestCancel(id: string): Promise<void>;
  /** Only what has ended; its artifacts and log go with it and stop counting. */
  remove(row: ExecutionRow, actor: Caller['actor']): Promise<void>;
  cancelRequested(ids: readonly string[]): Promise<string[]>;
  /** Ids, oldest first. */
  unfinished(host: string): Promise<string[]>;
  adopt(id: string, from: string, to: string): Promise<boolean>;
}

/** Logs up to this many characters stand in the row; longer ones are a blob. */
const inlineLog = 16 * 1024;
const blobMark = 'blob:';
const none: readonly never[] = [];

export function createRecords(database: Database, blobs: Blobs, events: Events): Records {
  const { kysely } = database;

  const insertRow = statement<ExecutionRow, unknown>(columns, (row) => kysely.insertInto('executions').values(row));
  const endRow = statement<Pick<ExecutionRow, 'id' | 'host' | (typeof endColumns)[number]>, unknown>(
    ['id', 'host', ...endColumns],
    ({ id, host, ...values }) =>
      kysely
        .updateTable('executions')
        .set(values)
        .where('id', '=', id)
        .where('host', '=', host)
        .where('status', 'in', ['queued', 'running']),
  );
  const addBytes = usageStatement(kysely);

  const findByKey: Records['findByKey'] = async (tenant, key, requestHash) => {
    const row = await kysely
      .selectFrom('idempotency_keys')
      .selectAll()
      .where('tenant', '=', tenant)
      .where('key', '=', key)
      .executeTakeFirst();
    if (!row) return undefined;
    if (row.request_hash === requestHash) return row.execution_id;
    throw new BoxError('idempotency_conflict', 'This Idempotency-Key was used with another request.');
  };

  const storeLog = async (entries: readonly LogEntry[]): Promise<string | null> => {
    if (entries.length === 0) return null;
    const text = JSON.stringify(entries);
    if (text.length <= inlineLog) return text;
    return `${blobMark}${(await blobs.put(Buffer.from(text))).digest}`;
  };

  const readLog = async (stored: string | null): Promise<LogEntry[]> => {
    if (stored === null) return [];
    const text = stored.startsWith(blobMark) ? (await blobs.read(stored.slice(blobMark.length))).toString('utf8') : stored;
    return JSON.parse(text) as LogEntry[];
  };

  const files: Records['files'] = async (id) => {
    const rows = await kysely
      .selectFrom('execution_files')
      .select(['path', 'size', 'digest'])
      .where('execution_id', '=', id)
      .orderBy('path')
      .execute();
    return rows.map(({ path, size, digest }) => ({ path, size, sha256: digest }));
  };

  return {
    findByKey,
    files,
    log: (row) => readLog(row.log),

    async insert(row, idempotency) {
      try {
        const { id, tenant, actor, created_at } = row;
        const steps: Step[] = [{ query: () => insertRow(row) }];
        if (idempotency) {
          const { key, requestHash } = idempotency;
          const claim = { tenant, key, request_hash: requestHash, execution_id: id, created_at };
          steps.push({ query: () => kysely.insertInto('idempotency_keys').values(claim).compile() });
        }
        const data = { skill: row.skill_name, version: row.skill_version, status: row.status };
        const event = { tenant, actor: actorOf(actor), subject: subjectOf(id), type: 'execution.created', data };
        steps.push({ query: () => events.entry(event) });
        await database.batch(steps);
        events.announce();
        return undefined;
      } catch (error) {
        const winner = idempotency && (await findByKey(row.tenant, idempotency.key, idempotency.requestHash));
        if (winner) return winner;
        throw error;
      }
    },

    async markRunning({ id, host, started_at, queued_ms }, again = false) {
      const { numUpdatedRows } = await kysely
        .updateTable('executions')
        .set({ status: 'running', started_at, queued_ms, request: null })
        .where('id', '=', id)
        .where('status', 'in', again ? ['queued', 'running'] : ['queued'])
        .where('host', '=', host)
        .where('cancel_requested', '=', 0)
        .executeTakeFirst();
      return Number(numUpdatedRows) > 0;
    },

    async finish(row, finish) {
      const { id, tenant, host, actor } = row;
      const log = await storeLog(finish.log);
      const logSize = Buffer.byteLength(logText(finish.log));
      const ended = {
        status: finish.status,
        request: null,
        output: finish.output,
        log,
        log_size: logSize,
        error: finish.error ? JSON.stringify(finish.error) : null,
        exit_code: finish.exitCode,
        signal: finish.signal,
        duration_ms: finish.durationMs,
        peak_memory_bytes: finish.peakMemoryBytes,
        cpu_ms: finish.cpuMs,
        warm: finish.warm === null ? null : Number(finish.warm),
        finished_at: new Date().toISOString(),
      };
      const files = finish.files.toSorted((one, other) => Buffer.compare(Buffer.from(one.path), Buffer.from(other.path)));
      const steps: Step[] = [];
      // A statement takes so many values and no more.
      for (let at = 0; at < files.length; at += 1000) {
        const rows = files.slice(at, at + 1000).map(({ path, size, sha256 }) => ({ execution_id: id, tenant, path, size, digest: sha256 }));
        steps.push({ query: () => kysely.insertInto('execution_files').values(rows).compile() });
      }
      const data = { status: finish.status, ...(finish.error && { error: finish.error.code }), duration_ms: finish.durationMs };
      const event = { tenant, actor: actorOf(actor), subject: subjectOf(id), type: 'execution.finished', data };
      steps.push({ query: () => events.entry(event) });
      const bytes = files.reduce((sum, file) => sum + file.size, logSize);
      if (bytes > 0) steps.push({ query: () => addBytes({ tenant, bytes }) });
      // Last of all, so that its timings have what it took to write the rest.
      const end = (): typeof ended & { timings: string | null } => {
        finish.watch?.lap('record');
        return { ...ended, timings: finish.watch ? JSON.stringify(finish.watch.read()) : null };
      };
      let values = { ...ended, timings: null as string | null };
      steps.push({
        query() {
          values = end();
          return endRow({ id, host, ...values });
        },
        mustChange: true,
      });
      // Another host may have closed it, because this one seemed gone: that record stands.
      if (!(await database.batch(steps))) return undefined;
      events.announce();
      return { row: { ...row, ...values }, files, log: finish.log };
    },

    async row(id, tenant) {
      let query = kysely.selectFrom('executions').selectAll().where('id', '=', id);
      if (tenant !== undefined) query = query.where('tenant', '=', tenant);
      return query.executeTakeFirst();
    },

    async read(row, liveLog) {
      return { row, files: row.finished_at ? await files(row.id) : [], log: liveLog ?? (await readLog(row.log)) };
    },

    async list({ tenant, skill, status, since, limit, cursor }) {
      let query = kysely
        .selectFrom('executions')
        .select(summaryColumns)
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(limit + 1);
      if (tenant !== undefined) query = query.where('tenant', '=', tenant);
      if (skill !== undefined) query = query.where('skill_name', '=', skill);
      if (status !== undefined) query = query.where('status', '=', status);
      if (since !== undefined) query = query.where('created_at', '>=', new Date(since).toISOString());
      if (cursor !== undefined) {
        const [createdAt, id] = decodeCursor(cursor, 2);
        query = query.where('created_at', '<=', createdAt).where(({ eb, or }) => or([eb('created_at', '<', createdAt), eb('id', '<', id)]));
      }
      const rows = await query.execute();
      const items = rows.slice(0, limit);
      const last = items.at(-1);
      return {
        items: items.map(summarizeExecution),
        next_cursor: rows.length > limit && last ? encodeCursor(last.created_at, last.id) : null,
      };
    },

    async remove(row, actor) {
      const kept = await files(row.id);
      await database.transaction(async (tx) => {
        const { numDeletedRows } = await tx
          .deleteFrom('executions')
          .where('id', '=', row.id)
          .where('status', 'not in', ['queued', 'running'])
          .executeTakeFirst();
        if (Number(numDeletedRows) === 0) return;
        await tx.deleteFrom('execution_files').where('execution_id', '=', row.id).execute();
        await tx.deleteFrom('idempotency_keys').where('execution_id', '=', row.id).execute();
        await addUsage(tx, row.tenant, -(row.log_size + kept.reduce((sum, file) => sum + file.size, 0)));
        await events.append(
          { tenant: row.tenant, actor, subject: subjectOf(row.id), type: 'execution.deleted', data: { skill: row.skill_name } },
          tx,
        );
      });
    },

    async requestCancel(id) {
      await kysely
        .updateTable('executions')
        .set({ cancel_requested: 1 })
        .where('id', '=', id)
        .where('status', 'in', ['queued', 'running'])
        .execute();
    },

    async cancelRequested(ids) {
      if (ids.length === 0) return [];
      const rows = await kysely.selectFrom('executions').select('id').where('id', 'in', ids).where('cancel_requested', '=', 1).execute();
      return rows.map(({ id }) => id);
    },

    async unfinished(host) {
      const rows = await kysely
        .selectFrom('executions')
        .select('id')
        .where('host', '=', host)
        .where('status', 'in', ['queued', 'running'])
        .orderBy('created_at')
        .execute();
      return rows.map(({ id }) => id);
    },

    async adopt(id, from, to) {
      const { numUpdatedRows } = await kysely
        .updateTable('executions')
        .set({ host: to })
        .where('id', '=', id)
        .where('host', '=', from)
        .where('status', '=', 'queued')
        .executeTakeFirst();
      return Number(numUpdatedRows) > 0;
    },
  };
}

/** An end without a run: cancelled in the queue, interrupted by a crash. */
export function bareFinish(status: ExecutionStatus, error: ExecutionError, log: readonly LogEntry[] = none): Finish {
  return {
    status,
    error,
    output: null,
    files: none,
    log,
    exitCode: null,
    signal: null,
    durationMs: null,
    peakMemoryBytes: null,
    cpuMs: null,
    warm: null,
  };
}

function actorOf(text: string): Caller['actor'] {
  const [kind = 'atm', id = ''] = text.split(':');
  return { kind: kind as Caller['actor']['kind'], id };
}

const subjectOf = (id: string) => ({ type: 'execution', id });

const endColumns = [
  'status',
  'request',
  'output',
  'log',
  'log_size',
  'error',
  'exit_code',
  'signal',
  'duration_ms',
  'timings',
  'warm',
  'peak_memory_bytes',
  'cpu_ms',
  'finished_at',
] as const;

const columns = [...new Set([...summaryColumns, ...endColumns, 'input', 'cancel_requested', 'actor'] as const)];
