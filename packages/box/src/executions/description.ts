/** An execution as callers see it. Apart from the database, so that a command line that shows one does not load it. */

import type { Artifact, Execution, ExecutionStatus, ExecutionSummary } from '@skillbox/protocol';
import type { ExecutionRow } from '../store/tables.ts';
import { type LogEntry, logText } from './live-log.ts';

/** An end as it was written: what reading it again would give. */
export interface Written {
  readonly row: ExecutionRow;
  readonly files: readonly Artifact[];
  readonly log: readonly LogEntry[];
}

export function describeExecution({ row, files, log }: Written, filesUrl: (id: string) => string): Execution {
  return {
    ...summarizeExecution(row),
    input: JSON.parse(row.input),
    output: row.output === null ? null : JSON.parse(row.output),
    logs: logText(log),
    files_list: [...files],
    files_url: files.length > 0 ? filesUrl(row.id) : null,
  };
}

export const summaryColumns = [
  'id',
  'tenant',
  'skill_name',
  'skill_version',
  'status',
  'error',
  'exit_code',
  'signal',
  'queued_ms',
  'duration_ms',
  'peak_memory_bytes',
  'cpu_ms',
  'timings',
  'warm',
  'provider',
  'host',
  'created_at',
  'started_at',
  'finished_at',
] as const;

export function summarizeExecution(row: Pick<ExecutionRow, (typeof summaryColumns)[number]>): ExecutionSummary {
  const { id, tenant, status, error, ...rest } = row;
  return {
    execution_id: id,
    skill_name: rest.skill_name,
    skill_version: rest.skill_version,
    tenant_id: tenant,
    status: status as ExecutionStatus,
    error: error === null ? null : (JSON.parse(error) as ExecutionSummary['error']),
    exit_code: rest.exit_code,
    signal: rest.signal,
    queued_ms: rest.queued_ms,
    duration_ms: rest.duration_ms,
    timings: rest.timings === null ? null : (JSON.parse(rest.timings) as ExecutionSummary['timings']),
    warm: rest.warm === null ? null : rest.warm === 1,
    peak_memory_bytes: rest.peak_memory_bytes,
    cpu_ms: rest.cpu_ms,
    provider: rest.provider,
    host: rest.host,
    created_at: rest.created_at,
    started_at: rest.started_at,
    finished_at: rest.finished_at,
  };
}
