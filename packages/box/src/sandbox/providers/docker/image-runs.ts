/** Skills that name an image: each run in a container of its own, as closed as a living sandbox, and thrown away afterwards. */

import { chmodSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import type { Container } from 'dockerode';
import type { Logger } from '../../../observe/log.ts';
import type { ImageRunner, RunLimits, RunRequest, RunResult } from '../../provider.ts';
import { connectTo } from '../guest/guest-client.ts';
import { type OneShot, runOnce } from '../guest/run-once.ts';
import { containerOptions, insideFolder, sandboxUid } from './container.ts';
import { openEngine, statusOf } from './engine.ts';
import { allowedImage } from './images.ts';
import { memoryKills } from './memory-kills.ts';
import { createNames, labelFilter } from './names.ts';
import type { DockerOptions } from './provider.ts';
import { requireShortPath, socketFolder, socketName, waitForSocket } from './socket.ts';

export type ImageRunOptions = DockerOptions & { readonly log: Logger };

export function createImageRunner(options: ImageRunOptions): ImageRunner {
  const { allowlist, log, runFolder, runtime } = options;
  const engine = openEngine(options);
  const { docker, ask } = engine;
  const names = createNames(options.owner);
  const running = new Set<string>();
  const removals = new Set<Promise<void>>();
  let swept = false;
  mkdirSync(runFolder, { recursive: true, mode: 0o700 });
  // Folders in it are open for a moment while a guest starts; this one is what keeps other users of the machine out.
  chmodSync(runFolder, 0o700);

  const remove = async (id: string): Promise<void> => {
    try {
      await ask(docker.getContainer(names.run(id)).remove({ force: true, v: true }));
    } catch (error) {
      if (statusOf(error) !== 404) throw error;
    }
    rmSync(socketFolder(runFolder, id), { recursive: true, force: true });
  };

  const sweep = async (): Promise<void> => {
    const left = await ask(docker.listContainers({ all: true, ...labelFilter(names.ours('run')) }));
    for (const { Labels } of left) {
      const id = Labels['skillbox.execution'] ?? '';
      if (running.has(id)) continue;
      log.warn({ execution: id }, 'removing a container that a crash left');
      await remove(id);
    }
    for (const name of readdirSync(runFolder)) if (!running.has(name)) rmSync(join(runFolder, name), { recursive: true, force: true });
    swept = true;
  };

  const start = async (request: RunRequest, image: string): Promise<OneShot> => {
    const { id, limits, skillFolder } = request;
    const folder = socketFolder(runFolder, id);
    const socketPath = join(folder, socketName);
    requireShortPath(socketPath);
    await engine.requireImage(image);
    mkdirSync(folder, { mode: 0o700 });
    const container = await engine.createContainer(
      names.run(id),
      containerOptions({
        ...{ image, processors: await engine.processors(), labels: { ...names.ours('run'), 'skillbox.execution': id } },
        ...(runtime && { runtime }),
        limits: { ...limits, tmpBytes: shareOf(limits, 'tmp') },
        tmpfs: { '/sandbox': workArea(shareOf(limits, 'sandbox')) },
        command: [`${insideFolder}/guest`, '--once', `${insideFolder}/run/${socketName}`],
        mounts: [
          { Type: 'bind', Source: options.guestProgram, Target: `${insideFolder}/guest`, ReadOnly: true },
          { Type: 'bind', Source: folder, Target: `${insideFolder}/run` },
          { Type: 'bind', Source: skillFolder, Target: '/sandbox/scripts', ReadOnly: true },
        ],
      }),
    );
    // Open to the inside only until the guest has made its socket, and before anything else runs there.
    chmodSync(folder, 0o733);
    try {
      await ask(container.start());
      await waitForSocket(engine, container, socketPath);
    } finally {
      chmodSync(folder, 0o700);
    }
    const { State } = await ask(container.inspect());
    return oneShot(container, { channel: await connectTo(socketPath), kills: memoryKills(State.Pid), log });
  };

  return {
    allowed: (image) => allowedImage(image, allowlist),
    isAllowed: (image) => {
      try {
        return allowedImage(image, allowlist) !== '';
      } catch {
        // Not on the list is the answer here.
        return false;
      }
    },

    async runOnce(request, asked): Promise<RunResult> {
      const image = allowedImage(asked, allowlist);
      if (!swept) await sweep();
      running.add(request.id);
      let sandbox: OneShot | undefined;
      try {
        sandbox = await start(request, image);
        const folders = ['/sandbox/input/', '/sandbox/out/files/'].map((path) => ({ path, data: Buffer.alloc(0) }));
        return await runOnce(sandbox, { ...request, inputs: [...folders, ...request.inputs] });
      } catch (error) {
        if (error instanceof BoxError) throw error;
        throw new BoxError('sandbox_failed', `The container could not be prepared: ${(error as Error).message}`, { cause: error });
      } finally {
        sandbox?.channel.destroy();
        // The answer does not wait for the tear-down.
        const removal = remove(request.id)
          .catch((error: Error) => log.error({ execution: request.id, err: error }, 'the container of an execution could not be removed'))
          .finally(() => {
            running.delete(request.id);
            removals.delete(removal);
          });
        removals.add(removal);
      }
    },

    sweep,
    async close() {
      await Promise.all(removals);
    },
  };
}

interface Attached {
  readonly channel: Socket;
  readonly kills: () => number;
  readonly log: Logger;
}

function oneShot(container: Container, { channel, kills, log }: Attached): OneShot {
  const inspect = () => container.inspect().then(({ State }) => State);
  return {
    channel,
    kill() {
      // Without its guest nothing in it goes on; what the engine says comes after.
      channel.destroy();
      container.stop({ t: 0 }).catch((error: Error) => {
        if (![304, 404].includes(statusOf(error) ?? 0)) log.warn({ err: error }, 'a container could not be killed');
      });
    },
    async ranOutOfMemory() {
      try {
        return kills() > 0 || (await inspect()).OOMKilled;
      } catch (error) {
        log.warn({ err: error }, 'the engine could not say how a container ended');
        return false;
      }
    },
    peakMemory: () => 0,
    async gone() {
      try {
        await container.wait();
        const { Error: said, ExitCode } = await inspect();
        return { said: said || `exit ${ExitCode}`, killed: false };
      } catch (error) {
        return { said: (error as Error).message, killed: false };
      }
    },
  };
}

/** /sandbox and /tmp share what a run may write; an engine cannot give two folders one size. */
function shareOf({ diskBytes }: RunLimits, folder: 'sandbox' | 'tmp'): number {
  const tmp = Math.floor(diskBytes / 4);
  return folder === 'tmp' ? tmp : diskBytes - tmp;
}

const workArea = (bytes: number): string => `rw,noexec,nosuid,nodev,size=${bytes},mode=0755,uid=${sandboxUid},gid=${sandboxUid}`;
