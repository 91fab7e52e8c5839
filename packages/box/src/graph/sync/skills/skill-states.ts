/** What is installed of what was declared and locked; reads only. */

import { BoxError, type SkillSetStatus } from '@skillbox/protocol';
import type { SkillSet } from '../../graph.ts';
import { loadSkillConfig, type SkillConfig } from './config.ts';
import { installedState } from './install.ts';
import { installedByAny, type LockedSkill, readLock } from './lock.ts';
import { extraSkills } from './sync-skills.ts';

type SkillState = SkillSetStatus['skills'][number];

export interface SkillSetState extends Pick<SkillSetStatus, 'state' | 'skills' | 'detail'> {
  /** Each with its code and what mends it. */
  readonly faults: readonly BoxError[];
}

/** In the order of the sets. */
export function skillSetStates(stateRoot: string, sets: readonly SkillSet[]): SkillSetState[] {
  const locks = sets.map((set) => readLock(set.lock));
  const known = installedByAny(stateRoot);
  for (const lock of locks) for (const { name } of lock?.skills ?? []) known.add(name);
  const seen = new Set<string>();
  return sets.map((set, index) => {
    let config: SkillConfig;
    try {
      config = loadSkillConfig(set);
    } catch (error) {
      if (!(error instanceof BoxError)) throw error;
      return { state: 'invalid', skills: [], detail: error.message, faults: [error] };
    }
    const lock = locks[index];
    const faults: BoxError[] = [];
    const skills: SkillState[] = (lock?.skills ?? []).map((skill) => lockedState(set, skill, faults));
    for (const name of config.sources.flatMap(({ pick }) => pick ?? [])) {
      if (skills.some((skill) => skill.name === name)) continue;
      faults.push(new BoxError('SKILL_NOT_INSTALLED', `Skill ${name} of ${set.id} is not installed.`));
      skills.push({ name, state: 'not-installed', commit: null });
    }
    for (const { place } of set.targets) {
      if (seen.has(place.hostPath)) continue;
      seen.add(place.hostPath);
      for (const name of extraSkills(place, new Set([...known, ...skills.map((skill) => skill.name)]))) {
        faults.push(new BoxError('SKILL_EXTRA_INSTALLED', `${place.path} has a skill ${name} that nothing declares.`));
        skills.push({ name, state: 'extra', commit: null });
      }
    }
    const changed = lock !== undefined && lock.config_sha !== config.sha;
    if (changed) faults.push(new BoxError('SKILL_INSTALL_STALE', `${set.config.path} has changed since the last sync.`));
    const state = stateOf(lock !== undefined, changed, skills);
    return { state, skills, detail: faults[0] ? `${faults[0].code}: ${faults[0].message}` : null, faults };
  });
}

function lockedState(set: SkillSet, { install_tree_sha, name, resolved_commit }: LockedSkill, faults: BoxError[]): SkillState {
  const states = set.targets.map(({ place }) => ({ place, state: installedState(place, name, install_tree_sha) }));
  const worst = states.find(({ state }) => state === 'not-installed') ?? states.find(({ state }) => state === 'stale');
  if (worst?.state === 'not-installed') faults.push(new BoxError('SKILL_NOT_INSTALLED', `Skill ${name} is not in ${worst.place.path}.`));
  if (worst?.state === 'stale')
    faults.push(new BoxError('SKILL_INSTALL_STALE', `Skill ${name} in ${worst.place.path} is not as it was installed.`));
  return { name, state: worst?.state ?? 'ok', commit: resolved_commit };
}

function stateOf(locked: boolean, changed: boolean, skills: readonly SkillState[]): SkillSetStatus['state'] {
  if (!locked || skills.some(({ state }) => state === 'not-installed')) return 'missing';
  return changed || skills.some(({ state }) => state === 'stale') ? 'stale' : 'ok';
}
