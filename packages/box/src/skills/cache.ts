/** Unpacked skills on this host, by digest, for sandboxes to mount read-only. A folder is there whole or not at all. */

import { existsSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Blobs } from '../store/blobs.ts';
import { type ArchiveLimits, readArchive, unpackTo } from './archive.ts';
import type { Skill } from './catalog.ts';

export interface SkillCache {
  /** Folder with the skill's files. */
  folder(skill: Skill): Promise<string>;
  /** Removes what nobody has used for a while, and what a crash left half-made. */
  sweep(unusedForMs: number): void;
}

export function createSkillCache(root: string, blobs: Blobs, limits: ArchiveLimits): SkillCache {
  mkdirSync(root, { recursive: true, mode: 0o755 });
  const inFlight = new Map<string, Promise<string>>();
  const lastUse = new Map<string, number>();

  const materialise = async ({ archive, digest }: Skill): Promise<string> => {
    const folder = join(root, digest);
    if (existsSync(folder)) {
      const now = new Date();
      utimesSync(folder, now, now);
      return folder;
    }
    const temporary = join(root, `new-${process.pid}-${digest}`);
    await rm(temporary, { recursive: true, force: true });
    await unpackTo(await readArchive(await blobs.read(archive), limits), temporary);
    try {
      await rename(temporary, folder);
    } catch (error) {
      // Another server on this state root was quicker; its folder is as good.
      await rm(temporary, { recursive: true, force: true });
      if (!existsSync(folder)) throw error;
    }
    return folder;
  };

  return {
    async folder(skill) {
      const path = join(root, skill.digest);
      if (lastUse.has(skill.digest) && existsSync(path)) {
        lastUse.set(skill.digest, Date.now());
        return path;
      }
      const making = inFlight.get(skill.digest) ?? materialise(skill);
      inFlight.set(skill.digest, making);
      try {
        const folder = await making;
        lastUse.set(skill.digest, Date.now());
        return folder;
      } finally {
        inFlight.delete(skill.digest);
      }
    },
    sweep(unusedForMs) {
      const before = Date.now() - unusedForMs;
      for (const name of readdirSync(root)) {
        const path = join(root, name);
        // What is being unpacked now would be swept away half, and then be taken for whole.
        if (inFlight.has(name.slice(name.lastIndexOf('-') + 1))) continue;
        const used = Math.max(statSync(path).mtimeMs, lastUse.get(name) ?? 0);
        if (!name.startsWith('new-') && used >= before) continue;
        lastUse.delete(name);
        rmSync(path, { recursive: true, force: true });
      }
    },
  };
}
