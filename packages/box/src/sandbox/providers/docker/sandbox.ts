/** One sandbox by docker: a container whose first process is our guest, reached through a socket in a folder of the host. */

import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { constants } from 'node:os';
import { join } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import type { SandboxHandle, SandboxSpec } from '../../living.ts';
import { seated } from '../../workspace/seat.ts';
import { connectTo, createGuestClient } from '../guest/guest-client.ts';
import { type Engine, statusOf } from './engine.ts';
import type { Homes } from './homes.ts';
import { labelFilter, type Names } from './names.ts';
import { socketFolder, socketName, waitForSocket } from './socket.ts';
import type { Workspace } from './workspace.ts';

export interface SandboxParts {
  readonly engine: Engine;
  readonly names: Names;
  readonly homes: Homes;
  /** Holds the folders of the guests' sockets. */
  readonly runFolder: string;
  readonly workspace: Workspace | undefined;
}

export function openSandbox(parts: SandboxParts, spec: SandboxSpec, forget: () => void): SandboxHandle {
  const { engine, names, homes, runFolder } = parts;
  const { docker, ask } = engine;
  const workspace = spec.workspace ? parts.workspace : undefined;
  const container = docker.getContainer(names.container(spec.id));
  const folder = socketFolder(runFolder, spec.id);
  const socketPath = join(folder, socketName);
  /** Says that this start of it has the folders of the workspace; beside the folder that the inside sees. */
  const handedOver = `${folder}.handed-over`;
  const isWhole = (): boolean => !workspace || existsSync(handedOver);
  const lost = `The engine has no sandbox ${spec.id}.`;
  let starting: Promise<void> | undefined;
  /** A server that died during a snapshot has left it held still, which shows only to whoever asks the engine. */
  let mayBeHeld = true;

  /**
   * The folder is open to the inside only until the guest has made its socket, and before anything else runs. Afterwards
   * nobody inside can enter it, so that what the host connects to is the guest and never a link to somewhere else.
   */
  const launch = async (): Promise<void> => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { State } = await ask(container.inspect(), lost);
    if (State.Paused && mayBeHeld) await ask(container.unpause(), lost);
    mayBeHeld = false;
    // A server that died before it had handed the folders over has left one that nobody may use.
    const begins = !State.Running || !isWhole();
    if (State.Running && begins) await halt();
    if (begins) {
      for (const file of [socketPath, handedOver]) rmSync(file, { force: true });
      chmodSync(folder, 0o733);
      await ignoring([304], ask(container.start(), lost));
    }
    try {
      await waitForSocket(engine, container, socketPath, lost);
    } finally {
      chmodSync(folder, 0o700);
    }
    if (workspace && begins) await furnish(workspace);
  };

  const furnish = async (own: Workspace): Promise<void> => {
    try {
      await own.handOver(socketPath);
      writeFileSync(handedOver, '', { mode: 0o600 });
    } catch (error) {
      await halt();
      throw error;
    }
  };

  const halt = (): Promise<void> => ignoring([304, 404], ask(container.stop({ t: 0 })));

  const reach = async (): Promise<Socket | undefined> => {
    // A server that died in the midst of a start has left it open.
    if (!starting && existsSync(folder)) chmodSync(folder, 0o700);
    return isWhole() ? connectTo(socketPath).catch(() => undefined) : undefined;
  };

  const connect = async (): Promise<Socket> => {
    const socket = starting || mayBeHeld ? undefined : await reach();
    if (socket) return socket;
    starting ??= launch().finally(() => {
      starting = undefined;
    });
    await starting;
    return connectTo(socketPath).catch((cause) => {
      throw new BoxError('unavailable', 'The sandbox went away.', { cause });
    });
  };

  const guest = createGuestClient(connect);

  const isRunning = async (): Promise<boolean> => {
    await starting?.catch(() => undefined);
    const socket = await reach();
    socket?.destroy();
    return socket !== undefined;
  };

  const stop = async (): Promise<void> => {
    await starting?.catch(() => undefined);
    await halt();
    for (const file of [socketPath, handedOver]) rmSync(file, { force: true });
  };

  return {
    async waitReady(signal) {
      signal.throwIfAborted();
      await guest.programs();
    },
    start(program) {
      const own = workspace ? seated(workspace.seat, program) : program;
      return guest.start({ ...own, env: { ...spec.env, ...own.env } });
    },
    join: guest.join,
    programs: async () => ((await isRunning()) ? guest.programs() : []),
    signal: guest.signal,
    async endAll() {
      if (await isRunning()) await guest.signal(0, constants.signals.SIGKILL);
    },
    files: guest.files,
    connect: guest.tunnel,
    async metrics() {
      const running = await isRunning();
      const stats = running ? await ask(container.stats({ stream: false, 'one-shot': true }), lost) : undefined;
      return {
        cpuMs: Math.round((stats?.cpu_stats?.cpu_usage?.total_usage ?? 0) / 1e6),
        memoryBytes: stats?.memory_stats?.usage ?? 0,
        memoryLimitBytes: spec.limits.memoryBytes,
        diskBytes: await homes.usedBytes(spec.id),
        diskLimitBytes: spec.limits.diskBytes,
        processes: stats?.pids_stats?.current ?? 0,
      };
    },
    async snapshot(name) {
      const { Config, State } = await ask(container.inspect(), lost);
      mayBeHeld = false;
      // Held still meanwhile, so that the snapshot is one moment.
      if (State.Running && !State.Paused) await ask(container.pause(), lost);
      try {
        await homes.snapshot(spec, Config.Image, name);
      } finally {
        if (State.Running) await ask(container.unpause(), lost);
      }
    },
    pause: stop,
    async isActive() {
      return (await isRunning()) && guest.isBusy();
    },
    async teardown() {
      await starting?.catch(() => undefined);
      const mine = { ...names.ours(), 'skillbox.sandbox': spec.id };
      const found = await ask(docker.listContainers({ all: true, ...labelFilter(mine) }));
      for (const { Id } of found) await ignoring([404], ask(docker.getContainer(Id).remove({ force: true, v: true })));
      await homes.remove(spec.id);
      for (const path of [folder, handedOver]) rmSync(path, { recursive: true, force: true });
      forget();
    },
  };
}

async function ignoring(statuses: readonly number[], work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!statuses.includes(statusOf(error) ?? 0)) throw error;
  }
}
