/** What was installed the last time, beside the configuration: so that the next sync knows what is its own. */

import { z } from 'zod';
import type { Place } from '../../graph.ts';
import { readAt, writeAt } from '../../place.ts';
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
