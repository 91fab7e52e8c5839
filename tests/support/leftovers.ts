/** What a server can leave on a host: processes of its sandboxes, cgroups, mounts, temporary files. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

export interface Traces {
  readonly host: string;
  readonly stateRoot: string;
  readonly firstUid: number;
}

/** Everything found, as lines that say what and where; nothing is what we want. `standby` groups of a living server are fine. */
export function leftovers({ host, stateRoot, firstUid }: Traces, { standby = 0, since = Number.POSITIVE_INFINITY } = {}): string[] {
  const groups = sandboxGroups(host);
  // With cgroup v1 a sandbox has a group of the same name in each hierarchy.
  const idle = [...new Set(groups.filter(isStandby).map((group) => basename(group)))].slice(0, standby);
  return [
    ...sandboxProcesses(firstUid, since).map((line) => `process ${line}`),
    ...groups.filter((group) => !idle.includes(basename(group))).map((group) => `cgroup ${group}`),
    ...readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .filter((line) => line.includes(stateRoot) && !line.split(' ')[4]?.endsWith(stateRoot))
      .map((line) => `mount ${line}`),
    ...temporaryFiles(stateRoot).map((path) => `file ${path}`),
  ];
}

/** Tear-down is not on the path of the answer, so it gets a moment. */
export async function leftoversSettled(traces: Traces, options?: Parameters<typeof leftovers>[1], withinMs = 10_000): Promise<string[]> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const found = leftovers(traces, options);
    if (found.length === 0 || Date.now() > deadline) return found;
    await delay(50);
  }
}

/** Processes of the server's uids. `since`: only those older than this; the uids of a dead server are soon somebody else's. */
export function sandboxProcesses(firstUid: number, startedBefore = Number.POSITIVE_INFINITY): string[] {
  if (firstUid === 0) return [];
  const found: string[] = [];
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const status = readOr(`/proc/${pid}/status`);
    const uid = Number(/^Uid:\s+(\d+)/m.exec(status)?.[1] ?? 0);
    if (uid < firstUid || uid >= firstUid + 1000) continue;
    // Dead, and only waiting for the host's init to take note; not every container has one that does.
    if (/^State:\s+Z/m.test(status) && /^PPid:\s+1$/m.test(status)) continue;
    if (startTime(pid) >= startedBefore) continue;
    found.push(`${pid} uid ${uid} ${/^Name:\s+(.*)/m.exec(status)?.[1]} ${/^State:\s+(.*)/m.exec(status)?.[1]}`);
  }
  return found;
}

/** Names of the groups of a host's sandboxes, once for each hierarchy. */
export function sandboxGroups(host: string): string[] {
  return groupParents(host).flatMap((parent) =>
    readdirSync(parent, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(parent, entry.name)),
  );
}

/** The folders of a host in the cgroup trees; a server that runs has them. */
export function groupParents(host: string): string[] {
  const own = readFileSync('/proc/self/cgroup', 'utf8').split('\n');
  const parents: string[] = [];
  for (const line of readFileSync('/proc/self/mountinfo', 'utf8').split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const [type, , options = ''] = after.split(' ');
    if (type !== 'cgroup' && type !== 'cgroup2') continue;
    const mount = before.split(' ')[4] ?? '';
    for (const entry of own) {
      const [, names = '', ...path] = entry.split(':');
      const mine = type === 'cgroup2' ? names === '' : names !== '' && names.split(',').every((name) => options.split(',').includes(name));
      const parent = join(mount, path.join(':'), `skillbox-${host}`);
      if (mine && existsSync(parent)) parents.push(parent);
    }
  }
  return parents;
}

/** Seconds since boot, to compare with what a process started at. */
export const uptime = (): number => Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]);

/** A launcher that waits: one process, the launcher itself. */
function isStandby(group: string): boolean {
  const pids = readOr(join(group, 'cgroup.procs')).split('\n').filter(Boolean);
  return pids.length === 1 && pids.every((pid) => readOr(`/proc/${pid}/comm`).trim() === 'launch');
}

export function temporaryFiles(stateRoot: string): string[] {
  const inside = (folder: string, filter: (name: string) => boolean): string[] => {
    const path = join(stateRoot, folder);
    return existsSync(path)
      ? readdirSync(path)
          .filter(filter)
          .map((name) => join(folder, name))
      : [];
  };
  return [
    ...inside('blobs/tmp', () => true),
    ...inside('run/spool', () => true),
    ...inside('sandboxes/skills', (name) => name.startsWith('new-')),
    ...['', 'run'].flatMap((folder) => inside(folder, (name) => name.endsWith('.tmp'))),
  ];
}

function startTime(pid: string): number {
  const stat = readOr(`/proc/${pid}/stat`);
  // The kernel counts in hundredths of a second, whatever its own clock.
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? 0) / 100;
}

function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The process or the group ended meanwhile.
    return '';
  }
}
