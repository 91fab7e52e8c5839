/** What was installed the last time, beside the configuration: so that the next sync knows what is its own. */

import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readJsonFile, writePrivateFile } from '../../../private-file.ts';
import type { Place } from '../../graph.ts';
import { hostFile, readAt, writeAt } from '../../place.ts';
import { graphFolder } from '../../runtime.ts';
import { skillNamePattern } from './config.ts';

const lockedSkill = z.object({
  name: z.string().regex(skillNamePattern),
  repo: z.string().optional(),
  source_path: z.string().optional(),
  declared_ref: z.string().nullable(),
  resolved_commit: z.string().nullable(),
  install_tree_sha: z.string(),
});
const skillLock = z.object({ version: z.literal(1), config_sha: z.string(), synced_at: z.string(), skills: z.array(lockedSkill) });

export type LockedSkill = z.infer<typeof lockedSkill>;
export type SkillLock = z.infer<typeof skillLock>;

/** undefined when there is none, or when somebody else wrote it: then nothing there is ours. */
export function readLock(place: Place): SkillLock | undefined {
  const text = readAt(place)?.toString('utf8');
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // As if there were none: the next sync writes it anew.
    return undefined;
  }
  return skillLock.safeParse(value).data;
}

/** Whether it says something new; the time alone is nothing new. */
export function differs(old: SkillLock | undefined, configSha: string, skills: readonly LockedSkill[]): boolean {
  return old?.config_sha !== configSha || JSON.stringify(old.skills) !== JSON.stringify(skills);
}

export function writeLock(place: Place, configSha: string, skills: readonly LockedSkill[]): void {
  const lock: SkillLock = { version: 1, config_sha: configSha, synced_at: new Date().toISOString(), skills: [...skills] };
  writeAt(place, `${JSON.stringify(lock, undefined, 2)}\n`, { mode: 0o644 });
}

/** Names that any set of this box has installed, of clients that are not selected now too: they are nobody's extra. */
export function installedByAny(stateRoot: string): Set<string> {
  return new Set(lockFiles(stateRoot).flatMap((file) => readLock(hostFile(file))?.skills.map(({ name }) => name) ?? []));
}

/** Locks of the workspace say what the workspace likes, so only the host's own count. */
export function rememberLock(stateRoot: string, { hostPath, inside }: Place): void {
  const known = lockFiles(stateRoot);
  if (inside || known.includes(hostPath)) return;
  mkdirSync(graphFolder(stateRoot), { recursive: true, mode: 0o700 });
  writePrivateFile(listFile(stateRoot), JSON.stringify([...known, hostPath].filter((file) => existsSync(file) || file === hostPath)));
}

const listFile = (stateRoot: string): string => join(graphFolder(stateRoot), 'skill-locks.json');

function lockFiles(stateRoot: string): string[] {
  const files = readJsonFile<unknown>(listFile(stateRoot));
  return Array.isArray(files) ? files.filter((file) => typeof file === 'string') : [];
}
