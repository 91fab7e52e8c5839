/** Runs one planned execution and writes its end. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Artifact, BoxError } from '@skillbox/protocol';
import type { Tenants } from '../access/tenants.ts';
import { diskTrouble } from '../disk-trouble.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { ImageRunner, Provider, RunRequest, RunResult } from '../sandbox/provider.ts';
import type { SkillCache } from '../skills/cache.ts';
import type { Dependencies } from '../skills/dependencies/dependencies.ts';
import type { Blobs } from '../store/blobs.ts';
import type { ExecutionRow } from '../store/tables.ts';
import { formatSize } from '../units.ts';
import type { Written } from './description.ts';
import { createLiveLog, type LiveLog } from './live-log.ts';
import { outcomeOf } from './outcome.ts';
import { type Plan, sandboxEnv, sandboxInputs } from './plan.ts';
import { bareFinish, type Finish, type Records } from './records.ts';
import type { Slot } from './slots.ts';
import type { Stopwatch } from './stopwatch.ts';
import { warmRecipe } from './warmth.ts';

export interface RunnerParts {
  readonly provider: Provider;
  /** For skills that name an image. */
  readonly images?: ImageRunner | undefined;
  readonly cache: SkillCache;
  readonly dependencies: Pick<Dependencies, 'mount'>;
  readonly blobs: Blobs;
  readonly tenants: Pick<Tenants, 'requireRoom'>;
  readonly records: Records;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Folder for logs of runs that last, in case the server is killed. */
  readonly spoolFolder: string;
}

export const spoolFile = (folder: string, id: string): string => join(folder, `${id}.jsonl`);

export interface Run {
  readonly live: LiveLog;
  /** Resolves when the end is written; with nothing when another host had closed it. */
  readonly done: Promise<Written | undefined>;
  /** There while its end is known and cannot be written: since when, by performance.now(), and why. */
  readonly unwritten: { readonly since: number; readonly error: Error } | undefined;
}

export interface RunOptions {
  readonly watch: Stopwatch;
  readonly signal: AbortSignal;
  readonly slot: Pick<Slot, 'share' | 'programEnded'>;
}

export function startRun(parts: RunnerParts, row: ExecutionRow, plan: Plan, options: RunOptions): Run {
  const { watch } = options;
  const spool = spoolFile(parts.spoolFolder, row.id);
  const live = createLiveLog(spool, (error) => parts.log.warn({ execution: row.id, err: error }, 'the log could not be spooled'));
  const finishRun = async (): Promise<Written | undefined> => {
    const started = performance.now();
    live.status('running');
    const finish = await runToEnd(parts, row, plan, { ...options, live, started });
    live.close(finish.status);
    // Retried for as long as it takes: what ran must not be lost because the database was away.
    const since = performance.now();
    const written = await persist(parts, row, { ...finish, log: live.entries, watch }, (error) => {
      unwritten = { since, error };
    });
    if (!written) parts.log.warn({ execution: row.id }, 'the record was closed by another host before this one could');
    if (live.spooled) removeSpool(parts, spool, row.id);
    parts.metrics.executions.inc({ status: finish.status, lang: plan.lang });
    parts.metrics.executionSeconds.observe({ lang: plan.lang }, (performance.now() - started) / 1000);
    parts.metrics.observePhases(watch.read(), finish.warm);
    return written;
  };
  let unwritten: Run['unwritten'];
  return {
    live,
    done: finishRun(),
    get unwritten() {
      return unwritten;
    },
  };
}

/** The end is written: whatever becomes of this file must not look like an end of its own. The next heartbeat sweeps it. */
function removeSpool({ log }: RunnerParts, spool: string, execution: string): void {
  try {
    rmSync(spool, { force: true });
  } catch (error) {
    log.warn({ execution, err: error }, 'the spooled log of an execution could not be removed yet');
  }
}

async function runToEnd(
  parts: RunnerParts,
  row: ExecutionRow,
  plan: Plan,
  { signal, slot, live, watch, started }: RunOptions & { readonly live: LiveLog; readonly started: number },
): Promise<Finish> {
  const files: Artifact[] = [];
  let left = 0;
  let phase: 'sandbox' | 'run' | 'collect' = 'sandbox';
  const reach = (next: typeof phase): void => {
    watch.lap(phase);
    phase = next;
  };
  const elapsed = (): number => Math.round(performance.now() - started);
  try {
    const [skillFolder, dependencies] = await Promise.all([parts.cache.folder(plan.skill), parts.dependencies.mount(plan.skill)]);
    const warm = plan.image === undefined ? warmRecipe(plan, skillFolder, dependencies?.folder) : undefined;
    const request: RunRequest = {
      id: row.id,
      ...(warm && { warm }),
      skillFolder,
      ...(dependencies && { dependencies }),
      argv: plan.argv,
      env: sandboxEnv(plan),
      inputs: sandboxInputs(plan),
      limits: plan.limits,
      share: slot.share,
      signal,
      onStart: () => reach('run'),
      onExit() {
        reach('collect');
        slot.programEnded();
      },
      onOutput: (stream, bytes) => live.write(stream, bytes),
      async onArtifact(path, size, content) {
        // Before it is stored: one run must not leave more than its tenant has room for.
        left += size;
        await parts.tenants.requireRoom(row.tenant, left).catch(passWhenAway);
        const stored = await parts.blobs.put(content, { maxBytes: size });
        files.push({ path, size: stored.size, sha256: stored.digest });
      },
    };
    const result = await runIn(parts, plan, request);
    const durationMs = elapsed();
    noteLosses(result, plan, live);
    const outcome = await outcomeOf(result, plan, signal.reason);
    return {
      ...outcome,
      files: result.problem ? [] : files,
      log: [],
      exitCode: result.exitCode,
      signal: result.signal,
      durationMs,
      peakMemoryBytes: result.peakMemoryBytes,
      cpuMs: result.cpuMs,
      warm: result.warm,
    };
  } catch (error) {
    parts.log.error({ execution: row.id, err: error }, 'an execution could not be run, or what it left could not be kept');
    const known = error instanceof BoxError ? error : diskTrouble(error);
    const code = known?.code ?? 'sandbox_failed';
    const message = known?.message ?? 'The box could not run it; the server log has the cause.';
    return { ...bareFinish('failed', { code, message }), durationMs: elapsed() };
  } finally {
    watch.lap(phase);
  }
}

/** Nobody knows the room while the database is away; what ran must not be lost for that. */
function passWhenAway(error: unknown): void {
  if (!(error instanceof BoxError && error.code === 'unavailable')) throw error;
}

function runIn({ images, provider }: RunnerParts, { image, skill }: Plan, request: RunRequest): Promise<RunResult> {
  if (image === undefined) return provider.runOnce(request);
  if (images) return images.runOnce(request, image);
  throw new BoxError('image_unsupported', `${skill.name} asks for the image ${image}, and this box has no Docker engine.`);
}

/** What was left behind is said in the log, where whoever looks for it will look. */
function noteLosses(result: RunResult, plan: Plan, live: LiveLog): void {
  const say = (text: string): void => live.write('stderr', Buffer.from(`[skillbox] ${text}\n`));
  if (result.droppedLogBytes > 0) say(`log cut at ${formatSize(plan.limits.logBytes)}: ${result.droppedLogBytes} more bytes were dropped`);
  for (const { path, kind } of result.skipped.slice(0, 20)) say(`artifact ${path} skipped: ${kind}`);
  if (result.skipped.length > 20) say(`${result.skipped.length - 20} more artifacts skipped`);
}

/** Tries for as long as it takes; undefined when somebody else has closed the record. */
export async function persist(
  { records, log }: Pick<RunnerParts, 'records' | 'log'>,
  row: ExecutionRow,
  finish: Finish,
  onTrouble: (error: Error) => void = () => undefined,
): Promise<Written | undefined> {
  let writable = finish;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await records.finish(row, writable);
    } catch (error) {
      log.error({ execution: row.id, err: error, attempt }, 'the end of an execution could not be written');
      onTrouble(error as Error);
      // An outage passes. What the database will not take however often it is asked must not hold its slot for ever.
      if (attempt === 5 && !(error instanceof BoxError))
        writable = { ...bareFinish('failed', unwritableEnd), ...(finish.watch && { watch: finish.watch }) };
      await new Promise((resolve) => setTimeout(resolve, Math.min(100 * 2 ** attempt, 5000)));
    }
  }
}

const unwritableEnd = { code: 'internal', message: 'It ran, and its record could not be stored; the server log has the cause.' } as const;
