/** What a finished run means: the status, the output and the error of its record. */

import type { ErrorCode, ExecutionStatus } from '@skillbox/protocol';
import { parseJson } from '../json.ts';
import { validateAgainst } from '../json-schema/schema.ts';
import type { CollectProblem, RunResult } from '../sandbox/provider.ts';
import { formatDuration, formatSize } from '../units.ts';
import type { Plan } from './plan.ts';

export interface ExecutionError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details?: unknown;
}

export interface Outcome {
  readonly status: ExecutionStatus;
  /** JSON text, or null when there is none. */
  readonly output: string | null;
  readonly error: ExecutionError | null;
}

export async function outcomeOf(result: RunResult, { limits, skill }: Plan, stopReason: unknown): Promise<Outcome> {
  const failed = (code: ErrorCode, message: string, details?: unknown, output: string | null = null): Outcome => ({
    status: 'failed',
    output,
    error: { code, message, ...(details === undefined ? {} : { details }) },
  });
  if (result.end === 'timeout') {
    return {
      status: 'timeout',
      output: null,
      error: { code: 'timeout', message: `It ran longer than ${formatDuration(limits.timeoutMs)} and was stopped.` },
    };
  }
  if (result.end === 'cancelled') {
    if (stopReason === 'interrupted') return failed('interrupted', 'The server stopped while it ran.');
    return { status: 'cancelled', output: null, error: { code: 'cancelled', message: 'It was cancelled while it ran.' } };
  }
  const parsed = readOutput(result.output);
  if (result.exitCode !== 0) {
    const output = parsed.problem ? null : parsed.text;
    if (result.outOfMemory)
      return failed('memory_exceeded', `It used more than ${formatSize(limits.memoryBytes)} of memory.`, undefined, output);
    if (result.signal) return failed('killed_by_signal', `It was killed by ${result.signal}.`, undefined, output);
    return failed('exit_nonzero', `It exited with code ${result.exitCode}.`, undefined, output);
  }
  if (result.problem) return failed(...problemError(result.problem, limits));
  if (parsed.problem) return failed('output_invalid', `output.json is not valid JSON: ${parsed.problem}`);
  if (skill.definition.outputSchema && parsed.text !== null) {
    const problems = await validateAgainst(skill.definition.outputSchema, parsed.value);
    const first = problems?.[0];
    if (first)
      return failed(
        'output_schema_mismatch',
        `The output does not fit output_schema: ${first.path || '/'} ${first.message}`,
        { problems },
        parsed.text,
      );
  }
  if (skill.definition.outputSchema && parsed.text === null) {
    return failed('output_schema_mismatch', 'The skill has an output_schema and wrote no output.json.');
  }
  return { status: 'success', output: parsed.text, error: null };
}

function readOutput(bytes: Buffer | null): { text: string | null; value: unknown; problem?: string } {
  if (bytes === null) return { text: null, value: null };
  try {
    const value = parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    // Written again, so that what is stored is one line without odd white space.
    return { text: JSON.stringify(value), value };
  } catch (error) {
    return { text: null, value: null, problem: (error as Error).message };
  }
}

function problemError(problem: CollectProblem, limits: Plan['limits']): [ErrorCode, string] {
  switch (problem) {
    case 'output_not_a_file':
      return ['output_invalid', 'output.json is not a plain file.'];
    case 'output_too_large':
      return ['output_too_large', `output.json is larger than ${formatSize(limits.outputBytes)}.`];
    case 'too_many_artifacts':
      return ['too_many_artifacts', `It left more than ${limits.artifacts} files.`];
    case 'artifact_too_large':
      return ['artifact_too_large', `It left more than ${formatSize(limits.artifactBytes)} of files.`];
  }
}
