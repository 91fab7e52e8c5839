/**
 * Living sandboxes by bubblewrap. A sandbox is a folder until something is asked of it; then its guest is started, and it stays
 * when the server goes. Programs, files and ports are the guest's work; the host only ever moves whole disks.
 */

import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { availableParallelism, constants } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError } from '@skillbox/protocol';
import { identify } from '../../../process/identity.ts';
import { diskUid } from '../../disk-owner.ts';
import type { Capability, LivingProvider, NetworkMode, ProviderRef, SandboxHandle, SandboxSpec } from '../../living.ts';
import { type Ground, groundOf, prepareGround } from '../../workspace/ground.ts';
import { seated, seatOf, type WorkspaceParts } from '../../workspace/seat.ts';
import { connectTo, createGuestClient, type GuestClient } from '../guest/guest-client.ts';
import type { Cgroup, Cgroups } from './cgroup.ts';
import { type HostPaths, type IdMode, livingOrders } from './command.ts';
import { type DiskRecord, type Disks, openDisks } from './disk.ts';
import { createDiskLimits, type DiskLimits, type Running } from './disk-limits.ts';
import { socketOf } from './folders.ts';

export interface LivingOptions {
  readonly ids: IdMode;
  readonly paths: HostPaths;
  readonly cgroups: Cgroups;
  readonly launcher: string;
  /** Disks and layers. */
  readonly folder: string;
  /** Sockets, pid files, what the launcher said. */
  readonly runFolder: string;
  /** First uid of this host's living sandboxes. */
  readonly firstUid: number;
  /** Holds the folders that lead to the box. */
  readonly channelRoot?: string;
  /** What the file system of the disks must have left. */
  readonly reserveBytes: number;
  /** Folders of the host for the workspace, and whose it is. Without it there is none. */
  readonly workspace?: WorkspaceParts;
  /** Whether the operator accepted that a sandbox has the uid of the server. */
  readonly acceptsOwnUid: boolean;
  isReady(): boolean;
}

const uidsPerHost = 1000;
const startLimitMs = 10_000;

export function createLiving(options: LivingOptions): LivingProvider {
  const { ids, cgroups } = options;
  mkdirSync(options.runFolder, { recursive: true, mode: 0o700 });
  const disks = openDisks(options.folder, ids.kind === 'root');
  const handles = new Map<string, SandboxHandle>();
  /** Nothing has run in them yet, so that their disks need no watching. */
  const ahead = new Set<string>();
  const limits = createDiskLimits(disks, options.folder, options.reserveBytes);
  /** As the folders say; kept here, since reading hundreds of them takes longer than making a sandbox. */
  const known = new Map<string, Omit<DiskRecord, 'layers'>>(disks.all().map((record) => [record.sandbox, record]));
  /** Those that somebody spoke to since their disks were last looked at: in no other can anything have begun. */
  const touched = new Set<string>();
  const inTurn = createTurns(availableParallelism() * 2);

  /** Also those that a server before this one started. */
  const running = (): Running[] =>
    [...known.values()].flatMap(({ sandbox, limitBytes }) => {
      const socket = socketOf(options.runFolder, sandbox);
      if (limitBytes === undefined || ahead.has(sandbox) || !existsSync(socket)) return [];
      const guest = createGuestClient(() => connectTo(socket));
      const end = async (forced: boolean): Promise<void> => {
        const handle = forced ? handles.get(sandbox) : undefined;
        await (handle ? handle.pause() : guest.signal(0, constants.signals.SIGKILL));
      };
      const processes = (): number[] => cgroups.processesOf(sandbox);
      return [
        { sandbox, limitBytes, end, processes, untouched: !touched.delete(sandbox), isBusy: () => guest.isBusy().catch(() => false) },
      ];
    });

  const freeUid = (): number => {
    if (ids.kind !== 'root') return 1000;
    const taken = new Set([...known.values()].map(({ uid }) => uid));
    for (let uid = options.firstUid; uid < options.firstUid + uidsPerHost; uid += 1) if (!taken.has(uid)) return uid;
    throw new BoxError('unavailable', `This host has ${uidsPerHost} living sandboxes already.`);
  };

  const provision = async (spec: SandboxSpec): Promise<ProviderRef> => {
    if (!options.isReady()) throw new BoxError('sandbox_unavailable', 'This host lacks a layer of the sandbox.');
    if (spec.workspace) openGround(options);
    await limits.requireReserve();
    const uid = freeUid();
    known.set(spec.id, { sandbox: spec.id, uid, limitBytes: spec.limits.diskBytes });
    try {
      await disks.create(spec.id, uid, spec.snapshot, spec.limits.diskBytes);
    } catch (error) {
      known.delete(spec.id);
      throw error;
    }
    return { folder: spec.id };
  };

  const handleFor = (spec: SandboxSpec): SandboxHandle => {
    const opened = handles.get(spec.id);
    if (opened) return opened;
    const forget = (): void => {
      for (const of of [handles, ahead, known, touched]) of.delete(spec.id);
    };
    const touch = (): void => void touched.add(spec.id);
    const made = createHandle({ options, disks, limits, spec, forget, touch, inTurn });
    handles.set(spec.id, made);
    return made;
  };

  return {
    name: 'bubblewrap',
    tier: 'namespaces',
    location: 'here',
    capabilities: new Set<Capability>([
      ...(['exec', 'pty', 'files', 'watch', 'ports', 'snapshot', 'fork', 'pause', 'metrics'] as const),
      ...(options.workspace ? (['workspace'] as const) : []),
    ]),
    networks: new Set<NetworkMode>(options.channelRoot ? ['none', 'allow'] : ['none']),
    async health() {
      return options.isReady()
        ? { healthy: true, detail: cgroups.detail }
        : { healthy: false, detail: 'a layer of the sandbox is missing: skillbox doctor' };
    },
    provision,
    async makeAhead(spec) {
      ahead.add(spec.id);
      const ref = await provision(spec);
      const handle = handleFor(spec);
      try {
        await handle.waitReady(AbortSignal.timeout(startLimitMs));
        const line = await connectTo(socketOf(options.runFolder, spec.id));
        return {
          ...{ ref, handle },
          // It hangs up when it dies; nothing is ever said.
          ended: new Promise((resolve) => line.resume().once('close', () => resolve())),
          isWhole: () => !line.destroyed && disks.isWhole(spec.id),
          readMemory: () => cgroups.open(spec.id).readMemory(),
          handOver() {
            line.destroy();
            ahead.delete(spec.id);
            handles.delete(spec.id);
          },
        };
      } catch (error) {
        await handle.teardown();
        throw error;
      }
    },
    open: (_ref, spec) => handleFor(spec),
    async list() {
      return disks.names().map((sandbox) => ({ sandbox, ref: { folder: sandbox } }));
    },
    removeSnapshot: (snapshot) => disks.removeSnapshot(snapshot),
    endOvergrown: () => limits.look(running()),
    async close() {
      handles.clear();
      // Stays where sandboxes live on.
      cgroups.close();
    },
  };
}

interface HandleParts {
  readonly options: LivingOptions;
  readonly disks: Disks;
  readonly limits: DiskLimits;
  readonly spec: SandboxSpec;
  readonly inTurn: Turns;
  forget(): void;
  /** Somebody speaks to it. */
  touch(): void;
}

function createHandle({ options, disks, limits, spec, inTurn, forget, touch }: HandleParts): SandboxHandle {
  const { cgroups, paths } = options;
  const ids = spec.workspace ? workspaceIds(options.ids) : options.ids;
  const seat = spec.workspace && options.workspace ? seatOf(options.workspace) : undefined;
  const socketPath = socketOf(options.runFolder, spec.id);
  const pidFile = join(options.runFolder, `${spec.id}.pid`);
  const logFile = join(options.runFolder, `${spec.id}.log`);
  let starting: Promise<Socket> | undefined;
  let cgroup: Cgroup | undefined;

  const group = (): Cgroup => {
    cgroup ??= cgroups.open(spec.id);
    return cgroup;
  };

  const launch = async (): Promise<Socket> => {
    const record = disks.read(spec.id);
    if (!record) throw new BoxError('not_found', `The disk of sandbox ${spec.id} is not on this host.`);
    const { memoryBytes, processes, cpu } = spec.limits;
    const wayOut = spec.network === 'allow' && options.channelRoot ? join(options.channelRoot, spec.id) : undefined;
    const ground = spec.workspace ? openGround(options) : undefined;
    // Three more: the launcher and bubblewrap, which wait outside, and the guest; a fourth, its relay, where there is a channel.
    group().limit({ memoryBytes, processes: processes + (wayOut ? 4 : 3), cpu });
    const orders = livingOrders({
      ...{ ids, paths, diskUid, pidFile, limits: spec.limits, uid: record.uid, socket: socketPath },
      disk: disks.folder(spec.id),
      layers: record.layers.map(disks.layerFolder),
      cgroup: { memory: cgroups.available.has('memory') },
      ...(wayOut && { channel: wayOut }),
      ...(spec.trustsBox && { trustsBox: true }),
      ...(ground && { ground }),
    });
    const log = openSync(logFile, 'w', 0o600);
    const child = spawn(
      options.launcher,
      group().joinFiles.flatMap((file) => ['--cgroup', file]),
      {
        stdio: ['ignore', 'ignore', log, 'pipe'],
        env: {},
        cwd: '/',
        detached: true,
      },
    );
    closeSync(log);
    const channel = child.stdio[3] as Duplex;
    channel.on('error', () => undefined);
    child.unref();
    const failed = new Promise<never>((_, reject) => child.once('error', reject));
    const inTime = await Promise.race([failed, launched(channel, orders)]).finally(() => channel.destroy());
    // It is there before the guest is; what is sent meanwhile waits.
    const socket = inTime ? await connectTo(socketPath).catch(() => undefined) : undefined;
    if (socket) return socket;
    const said = readFileSync(logFile, 'utf8').trim() || (inTime ? 'it ended at once' : 'it was not there in time');
    throw new BoxError('sandbox_failed', `The sandbox could not be started: ${said}`);
  };

  const connect = async (): Promise<Socket> => {
    touch();
    if (starting) {
      await starting;
      return connectTo(socketPath);
    }
    const socket = await connectTo(socketPath).catch(() => undefined);
    if (socket) return socket;
    starting = inTurn(launch);
    try {
      return await starting;
    } finally {
      starting = undefined;
    }
  };

  const guest: GuestClient = createGuestClient(connect);

  const isRunning = async (): Promise<boolean> => {
    const socket = await connectTo(socketPath).catch(() => undefined);
    socket?.destroy();
    return socket !== undefined;
  };

  /** Everything of it that runs, however it was started. */
  const stop = async (): Promise<void> => {
    const pid = existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8')) : 0;
    if (pid > 1 && identify(pid) && isBubblewrap(pid)) {
      process.kill(pid, 'SIGKILL');
      while (identify(pid)) await sleep(2);
    }
    if (!(await group().remove())) throw new BoxError('sandbox_failed', `Something in sandbox ${spec.id} would not end.`);
    cgroup = undefined;
    for (const file of [socketPath, pidFile, logFile]) rmSync(file, { force: true });
  };

  return {
    async waitReady() {
      await guest.programs();
    },
    start(program) {
      const own = seat ? seated(seat, program) : program;
      return guest.start({ ...own, env: { ...spec.env, ...own.env } });
    },
    join: guest.join,
    programs: async () => ((await isRunning()) ? guest.programs() : []),
    signal: guest.signal,
    async endAll() {
      if (await isRunning()) await guest.signal(0, constants.signals.SIGKILL);
    },
    files: {
      ...guest.files,
      async write(...args) {
        limits.requireRoom(spec.id);
        return guest.files.write(...args).catch(async (error: unknown) => {
          throw await limits.explain(error);
        });
      },
    },
    connect: guest.tunnel,
    async metrics() {
      const running = await isRunning();
      return {
        cpuMs: running ? group().readCpuMs() : 0,
        memoryBytes: running ? group().readMemory() : 0,
        memoryLimitBytes: spec.limits.memoryBytes,
        diskBytes: (await disks.use(spec.id)).bytes,
        diskLimitBytes: spec.limits.diskBytes,
        processes: running ? group().processes().length : 0,
      };
    },
    async snapshot(name) {
      const running = await isRunning();
      // Held still while the top is copied, so that the snapshot is one moment and nothing races the copy.
      if (running) await guest.signal(0, constants.signals.SIGSTOP);
      try {
        await disks.snapshot(spec.id, name, running);
      } finally {
        if (running) await guest.signal(0, constants.signals.SIGCONT);
      }
    },
    pause: stop,
    async isActive() {
      return (await isRunning()) && guest.isBusy();
    },
    async teardown() {
      await stop();
      await disks.remove(spec.id);
      limits.forget(spec.id);
      forget();
    },
  };
}

/** Checked and made anew for each start: what lies on the host may have changed. */
function openGround({ acceptsOwnUid, ids, workspace }: LivingOptions): Ground {
  if (!workspace) throw new BoxError('sandbox_unavailable', 'This host has no workspace.');
  if (ids.kind !== 'root' && !acceptsOwnUid)
    throw new BoxError('sandbox_unavailable', 'The workspace of an ordinary user runs with the uid of that user, since its files do.', {
      hint: 'Accept it in skillbox.yaml (sandbox.accept_missing: [uid]), or run the box as root.',
    });
  const ground = groundOf(workspace);
  prepareGround(ground, workspace.stateRoot, ids.kind === 'root' ? diskUid : undefined);
  return ground;
}

/** Without root nobody can show files of one uid as those of another, so that only who owns them can work on them. */
const workspaceIds = (ids: IdMode): IdMode => (ids.kind === 'root' ? ids : { kind: 'self' });

/** Whether the launcher is through in time: it lets go of its channel when the sandbox listens, or when it has failed and said why. */
function launched(channel: Duplex, orders: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), startLimitMs);
    channel.once('close', () => {
      clearTimeout(timer);
      resolve(true);
    });
    channel.resume().end(orders);
  });
}

type Turns = <T>(work: () => Promise<T>) => Promise<T>;

/** At most so many at a time, in the order they came: hundreds of starts at once would keep each other from ending in time. */
function createTurns(most: number): Turns {
  const waiting: (() => void)[] = [];
  let under = 0;
  return async (work) => {
    if (under === most) await new Promise<void>((resolve) => waiting.push(resolve));
    else under += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else under -= 1;
    }
  };
}

/** A pid may be somebody else's by now. */
function isBubblewrap(pid: number): boolean {
  try {
    return (
      readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('/usr/bin/bwrap\0') ||
      readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('launch')
    );
  } catch {
    // It ended between the look and the reading.
    return false;
  }
}
