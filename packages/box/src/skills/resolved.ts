/** Skills as they were last read, for those that run often. Whether a version is still there is asked each time; what it is never changes. */

import type { SkillRow } from '../store/tables.ts';
import type { Skill } from './catalog.ts';

export interface Resolved {
  get(tenant: string, name: string, row: Pick<SkillRow, 'version' | 'digest' | 'created_at'>): Skill | undefined;
  keep(skill: Skill, createdAt: string): void;
}

const most = 256;
/** Longer ones are read each time, so that all of them together stay small. */
const longestInstructions = 64 * 1024;

export function createResolved(): Resolved {
  const skills = new Map<string, { readonly skill: Skill; readonly createdAt: string }>();
  const keyOf = (tenant: string, name: string, version: string): string => `${tenant}/${name}@${version}`;
  return {
    get(tenant, name, { version, digest, created_at }) {
      const key = keyOf(tenant, name, version);
      const known = skills.get(key);
      if (!known) return undefined;
      skills.delete(key);
      // Deleted since, and pushed again.
      if (known.skill.digest !== digest || known.createdAt !== created_at) return undefined;
      skills.set(key, known);
      return known.skill;
    },
    keep(skill, createdAt) {
      if (skill.instructions.length > longestInstructions) return;
      skills.set(keyOf(skill.tenant, skill.name, skill.version), { skill, createdAt });
      const [oldest] = skills.keys();
      if (skills.size > most && oldest !== undefined) skills.delete(oldest);
    },
  };
}
