import { z } from 'zod';
import { executionId, skillName, skillVersion, tenantId, timestamp, versionOrLatest } from './ids.ts';

export const executionStatuses = ['queued', 'running', 'success', 'failed', 'timeout', 'cancelled'] as const;
export const executionStatus = z.enum(executionStatuses);
export type ExecutionStatus = (typeof executionStatuses)[number];
export const isFinal = (status: ExecutionStatus): boolean => status !== 'queued' && status !== 'running';

export const artifact = z.object({ path: z.string(), size: z.number().int(), sha256: z.string() }).meta({ id: 'Artifact' });

export const executionPhases = ['queue', 'claim', 'sandbox', 'run', 'collect', 'record'] as const;
export type ExecutionPhase = (typeof executionPhases)[number];

const phase = z.number().nonnegative().nullable();
export const executionTimings = z
  .object({
    queue: z.number().nonnegative().describe('Waiting for a slot, and for dependencies that are being installed'),
    claim: phase.describe('Finding the skill, checking the input, writing the row that accepts it'),
    sandbox: phase.describe('Getting a sandbox: one that stood ready, or a new one until its program can start'),
    run: phase.describe('The program, from its job to its exit'),
    collect: phase.describe('Fetching output and artifacts, storing them, checking the output'),
    record: phase.describe('Writing the end, up to its commit'),
  })
  .describe(
    'Where the time went, in milliseconds to the microsecond; null for a phase that was not reached. What comes after the commit is in the header Server-Timing of the answer and in /metrics',
  )
  .meta({ id: 'ExecutionTimings' });

export const execution = z
  .object({
    execution_id: executionId,
    skill_name: skillName,
    skill_version: skillVersion,
    tenant_id: tenantId,
    status: executionStatus,
    input: z.unknown(),
    output: z.unknown().describe('What the skill wrote to SANDBOX_OUTPUT; null when it wrote nothing'),
    logs: z.string().describe('stdout and stderr in order, cut with a mark when too long'),
    files_list: z.array(artifact),
    files_url: z.string().nullable().describe('Link to all artifacts as tar.gz, good for an hour without a key; made when read'),
    error: z.object({ code: z.string(), message: z.string(), details: z.unknown().optional() }).nullable(),
    exit_code: z.number().int().nullable(),
    signal: z.string().nullable(),
    queued_ms: z.number().int().describe('Time spent waiting for a slot'),
    duration_ms: z.number().int().nullable().describe('Time of the run itself, without the queue'),
    timings: executionTimings.nullable().describe('null until it has ended, and when the server that ran it is gone'),
    warm: z.boolean().nullable().describe('Whether a sandbox that stood ready served it; null when it got none'),
    peak_memory_bytes: z.number().int().nullable(),
    cpu_ms: z.number().int().nullable(),
    provider: z.string().nullable(),
    host: z.string().nullable(),
    created_at: timestamp,
    started_at: timestamp.nullable(),
    finished_at: timestamp.nullable(),
  })
  .meta({ id: 'Execution' });

export const executionSummary = execution
  .omit({ input: true, output: true, logs: true, files_list: true, files_url: true })
  .meta({ id: 'ExecutionSummary' });

const spread = z.object({ p50: z.number(), p95: z.number() }).describe('In milliseconds').meta({ id: 'Spread' });

export const executionWindows = ['15m', '1h', '6h', '24h'] as const;

export const executionFigures = z
  .object({
    since: timestamp,
    until: timestamp,
    step_seconds: z.number().int().describe('Length of a point in time'),
    complete: z.boolean().describe('false: so much ran that only the newest part of the time was counted'),
    running: z.number().int().describe('That run now'),
    queued: z.number().int().describe('That wait now'),
    points: z
      .array(z.object({ time: timestamp, success: z.number().int(), failed: z.number().int(), other: z.number().int() }))
      .describe('By when they were created; failed includes timeout, other is cancelled or not ended; times without any are left out'),
    sampled: z.number().int().describe('The newest ones, of which the times below are'),
    total: spread.nullable().describe('All phases together; null when none has ended'),
    phases: z.array(spread.extend({ phase: z.enum(executionPhases) })).describe('Those that were reached'),
    warm: z.number().min(0).max(1).nullable().describe('Share that a sandbox that stood ready served'),
    errors: z.array(z.object({ code: z.string(), count: z.number().int() })).describe('Most frequent first'),
    skills: z
      .array(
        z.object({
          skill: skillName,
          runs: z.number().int(),
          failed: z.number().int(),
          total: spread.nullable(),
          last_at: timestamp,
        }),
      )
      .describe('Most used first'),
  })
  .meta({ id: 'ExecutionFigures' });

export const inputFilePath = z
  .string()
  .min(1)
  .max(512)
  .refine(
    (path) =>
      !path.startsWith('/') && !path.includes('\0') && path.split('/').every((part) => part !== '' && part !== '.' && part !== '..'),
    {
      message: 'a relative path without empty, . or .. parts',
    },
  );

export const executionRequest = z
  .strictObject({
    skill: skillName,
    version: versionOrLatest.default('latest'),
    input: z.unknown().optional().describe('Any JSON; the skill finds it in /sandbox/input.json and SANDBOX_INPUT. Default {}'),
    env: z.record(z.string(), z.string()).default({}).describe('Extra environment variables'),
    files: z
      .record(inputFilePath, z.base64().describe('Contents in base64'))
      .default({})
      .describe('Input files, path to contents; the skill finds them under SANDBOX_INPUT_DIR'),
    timeout: z
      .union([z.string().regex(/^\d+(\.\d+)?(ms|s|m|h)$/), z.number().positive().max(86_400)])
      .optional()
      .describe('Time limit of the run: seconds, or a text such as 90s or 2m; cut to the server maximum'),
    wait: z.boolean().default(true).describe('true: answer with the finished record; false: 202 at once'),
  })
  .meta({ id: 'ExecutionRequest' });

export type Artifact = z.infer<typeof artifact>;
export type Execution = z.infer<typeof execution>;
export type ExecutionTimings = z.infer<typeof executionTimings>;
export type ExecutionSummary = z.infer<typeof executionSummary>;
export type ExecutionFigures = z.infer<typeof executionFigures>;
export type ExecutionRequest = z.infer<typeof executionRequest>;
