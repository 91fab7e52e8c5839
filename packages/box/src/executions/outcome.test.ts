import { describe, expect, it } from 'vitest';
import type { RunResult } from '../sandbox/provider.ts';
import { outcomeOf } from './outcome.ts';
import type { Plan } from './plan.ts';

const result: RunResult = {
  warm: false,
  end: 'exited',
  exitCode: 0,
  signal: null,
  outOfMemory: false,
  output: null,
  problem: null,
  skipped: [],
  droppedLogBytes: 0,
  cpuMs: 1,
  peakMemoryBytes: 1,
};
const plan = (outputSchema: object | null = null) =>
  ({
    limits: { timeoutMs: 90_000, memoryBytes: 64 * 2 ** 20, outputBytes: 1024, artifacts: 3, artifactBytes: 2048 },
    skill: { definition: { outputSchema } },
  }) as unknown as Plan;
const outcome = (more: Partial<RunResult>, schema: object | null = null, reason?: string) =>
  outcomeOf({ ...result, ...more }, plan(schema), reason);

describe('the end of a run', () => {
  it.each<[string, Partial<RunResult>, object]>([
    ['all well', { output: Buffer.from('{"a":1}') }, { status: 'success', output: '{"a":1}', error: null }],
    ['no output', {}, { status: 'success', output: null, error: null }],
    ['an output of null', { output: Buffer.from('null') }, { status: 'success', output: 'null' }],
    ['white space around it', { output: Buffer.from(' [ 1 ]\n') }, { status: 'success', output: '[1]' }],
    [
      'timeout before all else',
      { end: 'timeout', exitCode: null, signal: 'SIGKILL', outOfMemory: true },
      { status: 'timeout', error: { code: 'timeout' } },
    ],
    ['cancelled', { end: 'cancelled', exitCode: null }, { status: 'cancelled', error: { code: 'cancelled' } }],
    [
      'memory before the signal it was killed with',
      { exitCode: null, signal: 'SIGKILL', outOfMemory: true },
      { status: 'failed', error: { code: 'memory_exceeded' } },
    ],
    ['memory when a child was killed and the parent gave up', { exitCode: 1, outOfMemory: true }, { error: { code: 'memory_exceeded' } }],
    ['a child that was killed and a parent that coped', { outOfMemory: true }, { status: 'success' }],
    ['a signal', { exitCode: null, signal: 'SIGABRT' }, { error: { code: 'killed_by_signal', message: 'It was killed by SIGABRT.' } }],
    ['a code', { exitCode: 9 }, { error: { code: 'exit_nonzero', message: 'It exited with code 9.' } }],
    ['a code and output all the same', { exitCode: 9, output: Buffer.from('1') }, { output: '1', error: { code: 'exit_nonzero' } }],
    ['a code and broken output', { exitCode: 9, output: Buffer.from('{') }, { output: null, error: { code: 'exit_nonzero' } }],
    ['broken output', { output: Buffer.from('{') }, { status: 'failed', output: null, error: { code: 'output_invalid' } }],
    ['output nested too deeply', { output: Buffer.from('['.repeat(300) + ']'.repeat(300)) }, { error: { code: 'output_invalid' } }],
    ['output with a byte order mark', { output: Buffer.from('\ufeff1') }, { status: 'success', output: '1' }],
    ['a link as output', { problem: 'output_not_a_file' }, { error: { code: 'output_invalid' } }],
    [
      'too much output',
      { problem: 'output_too_large' },
      { error: { code: 'output_too_large', message: 'output.json is larger than 1Ki.' } },
    ],
    ['too many files', { problem: 'too_many_artifacts' }, { error: { code: 'too_many_artifacts', message: 'It left more than 3 files.' } }],
    ['too large files', { problem: 'artifact_too_large' }, { error: { code: 'artifact_too_large' } }],
  ])('%s', async (_what, more, expected) => {
    expect(await outcome(more)).toMatchObject(expected);
  });

  it('by a server that stops is interrupted, not cancelled', async () => {
    expect(await outcome({ end: 'cancelled', exitCode: null }, null, 'interrupted')).toMatchObject({
      status: 'failed',
      error: { code: 'interrupted' },
    });
  });

  it('is no success when the output does not fit, or is missing where there is a schema', async () => {
    const schema = { type: 'object', required: ['a'] };
    expect(await outcome({ output: Buffer.from('{"a":1}') }, schema)).toMatchObject({ status: 'success' });
    expect(await outcome({ output: Buffer.from('{}') }, schema)).toMatchObject({
      status: 'failed',
      output: '{}',
      error: { code: 'output_schema_mismatch' },
    });
    expect(await outcome({}, schema)).toMatchObject({ status: 'failed', error: { code: 'output_schema_mismatch' } });
  });
});
