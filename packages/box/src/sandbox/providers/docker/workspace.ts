/**
 * The workspace by docker. The engine is told no folder of it: it would open their paths as root, and follow what lies on the way. The
 * container starts with empty folders in their places, and before anything but its guest runs in it the launcher hands the true ones
 * over, put together as for bubblewrap: no link is followed, and files have the same owner on disk, whoever made the sandbox.
 */

import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { BoxError } from '@skillbox/protocol';
import type { MountSettings } from 'dockerode';
import { diskUid } from '../../disk-owner.ts';
import { type Ground, groundOf, prepareGround } from '../../workspace/ground.ts';
import { type Seat, seatOf, type WorkspaceParts } from '../../workspace/seat.ts';
import { encodeOrders, groundBinds, groundWords } from '../bubblewrap/command.ts';
import { sandboxUid } from './container.ts';

export interface Workspace {
  readonly seat: Seat;
  /** Who the user is, inside, and what of the box is shown there: the engine opens these, which nothing inside can write. */
  readonly mounts: readonly MountSettings[];
  /** Empty folders that nobody can write, where its own will be. Throws what keeps this host from having it. */
  places(): Readonly<Record<string, string>>;
  /** Of a container that has just started: the guest listens there, and runs nothing yet. */
  handOver(socketPath: string): Promise<void>;
}

export interface WorkspaceOptions {
  readonly parts: WorkspaceParts;
  readonly launcher: string;
  /** Holds the files that say who the user is. */
  readonly folder: string;
  readonly runtime: string | undefined;
}

/** Of the engine's runtimes those whose containers have mounts that this machine's kernel knows. */
const sharedKernel = ['runc', 'crun'];
const handOverMs = 10_000;
const maxSaid = 4096;

export function openWorkspace({ folder, launcher, parts, runtime }: WorkspaceOptions): Workspace {
  const seat = seatOf(parts);
  const files = writeUser(folder, seat);
  const ground = (): Ground => {
    requireAble(runtime);
    return groundOf(parts);
  };
  return {
    seat,
    mounts: [...Object.entries(files), ...(parts.shown ?? []).map(({ at, host }) => [at, host] as const)].map(([Target, Source]) => ({
      ...{ Type: 'bind', Source, Target, ReadOnly: true },
    })),
    places: () => Object.fromEntries(ground().folders.map(({ at }) => [at, 'ro,noexec,nosuid,nodev,size=4096,mode=0555'])),
    async handOver(socketPath) {
      const own = ground();
      prepareGround(own, parts.stateRoot, diskUid);
      await order(launcher, handOverOrders(own, socketPath));
    },
  };
}

/** Throws sandbox_unavailable where no container could have the folders. */
export function requireAble(runtime: string | undefined): void {
  const hint = 'Use provider: bubblewrap for the workspace, or run the box as root with the engine’s usual runtime.';
  if (process.getuid?.() !== 0)
    throw new BoxError('sandbox_unavailable', 'The workspace by docker needs a box that runs as root.', { hint });
  if (runtime !== undefined && !sharedKernel.includes(runtime))
    throw new BoxError('sandbox_unavailable', `The runtime ${runtime} cannot be given the folders of the workspace.`, { hint });
}

function handOverOrders(ground: Ground, socketPath: string): Buffer {
  const ids = [String(sandboxUid), String(sandboxUid)];
  return encodeOrders([
    ...['parent', String(process.pid), 'ids', ...ids, 'guest', socketPath, 'userns', 'none'],
    ...groundBinds(ground, diskUid),
    ...['stage', '65536', '64'],
    ...groundWords(ground),
    ...['hand-over', ...ground.folders.flatMap(({ name, at }) => [name, at])],
  ]);
}

/** Programs of any image find a name and a home for the uid that they have. */
function writeUser(folder: string, { home, user }: Seat): Record<string, string> {
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  const texts = {
    passwd: `root:x:0:0:root:/root:/bin/sh\n${user}:x:${sandboxUid}:${sandboxUid}:${user}:${home}:/bin/bash\n`,
    group: `root:x:0:\n${user}:x:${sandboxUid}:\n`,
  };
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => {
      // Into the same file: containers that are there hold it.
      writeFileSync(join(folder, name), text, { mode: 0o644 });
      return [`/etc/${name}`, join(folder, name)];
    }),
  );
}

/** Throws sandbox_failed with what the launcher said. */
async function order(launcher: string, orders: Buffer): Promise<void> {
  const child = spawn(launcher, [], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    env: {},
    cwd: '/',
    timeout: handOverMs,
    killSignal: 'SIGKILL',
  });
  const channel = child.stdio[3] as Duplex;
  // It ends with the launcher, whose end says what went wrong.
  channel.on('error', () => undefined);
  channel.resume().end(orders);
  let said = '';
  child.stderr?.on('data', (part: Buffer) => {
    if (said.length < maxSaid) said += part.toString();
  });
  const exit = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  }).finally(() => channel.destroy());
  if (exit !== 0)
    throw new BoxError('sandbox_failed', `The workspace could not be given its folders: ${said.trim() || 'it took too long'}`, {
      hint: 'The engine must run on this machine, with its processes in sight, and without userns-remap.',
    });
}
