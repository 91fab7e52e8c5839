/** Which tasks are done: by their success check, or, without one, because they ran well as they are declared. */

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { TaskStatus } from '@skillbox/protocol';
import type { Graph, Task } from '../graph.ts';
import { existsAt } from '../place.ts';
import { portAnswers } from '../programs/ports.ts';
import { readRunRecord } from '../programs/run-to-end.ts';
import { graphFolder } from '../runtime.ts';
import { itemStatus } from '../services/item-status.ts';

const lookMs = 500;

export const taskRecordFile = (stateRoot: string, id: string): string => join(graphFolder(stateRoot), 'tasks', `${id}.json`);

export function taskDefinition({ command, cwd, env, template }: Task): string {
  const text = JSON.stringify([command, Object.entries(env).sort(), cwd.hostPath, template ?? null]);
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

export async function isReady(stateRoot: string, task: Task): Promise<boolean> {
  const { success, outputs } = task;
  if (success?.type === 'path_exists') return existsAt(success.place);
  if (success?.type === 'all_outputs_exist') return outputs.every(existsAt);
  if (success?.type === 'port_listening')
    return (await portAnswers(success.port, '127.0.0.1', lookMs)) || portAnswers(success.port, '::1', lookMs);
  const record = readRunRecord(taskRecordFile(stateRoot, task.id));
  return record?.exit === 0 && record.definition === taskDefinition(task);
}

/** How its last run ended, when that was not well and it is not ready. */
export function lastFailure(stateRoot: string, task: Task): string | undefined {
  const record = readRunRecord(taskRecordFile(stateRoot, task.id));
  if (record?.endedAt === undefined || record.exit === 0) return undefined;
  return record.exit === null ? 'its last run was ended' : `its last run ended with exit code ${record.exit}`;
}

export async function taskStates(stateRoot: string, { tasks }: Pick<Graph, 'tasks'>): Promise<TaskStatus[]> {
  const ready = new Map<string, boolean>(await Promise.all(tasks.map(async (task) => [task.id, await isReady(stateRoot, task)] as const)));
  return tasks.map((task) => {
    const blockedBy = task.dependsOn.filter((id) => ready.get(id) === false);
    const state = ready.get(task.id) ? 'ready' : blockedBy.length > 0 ? 'blocked' : 'pending';
    return { ...itemStatus(task), state, depends_on: [...task.dependsOn], blocked_by: state === 'blocked' ? blockedBy : [] };
  });
}
