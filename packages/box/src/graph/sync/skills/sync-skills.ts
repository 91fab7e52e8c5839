/** Skill repos: fetched, filtered, installed into every home of agents, and locked. */

import { closeSync } from 'node:fs';
import { type ActionRecord, BoxError } from '@skillbox/protocol';
import type { Place, SkillSet } from '../../graph.ts';
import { entryIn, namesIn } from '../../held.ts';
import { holdAt, readAt, removeAt, sweepAt } from '../../place.ts';
import { attempt, recordOf, type SyncWork } from '../actions.ts';
import { loadSkillConfig, type SkillSource } from './config.ts';
import { parseIgnore } from './ignore.ts';
import { install, installedState, skillAt } from './install.ts';
import { differs, installedByAny, type LockedSkill, readLock, rememberLock, writeLock } from './lock.ts';
import { type Fetched, fetchSource } from './sources.ts';
import { findSkills, readSkill, type SkillTree } from './tree.ts';

export async function syncSkills(work: SyncWork, sets: readonly SkillSet[]): Promise<ActionRecord[]> {
  const records: ActionRecord[] = [];
  // Several sets share the homes: what one brings is not another's to call extra.
  const { stateRoot } = work.runtime.config;
  const known = installedByAny(stateRoot);
  for (const set of sets) for (const { name } of readLock(set.lock)?.skills ?? []) known.add(name);
  const brought = new Map<string, string>();
  for (const set of sets) {
    const about = { section: 'skills' as const, id: set.id, action: 'install', path: set.config.path };
    records.push(...(await attempt(work, about, () => syncSet(work, set, brought))));
  }
  for (const name of brought.keys()) known.add(name);
  if (!work.dryRun) for (const { place } of sets.flatMap(({ targets }) => targets)) sweepAt(place);
  return [...records, ...extras(sets, known)];
}

interface Wanted {
  readonly tree: SkillTree;
  readonly locked: LockedSkill;
}

async function syncSet(work: SyncWork, set: SkillSet, brought: Map<string, string>): Promise<ActionRecord[]> {
  const { sha, sources } = loadSkillConfig(set);
  const old = readLock(set.lock);
  const records: ActionRecord[] = [];
  const wanted: Wanted[] = [];
  /** Of sources that cannot be used now: they stay as they are. */
  const kept: LockedSkill[] = [];
  for (const source of sources) {
    const about = { section: 'skills' as const, id: set.id, action: source.kind === 'git' ? 'fetch' : 'read', path: nameOf(source) };
    const told = await attempt(work, about, async () => {
      const fetched = await fetchSource(work, set, source);
      if (!fetched.usable) kept.push(...ofSource(old?.skills ?? [], source));
      else wanted.push(...collect(fetched, source, records, set));
      const { action, detail, error, result } = fetched;
      return source.kind === 'path'
        ? []
        : recordOf('skills', set.id, action, result, {
            path: nameOf(source),
            ...(detail !== undefined && { detail }),
            ...(error && { error }),
          });
    });
    if (told.some(({ result }) => result === 'failed')) kept.push(...ofSource(old?.skills ?? [], source));
    records.push(...told);
  }
  const ours: Wanted[] = [];
  for (const skill of wanted) {
    const { name } = skill.locked;
    const other = brought.get(name);
    if (other !== undefined) {
      const error = new BoxError('SKILL_CONFIG_INVALID', `${set.config.path}: skill ${name} comes from ${other} already.`, {
        hint: 'Pick it in one place only.',
      });
      records.push(recordOf('skills', set.id, 'install', 'failed', { detail: name, error }));
      continue;
    }
    brought.set(name, `${set.id}, ${skill.locked.repo ?? skill.locked.source_path}`);
    ours.push(skill);
  }
  for (const { name } of kept) if (!brought.has(name)) brought.set(name, set.id);
  records.push(...installAll(work, set, ours), ...removeOthers(work, set, old?.skills ?? [], brought));
  const skills = [...ours.map(({ locked }) => locked), ...kept.filter(({ name }) => !ours.some(({ locked }) => locked.name === name))].sort(
    (a, b) => (a.name < b.name ? -1 : 1),
  );
  if (!work.dryRun && differs(old, sha, skills)) writeLock(set.lock, sha, skills);
  if (!work.dryRun) rememberLock(work.runtime.config.stateRoot, set.lock);
  return records;
}

/** The skills that are picked, without what .skillignore names. */
function collect({ commit, ownName, place, result }: Fetched, source: SkillSource, records: ActionRecord[], set: SkillSet): Wanted[] {
  const there = findSkills(place, ownName);
  const names = source.pick ?? [...there.keys()].sort();
  const ignore = parseIgnore(readAt(skillAt(place, '.skillignore'), 64 * 1024)?.toString('utf8') ?? '', []);
  return names.flatMap((name) => {
    const at = there.get(name);
    if (at === undefined) {
      // Not cloned yet, in a dry run: what it has is not known.
      if (result === 'planned' && there.size === 0) {
        records.push(recordOf('skills', set.id, 'install', 'planned', { detail: name }));
        return [];
      }
      const has = [...there.keys()].sort().slice(0, 30).join(', ') || 'none';
      const error = new BoxError('SKILL_NOT_FOUND_IN_REPO', `${nameOf(source)} has no skill ${name}; it has: ${has}.`);
      records.push(recordOf('skills', set.id, 'install', 'failed', { detail: name, error }));
      return [];
    }
    const prefix = at === '' ? '' : `${at}/`;
    const tree = readSkill(at === '' ? place : skillAt(place, at), (path, isFolder) => ignore.ignores(prefix + path, isFolder));
    if (!tree) return [];
    const from = source.kind === 'git' ? { repo: source.repo } : { source_path: source.declared };
    const declared_ref = source.kind === 'git' ? source.ref : null;
    return [{ tree, locked: { name, ...from, declared_ref, resolved_commit: commit, install_tree_sha: tree.sha } }];
  });
}

function installAll({ dryRun, runtime }: SyncWork, set: SkillSet, wanted: readonly Wanted[]): ActionRecord[] {
  const records: ActionRecord[] = [];
  for (const { locked, tree } of wanted) {
    for (const { id, place } of set.targets) {
      runtime.signal.throwIfAborted();
      const state = installedState(place, locked.name, tree.sha);
      if (state === 'ok') continue;
      const code = state === 'stale' ? 'SKILL_INSTALL_STALE' : 'SKILL_NOT_INSTALLED';
      const left = tree.leftOut > 0 ? `; ${tree.leftOut} links that lead out were left out` : '';
      if (!dryRun) {
        runtime.progress(`Installing skill ${locked.name} for ${id}`);
        install(place, locked.name, tree);
      }
      records.push(
        recordOf('skills', set.id, 'install', dryRun ? 'planned' : 'done', {
          path: skillAt(place, locked.name).path,
          detail: `${locked.name} (it was ${code}${left})`,
        }),
      );
    }
  }
  if (records.length > 0 || wanted.length === 0) return records;
  return [recordOf('skills', set.id, 'install', 'unchanged', { detail: `${wanted.length} skills for ${set.targets.length} homes` })];
}

/** What the last lock has and nobody declares any more. */
function removeOthers(
  { dryRun }: SyncWork,
  set: SkillSet,
  old: readonly LockedSkill[],
  brought: ReadonlyMap<string, string>,
): ActionRecord[] {
  return old
    .filter(({ name }) => !brought.has(name))
    .flatMap(({ name }) =>
      set.targets.flatMap(({ place }) => {
        const at = skillAt(place, name);
        if (dryRun) return recordOf('skills', set.id, 'remove', 'planned', { path: at.path, detail: name });
        return removeAt(at) ? recordOf('skills', set.id, 'remove', 'done', { path: at.path, detail: name }) : [];
      }),
    );
}

/** What somebody else put there is told, and left. */
function extras(sets: readonly SkillSet[], known: ReadonlySet<string>): ActionRecord[] {
  const seen = new Set<string>();
  return sets.flatMap((set) =>
    set.targets.flatMap(({ place }) => {
      if (seen.has(place.hostPath)) return [];
      seen.add(place.hostPath);
      return extraSkills(place, known).map((name) => {
        const error = new BoxError('SKILL_EXTRA_INSTALLED', `${place.path} has a skill ${name} that nothing declares.`);
        return recordOf('skills', set.id, 'check', 'skipped', { path: skillAt(place, name).path, detail: name, error });
      });
    }),
  );
}

/** Folders with a SKILL.md that are not among the known. */
export function extraSkills(target: Place, known: ReadonlySet<string>): string[] {
  const folder = holdAt(target);
  if (folder === undefined) return [];
  try {
    return namesIn(folder)
      .filter((name) => !name.startsWith('.') && !known.has(name) && entryIn(folder, name)?.isDirectory())
      .sort();
  } finally {
    closeSync(folder);
  }
}

const nameOf = (source: SkillSource): string => (source.kind === 'git' ? `${source.repo}@${source.ref}` : source.path);
const ofSource = (skills: readonly LockedSkill[], source: SkillSource): LockedSkill[] =>
  skills.filter((skill) =>
    source.kind === 'git' ? skill.repo === source.repo && skill.declared_ref === source.ref : skill.source_path === source.declared,
  );
