/** One sandbox by docker: a container whose first process is our guest, reached through a socket in a folder of the host. */

import { chmodSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { constants } from 'node:os';
import { join } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import type { SandboxHandle, SandboxSpec } from '../../living.ts';
import { connectTo, createGuestClient } from '../guest/guest-client.ts';
import { type Engine, statusOf } from './engine.ts';
import type { Homes } from './homes.ts';
import { labelFilter, type Names } from './names.ts';
import { socketFolder, socketName, waitForSocket } from './socket.ts';

export interface SandboxParts {
  readonly engine: Engine;
  readonly names: Names;
  readonly homes: Homes;
  /** Holds the folders of the guests' sockets. */
  readonly runFolder: string;
}

export function openSandbox({ engine, names, homes, runFolder }: SandboxParts, spec: SandboxSpec, forget: () => void): SandboxHandle {
  const { docker, ask } = engine;
  const container = docker.getContainer(names.container(spec.id));
  const folder = socketFolder(runFolder, spec.id);
  const socketPath = join(folder, socketName);
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
    if (!State.Running) {
      rmSync(socketPath, { force: true });
      chmodSync(folder, 0o733);
      await ignoring([304], ask(container.start(), lost));
    }
    try {
      await waitForSocket(engine, container, socketPath, lost);
    } finally {
      chmodSync(folder, 0o700);
    }
  };

  const reach = (): Promise<Socket | undefined> => {
    // A server that died in the midst of a start has left it open.
    if (!starting && existsSync(folder)) chmodSync(folder, 0o700);
    return connectTo(socketPath).catch(() => undefined);
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
    await ignoring([304, 404], ask(container.stop({ t: 0 })));
    rmSync(socketPath, { force: true });
  };

  return {
    async waitReady(signal) {
      signal.throwIfAborted();
      await guest.programs();
    },
    start: (program) => guest.start({ ...program, env: { ...spec.env, ...program.env } }),
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
      rmSync(folder, { recursive: true, force: true });
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
