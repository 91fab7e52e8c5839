/** Resource limits by cgroup, version 2 or 1, whichever this host lets us write. */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export type Controller = 'memory' | 'pids' | 'cpu';
const controllers: readonly Controller[] = ['memory', 'pids', 'cpu'];

export interface CgroupLimits {
  readonly memoryBytes: number;
  readonly processes: number;
  readonly cpu: number;
}

export interface Cgroups {
  readonly version: 1 | 2 | 0;
  readonly available: ReadonlySet<Controller>;
  readonly detail: string;
  create(name: string): Cgroup;
  /** The group of that name, made when it is not there: for sandboxes that outlive the server. */
  open(name: string): Cgroup;
  /** Of a group that may be gone, and is not made again. */
  processesOf(name: string): number[];
  /** Kills and removes every group a predecessor left under our parent. */
  sweep(): Promise<void>;
  /** Removes our parent, when nothing is left under it. */
  close(): void;
}

export interface Cgroup {
  /** Files into which a process writes 0 to join. */
  readonly joinFiles: readonly string[];
  limit(limits: CgroupLimits): void;
  /** Its part of the processor beside other groups when there is not enough for all; 1 is what a group has by itself. */
  weigh(share: number): void;
  readPeakMemory(): number;
  /** From now on the peak counts anew; false where this kernel cannot do that. */
  resetPeakMemory(): boolean;
  readOutOfMemoryKills(): number;
  readMemory(): number;
  /** Of what runs now; version 1 forgets who has ended. */
  readCpuMs(): number;
  processes(): number[];
  /** Kills what is left and removes the group; resolves to false when something would not die in that time. */
  remove(patienceMs?: number): Promise<boolean>;
}

export interface CgroupPlace {
  readonly mountinfo: string;
  readonly own: string;
  readonly root: boolean;
  readonly pid: number;
  /** How the tree is prepared; a test that has no kernel behind its tree answers like one here. */
  write(path: string, text: string): void;
}

export function currentPlace(): CgroupPlace {
  return {
    mountinfo: readFileSync('/proc/self/mountinfo', 'utf8'),
    own: readFileSync('/proc/self/cgroup', 'utf8'),
    root: process.getuid?.() === 0,
    pid: process.pid,
    write: (path, text) => writeFileSync(path, text),
  };
}

/** `owner` keeps the groups of several servers on one machine apart. */
export function openCgroups(owner: string, place: CgroupPlace = currentPlace()): Cgroups {
  const mounts = readMounts(place.mountinfo);
  const unified = mounts.find((mount) => mount.type === 'cgroup2');
  const reasons: string[] = [];
  if (unified) {
    const parent = prepareUnified(unified.path, ownPath(place.own, ''), owner, place, reasons);
    if (parent) return cgroupsAt(2, new Map(controllers.map((name) => [name, parent])), `cgroup v2 at ${parent}`);
  }
  const parents = new Map<Controller, string>();
  for (const name of controllers) {
    const mount = mounts.find((candidate) => candidate.type === 'cgroup' && candidate.options.includes(name));
    const parent = mount && prepareLegacy(mount.path, ownPath(place.own, name), owner, reasons);
    if (parent) parents.set(name, parent);
  }
  if (parents.size > 0) return cgroupsAt(1, parents, `cgroup v1: ${[...parents.keys()].join(', ')}`);
  return cgroupsAt(0, parents, [...new Set(reasons)].join('; ') || 'no cgroup is mounted');
}

function cgroupsAt(version: 1 | 2 | 0, parents: Map<Controller, string>, detail: string): Cgroups {
  const distinct = [...new Set(parents.values())];
  return {
    version,
    available: new Set(parents.keys()),
    detail,
    create(name) {
      makeAll(distinct.map((parent) => join(parent, name)));
      const paths = new Map([...parents].map(([controller, parent]) => [controller, join(parent, name)]));
      return version === 2 ? unifiedGroup(paths) : legacyGroup(paths);
    },
    open(name) {
      for (const parent of distinct) mkdirSync(join(parent, name), { recursive: true });
      const paths = new Map([...parents].map(([controller, parent]) => [controller, join(parent, name)]));
      return version === 2 ? unifiedGroup(paths) : legacyGroup(paths);
    },
    processesOf: (name) => [...new Set(distinct.flatMap((parent) => readProcesses(join(parent, name))))],
    async sweep() {
      for (const name of new Set(distinct.flatMap(listGroups))) {
        const paths = new Map([...parents].map(([controller, parent]) => [controller, join(parent, name)]));
        await (version === 2 ? unifiedGroup(paths) : legacyGroup(paths)).remove();
      }
    },
    close() {
      // One that holds a group which would not go stays as well; the next start sweeps it.
      for (const parent of distinct) tryRemove(parent);
    },
  };
}

/** All or none. */
function makeAll(paths: readonly string[]): void {
  const made: string[] = [];
  try {
    for (const path of paths) {
      mkdirSync(path);
      made.push(path);
    }
  } catch (error) {
    for (const path of made) tryRemove(path);
    throw error;
  }
}

function unifiedGroup(paths: Map<Controller, string>): Cgroup {
  const path = paths.get('memory') ?? '';
  return {
    joinFiles: path ? [join(path, 'cgroup.procs')] : [],
    limit({ memoryBytes, processes, cpu }) {
      if (!path) return;
      writeFileSync(join(path, 'memory.max'), String(memoryBytes));
      writeIfPresent(join(path, 'memory.swap.max'), '0');
      writeIfPresent(join(path, 'memory.oom.group'), '0');
      writeFileSync(join(path, 'pids.max'), String(processes));
      writeFileSync(join(path, 'cpu.max'), `${Math.round(cpu * 100_000)} 100000`);
    },
    weigh(share) {
      if (path) writeFileSync(join(path, 'cpu.weight'), String(Math.max(1, Math.round(100 * share))));
    },
    readPeakMemory: () => Number(readIfPresent(join(path, 'memory.peak')) || 0),
    // Written, it counts anew only for who wrote it and keeps the file open.
    resetPeakMemory: () => false,
    readOutOfMemoryKills: () => field(readIfPresent(join(path, 'memory.events')), 'oom_kill'),
    readMemory: () => Number(readIfPresent(join(path, 'memory.current')) || 0),
    readCpuMs: () => Math.round(field(readIfPresent(join(path, 'cpu.stat')), 'usage_usec') / 1000),
    processes: () => readProcesses(path),
    async remove(patienceMs) {
      if (!path) return true;
      writeIfPresent(join(path, 'cgroup.kill'), '1');
      return removeGroups([path], patienceMs);
    },
  };
}

function legacyGroup(paths: Map<Controller, string>): Cgroup {
  const memory = paths.get('memory');
  const pids = paths.get('pids');
  const cpu = paths.get('cpu');
  const distinct = [...new Set(paths.values())];
  return {
    joinFiles: distinct.map((path) => join(path, 'cgroup.procs')),
    limit(limits) {
      if (memory) {
        writeFileSync(join(memory, 'memory.limit_in_bytes'), String(limits.memoryBytes));
        writeIfPresent(join(memory, 'memory.memsw.limit_in_bytes'), String(limits.memoryBytes));
      }
      if (pids) writeFileSync(join(pids, 'pids.max'), String(limits.processes));
      if (cpu) writeFileSync(join(cpu, 'cpu.cfs_quota_us'), String(Math.round(limits.cpu * 100_000)));
    },
    resetPeakMemory() {
      if (memory) writeFileSync(join(memory, 'memory.max_usage_in_bytes'), '0');
      return memory !== undefined;
    },
    weigh(share) {
      if (cpu) writeFileSync(join(cpu, 'cpu.shares'), String(Math.max(2, Math.round(1024 * share))));
    },
    readPeakMemory: () => Number(memory ? readIfPresent(join(memory, 'memory.max_usage_in_bytes')) || 0 : 0),
    readOutOfMemoryKills: () => (memory ? field(readIfPresent(join(memory, 'memory.oom_control')), 'oom_kill') : 0),
    readMemory: () => Number(memory ? readIfPresent(join(memory, 'memory.usage_in_bytes')) || 0 : 0),
    readCpuMs: () =>
      distinct
        .slice(0, 1)
        .flatMap(readProcesses)
        .reduce((sum, pid) => sum + processCpuMs(pid), 0),
    processes: () => [...new Set(distinct.flatMap(readProcesses))],
    remove: (patienceMs) => removeGroups(distinct, patienceMs),
  };
}

/**
 * A group whose children may have controllers must hold no process itself, and the server is in it.
 * So the server moves into a leaf beside them, which works where it is the only process there (a
 * systemd service or scope with Delegate=yes, a container). Root has the top of the tree as well.
 */
function prepareUnified(mount: string, own: string | undefined, owner: string, place: CgroupPlace, reasons: string[]): string | undefined {
  const bases = [own === undefined ? undefined : join(mount, own), place.root ? mount : undefined];
  for (const base of bases) {
    if (base === undefined || !existsSync(join(base, 'cgroup.controllers'))) continue;
    try {
      const offered = readFileSync(join(base, 'cgroup.controllers'), 'utf8').trim().split(/\s+/);
      const lacking = controllers.filter((name) => !offered.includes(name));
      if (lacking.length > 0) throw new Error(`no ${lacking.join(', ')} controller there`);
      enableControllers(base, place);
      const parent = join(base, `skillbox-${owner}`);
      mkdirSync(parent, { recursive: true });
      place.write(join(parent, 'cgroup.subtree_control'), '+memory +pids +cpu');
      return parent;
    } catch (error) {
      reasons.push(`v2: ${shortReason(error)}`);
    }
  }
  return undefined;
}

function enableControllers(base: string, { pid, write }: CgroupPlace): void {
  const control = join(base, 'cgroup.subtree_control');
  const enabled = readFileSync(control, 'utf8').split(/\s+/);
  if (controllers.every((name) => enabled.includes(name))) return;
  try {
    write(control, '+memory +pids +cpu');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
    const leaf = join(base, 'skillbox-server');
    mkdirSync(leaf, { recursive: true });
    write(join(leaf, 'cgroup.procs'), String(pid));
    write(control, '+memory +pids +cpu');
  }
}

function prepareLegacy(mount: string, own: string | undefined, owner: string, reasons: string[]): string | undefined {
  if (own === undefined) return undefined;
  const parent = join(mount, own, `skillbox-${owner}`);
  try {
    mkdirSync(parent, { recursive: true });
    return parent;
  } catch (error) {
    reasons.push(`v1: ${shortReason(error)}`);
    return undefined;
  }
}

/** Without the path: it says nothing to who reads doctor, and the code says all. */
function shortReason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === 'EACCES' || code === 'EROFS' || code === 'EPERM' ? `this user may not write it (${code})` : message;
}

interface Mount {
  readonly path: string;
  readonly type: string;
  readonly options: readonly string[];
}

function readMounts(mountinfo: string): Mount[] {
  return mountinfo
    .split('\n')
    .map((line) => {
      const [before = '', after = ''] = line.split(' - ');
      const [type = '', , options = ''] = after.split(' ');
      return { path: before.split(' ')[4] ?? '', type, options: options.split(',') };
    })
    .filter((mount) => mount.type.startsWith('cgroup'));
}

/** Our path in a hierarchy: lines are `id:controllers:path`, version 2 has no controllers. */
function ownPath(own: string, controller: string): string | undefined {
  for (const line of own.split('\n')) {
    const [, names, ...path] = line.split(':');
    if (names?.split(',').includes(controller)) return path.join(':');
  }
  return undefined;
}

/** Fields 14 and 15 of /proc/PID/stat, in hundredths of a second. */
function processCpuMs(pid: number): number {
  const stat = readIfPresent(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * 10;
}

function listGroups(parent: string): string[] {
  return readdirSync(parent, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
}

/** Who is killed still needs the processor to die, and gets no more of it than the group's quota on a busy machine. */
async function removeGroups(paths: readonly string[], patienceMs = 20_000): Promise<boolean> {
  const deadline = Date.now() + patienceMs;
  for (let attempt = 0; ; attempt += 1) {
    const left = paths.filter((path) => !tryRemove(path));
    if (left.length === 0) return true;
    if (Date.now() > deadline) return false;
    for (const pid of left.flatMap(readProcesses)) killQuietly(pid);
    await sleep(Math.min(2 + attempt * 3, 100));
  }
}

function tryRemove(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT') return true;
    if (code === 'EBUSY' || code === 'ENOTEMPTY') return false;
    throw error;
  }
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // It may have ended between the listing and the kill; anything else would show as a group that stays.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function readProcesses(path: string): number[] {
  return readIfPresent(join(path, 'cgroup.procs')).split('\n').filter(Boolean).map(Number);
}

function readIfPresent(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

/** For files that only some kernels have. */
function writeIfPresent(path: string, text: string): void {
  if (existsSync(path)) writeFileSync(path, text);
}

function field(text: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
}
