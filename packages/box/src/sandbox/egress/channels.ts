/**
 * One socket for each sandbox, in a folder that only that sandbox sees. Who comes through it is that sandbox: there is no token, and
 * nothing to steal. The folder is what is bound inside, so that the new socket of a server that was restarted shows there too.
 */

import { chmodSync, closeSync, mkdirSync, openSync, readdirSync, rmSync } from 'node:fs';
import type { Server } from 'node:net';
import { join } from 'node:path';

export interface Channels {
  folder(sandbox: string): string;
  /** Replaces what a server before this one left. */
  open(sandbox: string, server: Server): Promise<void>;
  /** Listens no more. `remove`: the sandbox is gone, and so is the folder. */
  close(sandbox: string, remove: boolean): Promise<void>;
  /** Folders of those who are not named. */
  sweep(keep: ReadonlySet<string>): void;
}

const socketName = 'box.sock';

export function createChannels(root: string): Channels {
  mkdirSync(root, { recursive: true, mode: 0o700 });
  // What is in it is open to whoever gets here: this is what keeps other users of the machine out.
  chmodSync(root, 0o700);
  const listening = new Map<string, { readonly server: Server; readonly descriptor: number }>();
  const folder = (sandbox: string): string => join(root, sandbox);

  return {
    folder,
    async open(sandbox, server) {
      const path = folder(sandbox);
      mkdirSync(path, { recursive: true });
      // The sandbox has another uid, which may come in but not look around or change anything.
      chmodSync(path, 0o711);
      rmSync(join(path, socketName), { force: true });
      // A socket's path may have 107 characters; a state root may lie deeper than that.
      const descriptor = openSync(path, 'r');
      try {
        await new Promise<void>((resolve, reject) => {
          server.once('error', reject);
          server.listen(`/proc/self/fd/${descriptor}/${socketName}`, () => {
            server.off('error', reject);
            resolve();
          });
        });
        chmodSync(join(path, socketName), 0o666);
      } catch (error) {
        closeSync(descriptor);
        throw error;
      }
      listening.set(sandbox, { server, descriptor });
    },
    async close(sandbox, remove) {
      const one = listening.get(sandbox);
      listening.delete(sandbox);
      if (one) {
        await new Promise<void>((resolve) => one.server.close(() => resolve()));
        closeSync(one.descriptor);
      }
      if (remove) rmSync(folder(sandbox), { recursive: true, force: true });
    },
    sweep(keep) {
      for (const name of readdirSync(root)) if (!keep.has(name)) rmSync(folder(name), { recursive: true, force: true });
    },
  };
}
