/** Which processes belong to a server: those below it, and those of its living sandboxes. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sandboxGroups } from '../../support/leftovers.ts';
import type { Host } from './world.ts';

export interface HostProcess {
  readonly pid: number;
  readonly name: string;
}

/** Of its sandboxes: those that run a job, those that stand ready, and living ones. */
export function processesOf({ server }: Host): HostProcess[] {
  const living = sandboxGroups(`${server.host}-living`).flatMap(pidsOf);
  return [...new Set([...descendantsOf(server.pid), ...living])]
    .map((pid) => ({ pid, name: nameOf(pid) }))
    .filter(({ name }) => name !== '');
}

export function descendantsOf(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const stat = readOr(`/proc/${name}/stat`);
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? 0);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const found: number[] = [];
  for (const queue = [...(children.get(root) ?? [])]; queue.length > 0; ) {
    const pid = queue.shift() as number;
    found.push(pid);
    queue.push(...(children.get(pid) ?? []));
  }
  return found;
}

export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // It ended by itself meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

export const pidsOf = (group: string): number[] => readOr(join(group, 'cgroup.procs')).split('\n').filter(Boolean).map(Number);

export const nameOf = (pid: number): string => readOr(`/proc/${pid}/comm`).trim();

export function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The process or the group ended meanwhile.
    return '';
  }
}
