/** Unpacked dependencies on this host, each of one build, for sandboxes to mount read-only. A folder is there whole or not at all. */

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Blobs } from '../../store/blobs.ts';
import { type TreeLimits, unpackTree } from './tree.ts';

export interface DependencyFolders {
  /** Unpacked when it is not there yet. */
  folder(key: string, blob: string): Promise<string>;
  /** Removes what nobody has used for a while, and what a crash left half-made. */
  sweep(unusedForMs: number): void;
}

export function createDependencyFolders(root: string, blobs: Blobs, limits: TreeLimits): DependencyFolders {
  mkdirSync(root, { recursive: true, mode: 0o755 });
  const inFlight = new Map<string, Promise<string>>();
  const lastUse = new Map<string, number>();

  const unpack = async (name: string, blob: string): Promise<string> => {
    const folder = join(root, name);
    if (existsSync(folder)) {
      const now = new Date();
      utimesSync(folder, now, now);
      return folder;
    }
    const temporary = join(root, `new-${process.pid}-${name}`);
    await rm(temporary, { recursive: true, force: true });
    await unpackTree(await blobs.get(blob), temporary, limits);
    await rename(temporary, folder);
    return folder;
  };

  return {
    async folder(key, blob) {
      // A key that is built anew, after a skill was deleted and pushed again, has another tree.
      const name = createHash('sha256').update(`${key} ${blob}`).digest('hex');
      const path = join(root, name);
      if (lastUse.has(name) && existsSync(path)) {
        lastUse.set(name, Date.now());
        return path;
      }
      const making = inFlight.get(name) ?? unpack(name, blob);
      inFlight.set(name, making);
      try {
        const folder = await making;
        lastUse.set(name, Date.now());
        return folder;
      } finally {
        inFlight.delete(name);
      }
    },
    sweep(unusedForMs) {
      const before = Date.now() - unusedForMs;
      for (const name of readdirSync(root)) {
        if (inFlight.has(name.slice(name.lastIndexOf('-') + 1))) continue;
        const path = join(root, name);
        const used = Math.max(statSync(path).mtimeMs, lastUse.get(name) ?? 0);
        if (!name.startsWith('new-') && used >= before) continue;
        lastUse.delete(name);
        rmSync(path, { recursive: true, force: true });
      }
    },
  };
}
