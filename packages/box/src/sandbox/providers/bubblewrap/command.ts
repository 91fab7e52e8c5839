/** What the launcher is told: how to prepare, and the bubblewrap command line. One place says what a sandbox sees. */

import { existsSync, lstatSync } from 'node:fs';
import { channelFolder } from '../../egress/environment.ts';
import { bundleFile } from '../../egress/trust.ts';
import type { LivingLimits } from '../../living.ts';
import type { RunLimits } from '../../provider.ts';
import type { Ground } from '../../workspace/ground.ts';
import type { NestSettings } from '../guest/channel.ts';

/** Inside: the guest's own path, the only thing of ours in the root. */
const guestPath = '/.skillbox/guest';
export const seccompFd = '9';
/** Where the launcher makes things reachable for bubblewrap; private to its mount namespace. */
export const stage = '/tmp';

export type IdMode =
  | { readonly kind: 'root' }
  | {
      readonly kind: 'subordinate';
      readonly uidStart: number;
      readonly uidCount: number;
      readonly gidStart: number;
      readonly gidCount: number;
    }
  | { readonly kind: 'self' };

export interface HostPaths {
  readonly bwrap: string;
  readonly guest: string;
  readonly etc: string;
  /** The same, where the user is that of the workspace. */
  readonly workspaceEtc: string;
  readonly filter: string;
  /** Of the parent of runs that are cloned: wider by what it needs to make their namespaces; each of them sets the other one. */
  readonly nestFilter: string;
  /** More read-only folders: interpreters outside /usr, what the manifest names. */
  readonly extra: readonly string[];
}

export interface OrderInput {
  readonly ids: IdMode;
  /** Host uid of this sandbox; not used in self mode. */
  readonly uid: number;
  readonly paths: HostPaths;
  readonly skillFolder: string;
  /** Packages for the program: read-only, and with code that can be loaded, as the skill itself. */
  readonly dependencies?: { readonly folder: string; readonly at: string };
  readonly limits: RunLimits;
  /** Layers that cgroups hold; what is not here falls to rlimits. */
  readonly cgroup: { readonly memory: boolean; readonly pids: boolean };
}

export function launchOrders(input: OrderInput): Buffer {
  const { dependencies, ids, uid, paths, skillFolder, limits } = input;
  const words = [
    ...['parent', String(process.pid)],
    ...namespaceWords(ids),
    ...(ids.kind === 'self' ? [] : ['ids', String(uid), String(uid)]),
    ...['seccomp', paths.filter],
    ...['bind', paths.guest, 'guest', 'bind', paths.etc, 'etc', 'bind', skillFolder, 'skill'],
    ...(dependencies ? ['bind', dependencies.folder, 'dependencies'] : []),
    ...['stage', String(limits.diskBytes), String(inodesFor(limits.diskBytes))],
    ...['dir', 'tmp', '1777', 'dir', 'shm', '1777'],
    ...['work', 'work/scripts', 'work/input', 'work/out', 'work/out/files'].flatMap((name) => ['dir', name, '0755']),
    ...(dependencies ? ['dir', dependencies.at.replace('/sandbox', 'work'), '0755'] : []),
    ...rlimitWords(input),
    ...['exec', ...bubblewrapArguments(paths, [...skillMounts, ...dependencyMounts(dependencies)])],
  ];
  return encodeOrders(words);
}

/** The sandbox around runs that are cloned one after the other. Nothing in it can be written; each run has a work area of its own. */
export function nestOrders(input: OrderInput): Buffer {
  const { dependencies, ids, uid, paths, skillFolder } = input;
  return encodeOrders([
    ...['parent', String(process.pid)],
    ...namespaceWords(ids),
    ...(ids.kind === 'self' ? [] : ['ids', String(uid), String(uid)]),
    ...['seccomp', paths.nestFilter],
    ...['bind', paths.guest, 'guest', 'bind', paths.etc, 'etc', 'bind', skillFolder, 'skill'],
    ...(dependencies ? ['bind', dependencies.folder, 'dependencies'] : []),
    ...['stage', '65536', '64'],
    ...rlimitWords(input),
    ...['exec', ...bubblewrapArguments(paths, [...nestMounts, ...dependencyMounts(dependencies)], 'nest')],
  ]);
}

/** What a nest gives to every run in it. */
export function nestSettings({ dependencies, limits }: Pick<OrderInput, 'dependencies' | 'limits'>, filter: Buffer): NestSettings {
  const hidden = hiddenProc();
  return {
    bytes: limits.diskBytes,
    inodes: inodesFor(limits.diskBytes),
    shown: ['/sandbox/scripts', ...(dependencies ? [dependencies.at] : [])],
    hiddenFiles: hidden.filter((path) => !lstatSync(path).isDirectory()),
    hiddenFolders: hidden.filter((path) => lstatSync(path).isDirectory()),
    filter,
  };
}

export interface LivingOrderInput {
  readonly ids: IdMode;
  readonly uid: number;
  /** To whom the files of living sandboxes belong on disk; the mount gives them to this sandbox's uid. */
  readonly diskUid: number;
  readonly paths: HostPaths;
  /** Folder with upper/ and work/. */
  readonly disk: string;
  /** Read-only layers below, newest first; at least one. */
  readonly layers: readonly string[];
  readonly limits: LivingLimits;
  readonly cgroup: { readonly memory: boolean };
  readonly socket: string;
  readonly pidFile: string;
  /** Folder with the socket that leads to the box. */
  readonly channel?: string;
  /** The authority of the box counts inside like those of the machine. */
  readonly trustsBox?: boolean;
  /** Folders of the host, for the workspace alone. */
  readonly ground?: Ground;
}

/** A sandbox that outlives the server: its home is layers on disk, programs may be started from it and from /tmp. */
export function livingOrders(input: LivingOrderInput): Buffer {
  const { channel, disk, diskUid, ground, ids, layers, limits, paths, pidFile, socket, trustsBox, uid } = input;
  const names = layers.map((_, index) => `layer${index}`);
  return encodeOrders([
    ...['outlive', pidFile, 'listen', socket],
    ...namespaceWords(ids),
    ...(ids.kind === 'self' ? [] : ['ids', String(uid), String(uid)]),
    ...['seccomp', paths.filter],
    ...['bind', paths.guest, 'guest', 'bind', ground ? paths.workspaceEtc : paths.etc, 'etc'],
    ...(channel ? ['bind', channel, 'box'] : []),
    ...(ground ? [...groundBinds(ground, diskUid), ...shownBinds(ground)] : []),
    ...layers.flatMap((folder, index) => ['idmap', folder, `layer${index}`, String(diskUid)]),
    ...['idmap', disk, 'disk', String(diskUid)],
    ...['stage-exec', String(limits.tmpBytes), String(inodesFor(limits.tmpBytes) * 4)],
    ...['dir', 'tmp', '1777', 'dir', 'shm', '1777'],
    ...['overlay', 'home', 'disk/upper', 'disk/work', ...names, '.'],
    ...(ground ? groundWords(ground) : []),
    ...limitWords({
      ...baseLimits(limits.openFiles),
      fsize: limits.diskBytes,
      ...(ids.kind === 'self' ? {} : { nproc: limits.processes + (channel ? 5 : 4) }),
      ...(input.cgroup.memory ? {} : { data: limits.memoryBytes }),
    }),
    ...[
      'exec',
      ...bubblewrapArguments(paths, [
        ...homeMounts,
        ...(ground ? groundMounts(ground) : []),
        ...(channel ? [...channelMounts(), ...(trustsBox ? trustMounts() : [])] : []),
      ]),
    ],
  ]);
}

const skillMounts = [
  '--bind',
  `${stage}/tmp`,
  '/tmp',
  '--bind',
  `${stage}/work`,
  '/sandbox',
  '--ro-bind',
  `${stage}/skill`,
  '/sandbox/scripts',
];
const nestMounts = [
  ...['--dir', '/tmp', '--dir', '/sandbox', '--ro-bind', `${stage}/skill`, '/sandbox/scripts'],
  ...['--ro-bind', '/dev/null', '/sandbox/.hidden/file', '--tmpfs', '/sandbox/.hidden/folder', '--remount-ro', '/sandbox/.hidden/folder'],
];
const dependencyMounts = (dependencies: OrderInput['dependencies']): string[] =>
  dependencies ? ['--ro-bind', `${stage}/dependencies`, dependencies.at] : [];
const homeMounts = ['--bind', `${stage}/tmp`, '/tmp', '--bind', `${stage}/home`, '/home/user'];

/** Files of the inside belong to one uid on disk, whichever the sandbox has; the box's own are shown for reading. */
export function groundBinds({ folders, attached }: Ground, diskUid: number): string[] {
  const orders = { write: 'idmap', read: 'show', 'read-own': 'show-own' } as const;
  return [
    ...folders.flatMap(({ host, name }) => ['idmap', host, name, String(diskUid)]),
    ...attached.flatMap(({ access, host, name }) => [orders[access], host, name, ...(access === 'write' ? [String(diskUid)] : [])]),
  ];
}

const shownBinds = ({ shown }: Ground): string[] => shown.flatMap(({ host, name }) => ['show', host, name]);

/** Put together on the stage, where the launcher takes each step by itself: bubblewrap would follow a link that lies on the way. */
export const groundWords = ({ attached, made }: Ground): string[] => [
  ...attached.flatMap(({ name, into, path }) => ['attach', name, into, path]),
  ...made.flatMap(({ into, path }) => ['folder', into, path]),
];
const groundMounts = ({ folders, shown }: Ground): string[] => [
  ...folders.flatMap(({ name, at }) => ['--bind', `${stage}/${name}`, at]),
  ...shown.flatMap(({ name, at }) => ['--ro-bind', `${stage}/${name}`, at]),
];

/** The way to the box, and the certificates that programs need to trust what they find behind it. */
const channelMounts = (): string[] => [
  '--ro-bind',
  `${stage}/box`,
  channelFolder,
  ...certificates.flatMap((path) => ['--ro-bind-try', path, path]),
];
/** Over the bundle of the machine, for programs that look nowhere else. */
const trustMounts = (): string[] =>
  bundles
    .filter((path) => existsSync(path) && !lstatSync(path).isSymbolicLink())
    .flatMap((path) => ['--ro-bind', `${stage}/box/${bundleFile}`, path]);
const bundles = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt'];
/** The public halves only: what is private lies beside them. */
const certificates = ['/etc/ssl/certs', '/etc/pki/tls/certs', '/etc/pki/ca-trust/extracted'];

export function encodeOrders(words: readonly string[]): Buffer {
  const body = Buffer.from(words.map((word) => `${word}\0`).join(''));
  const head = Buffer.alloc(4);
  head.writeUInt32LE(body.length);
  return Buffer.concat([head, body]);
}

/** argv[0] first. */
export function bubblewrapArguments(
  { bwrap, extra }: Pick<HostPaths, 'bwrap' | 'extra'>,
  mounts: readonly string[] = skillMounts,
  kind: 'run' | 'nest' = 'run',
): string[] {
  const isRun = kind === 'run';
  return [
    bwrap,
    ...['--unshare-user', '--unshare-ipc', '--unshare-pid', '--unshare-net', '--unshare-uts', '--unshare-cgroup'],
    ...(isRun ? ['--disable-userns'] : []),
    ...[
      '--uid',
      '65534',
      '--gid',
      '65534',
      '--hostname',
      'sandbox',
      '--cap-drop',
      'ALL',
      '--new-session',
      '--die-with-parent',
      '--as-pid-1',
    ],
    '--clearenv',
    ...rootFolders(),
    ...hiddenFolders(extra),
    ...extra.flatMap((path) => ['--ro-bind', path, path]),
    ...['--ro-bind', `${stage}/etc`, '/etc', ...alternatives()],
    // Those who are cloned in a nest get a /proc of their own, which the kernel gives only to who sees a whole one.
    ...['--proc', '/proc', ...(isRun ? [...maskedProc(), '--remount-ro', '/proc'] : [])],
    ...['--dev', '/dev', ...(isRun ? ['--bind', `${stage}/shm`, '/dev/shm'] : []), '--remount-ro', '/dev'],
    ...mounts,
    ...['--ro-bind', `${stage}/guest`, guestPath],
    ...['--seccomp', seccompFd, '--remount-ro', '/', '--chdir', '/', '--', guestPath, ...(isRun ? [] : ['--nest'])],
  ];
}

function namespaceWords(ids: IdMode): string[] {
  if (ids.kind === 'root') return ['userns', 'none'];
  if (ids.kind === 'self') return ['userns', 'self'];
  return ['userns', 'sub', 'submap', ...[ids.uidStart, ids.uidCount, ids.gidStart, ids.gidCount].map(String)];
}

function rlimitWords({ ids, limits, cgroup }: OrderInput): string[] {
  return limitWords({
    ...baseLimits(limits.openFiles),
    fsize: limits.diskBytes,
    // It counts everything of the uid, so it is exact only where the sandbox has a uid of its own; four for launcher, bubblewrap and guest.
    ...(ids.kind === 'self' ? {} : { nproc: limits.processes + 4 }),
    ...(cgroup.memory ? {} : { data: limits.memoryBytes }),
  });
}

const baseLimits = (openFiles: number): Record<string, number> => ({
  core: 0,
  nofile: openFiles,
  memlock: 64 * 1024,
  msgqueue: 64 * 1024,
  sigpending: 1024,
});

function limitWords(values: Record<string, number>): string[] {
  return Object.entries(values).flatMap(([name, value]) => ['rlimit', name, String(value)]);
}

const inodesFor = (bytes: number): number => Math.max(1024, Math.min(65_536, Math.floor(bytes / 4096)));

/** On a merged /usr the old folders are links into it; elsewhere they are folders of their own. */
export function rootFolders(): string[] {
  const old = ['/bin', '/sbin', '/lib', '/lib32', '/lib64'].filter((path) => existsSync(path));
  return [
    ...['--ro-bind', '/usr', '/usr'],
    ...old.flatMap((path) => (lstatSync(path).isSymbolicLink() ? ['--symlink', `usr${path}`, path] : ['--ro-bind', path, path])),
  ];
}

/** What operators put into /usr by hand is none of a skill's business, unless an interpreter lives there. */
function hiddenFolders(extra: readonly string[]): string[] {
  return ['/usr/local', '/usr/src']
    .filter((path) => existsSync(path) && !extra.some((shown) => shown === path || shown.startsWith(`${path}/`)))
    .flatMap((path) => ['--tmpfs', path, '--remount-ro', path]);
}

/** awk, vi and friends are links through here on Debian. */
const alternatives = (): string[] => (existsSync('/etc/alternatives') ? ['--ro-bind', '/etc/alternatives', '/etc/alternatives'] : []);

/** Files of /proc that tell about the host's kernel and hardware. */
const proc = ['acpi', 'asound', 'cmdline', 'config.gz', 'interrupts', 'iomem', 'ioports', 'kallsyms', 'key-users', 'keys', 'latency_stats'];
const procMore = ['modules', 'sched_debug', 'scsi', 'slabinfo', 'timer_list', 'timer_stats', 'vmallocinfo', 'zoneinfo'];

const hiddenProc = (): string[] => [...proc, ...procMore].map((name) => `/proc/${name}`).filter((path) => existsSync(path));

function maskedProc(): string[] {
  return hiddenProc().flatMap((path) =>
    lstatSync(path).isDirectory() ? ['--tmpfs', path, '--remount-ro', path] : ['--ro-bind', '/dev/null', path],
  );
}
