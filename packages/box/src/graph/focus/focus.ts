/**
 * From "I want to work on this client" to "everything runs and the agents know": sync, bootstrap, up, collect, context, persist, in one
 * pass and under one lock. Each step goes on from what is on the disk, so a kill at any point costs only time.
 */

import { BoxError, type FocusReport, type StartMode, type SyncReport } from '@skillbox/protocol';
import type { Graph } from '../graph.ts';
import { loadGraph } from '../load.ts';
import { exclusively, type Runtime } from '../runtime.ts';
import { recordActivity } from '../runtime-log.ts';
import { graphStatus } from '../status.ts';
import { collect, withoutSight } from './collect.ts';
import { putContext, withoutContext } from './context.ts';
import { holding } from './holding.ts';
import { type FocusRecord, type Live, readFocus, writeFocus } from './record.ts';
import { countOf, type Step, stepper } from './steps.ts';
import { bootstrapStep, syncStep, upStep, type Wanted, type Work } from './work.ts';

export interface FocusOptions {
  readonly client: string | undefined;
  readonly profiles: readonly string[];
  readonly services: readonly string[];
  readonly mode: StartMode;
  readonly resume: boolean;
  readonly waitSeconds: number | undefined;
}

export async function focus(runtime: Runtime, options: FocusOptions): Promise<FocusReport> {
  const last = options.resume ? readFocus(runtime.config.stateRoot) : undefined;
  const wanted = wantedOf(options, last);
  // Before the lock: what is wrongly declared or unknown needs no waiting.
  const graph = loadGraph(runtime.config, wanted);
  return exclusively(runtime, `focus ${wanted.client}`, () => withoutContext(runtime, () => activate(runtime, graph, wanted, last)));
}

/** With --resume what was focused last, unless another client is named. */
function wantedOf({ client, profiles, services, mode, resume, waitSeconds }: FocusOptions, last: FocusRecord | undefined): Wanted {
  if (last && (client === undefined || client === last.client)) {
    const chosen = { profiles: profiles.length > 0 ? profiles : last.profiles, services: services.length > 0 ? services : last.services };
    return { client: last.client, ...chosen, mode: last.mode, waitSeconds };
  }
  if (client !== undefined) return { client, profiles, services, mode, waitSeconds };
  throw new BoxError('needs_input', resume ? 'Nothing was focused yet.' : 'Which client should be focused?', {
    hint: 'Name it: skillbox focus CLIENT. skillbox describe lists those there are.',
  });
}

async function activate(runtime: Runtime, first: Graph, wanted: Wanted, last: FocusRecord | undefined): Promise<FocusReport> {
  const { stateRoot } = runtime.config;
  const resumed = last !== undefined && last.client === wanted.client;
  const before = resumed ? await graphStatus(runtime, first) : undefined;
  const holds = before && last && holding(first, before, { ...last, services: wanted.services });
  const work: Work = { runtime, graph: first, wanted, holds };
  const { steps, step } = stepper(runtime);
  let synced: SyncReport | undefined;
  let live: Live | undefined;
  let files: string[] = [];

  await step('sync', async () => {
    const { sync, ...done } = await syncStep(work);
    synced = sync;
    return done;
  });
  await step('bootstrap', () => bootstrapStep(work));
  await step('up', () => upStep(work, synced));
  const { graph } = work;
  await step('collect', async () => {
    // Of a resume that had nothing to do, the look at the beginning is still true.
    const nothingDone = steps.every(({ result }) => result === 'unchanged');
    live = await collect(runtime, graph, { seen: nothingDone ? before : undefined, steps });
    return { result: 'done', detail: live.attention.length === 0 ? null : countOf(live.attention.length, 'point') };
  });
  const found = live ?? withoutSight(steps);
  await step('context', async () => {
    const report = putContext(runtime, graph, found, { dryRun: false });
    files = report.files.map(({ path }) => path);
    return { result: report.files.some(({ changed }) => changed) ? 'done' : 'unchanged' };
  });
  const focused_at = new Date().toISOString();
  await step('persist', async () => {
    const { client, profiles, services, mode } = wanted;
    const kept = { client, profiles, services, mode, focused_at, ok: succeeded(steps), config_hash: graph.configHash };
    const persisted: Step = { step: 'persist', result: 'done', duration_ms: 0, detail: null };
    writeFocus(stateRoot, { version: 1, ...kept, steps: [...steps, persisted], context: files, live: found });
    return { result: 'done' };
  });
  recordActivity(stateRoot, 'focus', `client:${wanted.client}`, {
    ok: succeeded(steps),
    resumed,
    steps: Object.fromEntries(steps.map(({ step: name, result }) => [name, result])),
    attention: found.attention.length,
  });
  const { attention, repos, services, errors, activity, sessions } = found;
  return {
    ...{ ok: succeeded(steps), client: wanted.client, profiles: [...graph.profiles], resumed, focused_at, steps },
    ...{ attention: [...attention], repos: [...repos], services: [...services], errors: [...errors] },
    ...{ activity: [...activity], sessions: [...sessions], context: files },
  };
}

const succeeded = (steps: readonly Step[]): boolean => steps.every(({ result }) => result !== 'failed');
