/** Which tasks are done: by their success check, or, without one, because they ran well as they are declared. */

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { TaskStatus } from '@skillbox/protocol';
import type { Graph, Task } from '../graph.ts';
import { existsAt } from '../place.ts';
import { portAnswers } from '../programs/ports.ts';
import { readRunRecord } from '../programs/run-to-end.ts';
import { graphFolder, type Runtime } from '../runtime.ts';
import { probeSandboxed, standingSandbox } from '../sandboxed.ts';
import { isAway } from '../sandboxed-inside.ts';
import { itemStatus } from '../services/item-status.ts';

const lookMs = 500;

export const taskRecordFile = (stateRoot: string, id: string): string => join(graphFolder(stateRoot), 'tasks', `${id}.json`);

export function taskDefinition({ command, cwd, env, template }: Task): string {
  const text = JSON.stringify([command, Object.entries(env).sort(), cwd.hostPath, template ?? null]);
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

export async function isReady(runtime: Runtime, task: Task): Promise<boolean> {
  const { success, outputs } = task;
  if (success?.type === 'path_exists') return existsAt(success.place);
  if (success?.type === 'all_outputs_exist') return outputs.every(existsAt);
  if (success?.type === 'port_listening' && task.template !== undefined)
    return listensInside(runtime, task.template, task.client, success.port);
  if (success?.type === 'port_listening')
    return (await portAnswers(success.port, '127.0.0.1', lookMs)) || portAnswers(success.port, '::1', lookMs);
  const record = readRunRecord(taskRecordFile(runtime.config.stateRoot, task.id));
  return record?.exit === 0 && record.definition === taskDefinition(task);
}

/** Where the task runs, not on the host: another may have that port there. What does not run listens on nothing. */
async function listensInside(runtime: Runtime, template: string, client: string | undefined, port: number): Promise<boolean> {
  try {
    const sandbox = await standingSandbox(runtime, template, client);
    return sandbox !== undefined && (await probeSandboxed(runtime, { sandbox }, port, undefined)) !== undefined;
  } catch (error) {
    if (isAway(error)) return false;
    throw error;
  }
}

/** How its last run ended, when that was not well and it is not ready. */
export function lastFailure(stateRoot: string, task: Task): string | undefined {
  const record = readRunRecord(taskRecordFile(stateRoot, task.id));
  if (record?.endedAt === undefined || record.exit === 0) return undefined;
  return record.exit === null ? 'its last run was ended' : `its last run ended with exit code ${record.exit}`;
}

export async function taskStates(runtime: Runtime, { tasks }: Pick<Graph, 'tasks'>): Promise<TaskStatus[]> {
  const ready = new Map<string, boolean>(await Promise.all(tasks.map(async (task) => [task.id, await isReady(runtime, task)] as const)));
  return tasks.map((task) => {
    const blockedBy = task.dependsOn.filter((id) => ready.get(id) === false);
    const state = ready.get(task.id) ? 'ready' : blockedBy.length > 0 ? 'blocked' : 'pending';
    return { ...itemStatus(task), state, depends_on: [...task.dependsOn], blocked_by: state === 'blocked' ? blockedBy : [] };
  });
}
