/** Tasks: those whose success check does not hold yet, in order, several at once. */

import { type BootstrapReport, BoxError, type Fault, type TaskOutcome } from '@skillbox/protocol';
import { formatDuration } from '../../units.ts';
import type { Graph, Selection, Task } from '../graph.ts';
import { loadGraph } from '../load.ts';
import { inOrder, walk, withNeeded } from '../order.ts';
import { logPath } from '../programs/log-path.ts';
import { runToEnd } from '../programs/run-to-end.ts';
import { exclusively, type Runtime } from '../runtime.ts';
import { recordActivity } from '../runtime-log.ts';
import { faultOf, faultOfError } from '../services/outcome.ts';
import { syncGraph } from '../sync/sync.ts';
import { endOfTask, tellBegin, tellEnd } from '../work-steps.ts';
import { isReady, taskDefinition, taskRecordFile } from './states.ts';

export interface BootstrapOptions {
  readonly tasks: readonly string[];
  readonly dryRun: boolean;
}

const atOnce = 4;

export async function bootstrap(runtime: Runtime, selection: Selection, options: BootstrapOptions): Promise<BootstrapReport> {
  const work = async (): Promise<BootstrapReport> => {
    const graph = loadGraph(runtime.config, selection);
    // Before anything changes.
    inOrder(withNeeded(graph.tasks, options.tasks, 'task'));
    const sync = await syncGraph(runtime, graph, { dryRun: options.dryRun });
    const tasks = await runTasks(runtime, graph, options);
    return { ok: sync.ok && tasks.every(({ result }) => result !== 'failed' && result !== 'blocked'), sync, tasks };
  };
  return options.dryRun ? work() : exclusively(runtime, 'bootstrap', work);
}

/** For who holds the lock; runs what these need first. */
export async function runTasks(runtime: Runtime, graph: Graph, { tasks, dryRun }: BootstrapOptions): Promise<TaskOutcome[]> {
  const chosen = withNeeded(graph.tasks, tasks, 'task');
  const outcomes = await walk(chosen, atOnce, (task, needed: readonly TaskOutcome[]) => runTask(runtime, graph, task, needed, dryRun));
  return inOrder(chosen).flatMap(({ id }) => outcomes.get(id) ?? []);
}

async function runTask(runtime: Runtime, graph: Graph, task: Task, needed: readonly TaskOutcome[], dryRun: boolean): Promise<TaskOutcome> {
  const since = performance.now();
  const { stateRoot } = runtime.config;
  const step = { kind: 'task', name: `run ${task.id}` } as const;
  const outcome = (result: TaskOutcome['result'], error: Fault | null = null, tail: string[] = []): TaskOutcome => {
    const duration_ms = Math.round(performance.now() - since);
    const ended: TaskOutcome = { id: task.id, result, duration_ms, detail: error?.message ?? null, error, tail };
    tellEnd(runtime, step, endOfTask(ended));
    return ended;
  };
  if (await isReady(runtime, task)) return outcome('ready');
  if (dryRun) return outcome('dry-run');
  const failed = needed.filter(({ result }) => result === 'failed' || result === 'blocked').map(({ id }) => id);
  if (failed.length > 0)
    return outcome('blocked', faultOf('task_failed', `Task ${task.id} did not run: ${failed.join(', ')}, which it needs, failed.`));
  runtime.signal.throwIfAborted();
  tellBegin(runtime, step, `Running task ${task.id}`);
  const [fault, tail] = await attempt(runtime, graph, task);
  const { error, message } = fault ?? {};
  recordActivity(stateRoot, fault ? 'task.failed' : 'task.done', `task:${task.id}`, {
    duration_ms: Math.round(performance.now() - since),
    ...(fault && { error, message }),
  });
  return fault ? outcome('failed', fault, tail) : outcome('done');
}

async function attempt(runtime: Runtime, graph: Graph, task: Task): Promise<[Fault | undefined, string[]]> {
  const { stateRoot } = runtime.config;
  const { id, client, timeoutMs } = task;
  const options = {
    ...{ name: `task ${id}`, id, client, timeoutMs, definition: taskDefinition(task) },
    log: logPath(stateRoot, graph, 'tasks', task),
    record: taskRecordFile(stateRoot, id),
  };
  try {
    const { exit, late, tail } = await runToEnd(runtime, graph, task, options);
    if (late) return [faultOf('task_failed', `Task ${id} took longer than ${formatDuration(timeoutMs)} and was ended.`), tail];
    if (exit !== 0)
      return [faultOf('task_failed', `Task ${id} ${exit === null ? 'was ended by a signal' : `ended with exit code ${exit}`}.`), tail];
    if (await isReady(runtime, task)) return [undefined, []];
    return [faultOf('task_failed', `Task ${id} ended well, but its success check does not hold: ${unmet(task)}.`), tail];
  } catch (error) {
    if (!(error instanceof BoxError) || runtime.signal.aborted) throw error;
    return [faultOfError(error), []];
  }
}

function unmet({ success, outputs }: Task): string {
  if (success?.type === 'path_exists') return `${success.place.path} is not there`;
  if (success?.type === 'port_listening') return `nothing listens on ${success.port}`;
  return `${outputs.map(({ path }) => path).join(', ')} should be there`;
}
