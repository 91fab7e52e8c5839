/** An execution as people want it: how it went, what it gave, and the log when it went wrong. */

import { type Execution, type ExecutionTimings, errorKinds, executionPhases, isErrorCode, isFinal } from '@skillbox/protocol';
import { formatDuration, formatSize } from '../units.ts';
import type { Io } from './io.ts';
import { oneLine, type Paint, printable, type Tone } from './paint.ts';
import { formatFacts } from './table.ts';

export interface ExecutionViewOptions {
  /** Also when it went well. */
  readonly logs: boolean;
  /** Where artifacts were saved to, when they were. */
  readonly saved?: string;
}

export function executionView(record: Execution, { paint }: Io, { logs, saved }: ExecutionViewOptions): string {
  const parts = [statusLine(record, paint)];
  if (record.error) parts.push(errorLines(record.error, paint));
  if (record.output !== null && record.output !== undefined) parts.push(printable(JSON.stringify(record.output, null, 2)));
  const failed = isFinal(record.status) && record.status !== 'success';
  if (record.logs !== '' && (logs || failed)) parts.push(section('Log', printable(record.logs).trimEnd(), paint));
  if (record.files_list.length > 0) parts.push(artifactLines(record, paint, saved));
  if (!isFinal(record.status)) parts.push(paint('dim', `Follow it: skillbox exec logs ${record.execution_id} --follow`));
  return parts.join('\n\n');
}

function statusLine(record: Execution, paint: Paint): string {
  const [mark, tone] = marks[record.status];
  const head = `${paint(tone, `${mark} ${record.status}`)}  ${paint('bold', record.skill_name)} ${record.skill_version}`;
  const took = record.duration_ms === null ? '' : `  ${formatDuration(record.duration_ms)}`;
  const facts = formatFacts(
    [
      ['id', record.execution_id],
      ['queued', record.queued_ms > 0 ? formatDuration(record.queued_ms) : undefined],
      ['time', record.timings ? phaseLine(record.timings) : undefined],
      ['sandbox', record.warm === null ? undefined : record.warm ? 'warm: it stood ready' : 'cold: made for it'],
      ['memory', record.peak_memory_bytes ? formatSize(record.peak_memory_bytes) : undefined],
      ['exit code', record.exit_code ? String(record.exit_code) : undefined],
      ['signal', record.signal ?? undefined],
    ],
    paint,
  );
  return `${head}${paint('dim', took)}\n${facts}`;
}

/** What it waited for and what it did, in the order of time. */
function phaseLine(timings: ExecutionTimings): string {
  const reached = executionPhases.filter((phase) => timings[phase] !== null);
  return reached.map((phase) => `${phase} ${fineDuration(timings[phase] ?? 0)}`).join(' · ');
}

/** Below a tenth of a second fractions matter. */
const fineDuration = (ms: number): string => (ms < 100 ? `${Number(ms.toFixed(2))}ms` : formatDuration(ms));

const marks: Record<Execution['status'], readonly [string, Tone]> = {
  success: ['✓', 'green'],
  failed: ['✗', 'red'],
  timeout: ['✗', 'red'],
  cancelled: ['✗', 'yellow'],
  running: ['…', 'cyan'],
  queued: ['…', 'cyan'],
};

/** Whose advice is to read the log, which stands right below. */
const plain: ReadonlySet<string> = new Set(['exit_nonzero', 'killed_by_signal', 'cancelled']);

function errorLines(error: NonNullable<Execution['error']>, paint: Paint): string {
  const hint = isErrorCode(error.code) && !plain.has(error.code) ? errorKinds[error.code].hint : undefined;
  return `${oneLine(error.message)} ${paint('dim', `(${error.code})`)}${hint ? `\n${paint('dim', hint)}` : ''}`;
}

function artifactLines(record: Execution, paint: Paint, saved: string | undefined): string {
  const width = Math.max(...record.files_list.map((file) => file.path.length));
  const lines = record.files_list.map((file) => `  ${oneLine(file.path).padEnd(width)}  ${paint('dim', formatSize(file.size))}`);
  const where =
    saved === undefined ? paint('dim', `Fetch them: skillbox exec files ${record.execution_id} --download DIR`) : `Saved in ${saved}`;
  return `${paint('dim', 'Artifacts')}\n${lines.join('\n')}\n${where}`;
}

const section = (title: string, text: string, paint: Paint): string => `${paint('dim', title)}\n${text}`;
