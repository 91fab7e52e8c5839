/** Where skills come from: a clone of the box's own that follows its ref, or a folder of the host. */

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { basename, join, sep } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import type { Place, SkillSet } from '../../graph.ts';
import type { Runtime } from '../../runtime.ts';
import { asBoxError, type SyncWork } from '../actions.ts';
import { bringForward, finishForward } from '../forward.ts';
import { withoutPassword } from '../git.ts';
import { askRemote, type Mirror, refreshMirror, Unreachable } from '../mirrors.ts';
import { isVacant } from '../repos.ts';
import { cloneTree, treeStates } from '../trees.ts';
import type { SkillSource } from './config.ts';

export interface Fetched {
  readonly place: Place;
  /** What a skill at its root is called. */
  readonly ownName: string;
  readonly commit: string | null;
  readonly action: 'clone' | 'fetch' | 'read';
  readonly result: 'done' | 'unchanged' | 'planned' | 'skipped';
  readonly detail?: string;
  /** Why it was skipped. */
  readonly error?: BoxError;
  /** false: what was installed of it stays as it is. */
  readonly usable: boolean;
}

/** Throws SKILL_REPO_UNREACHABLE and SKILL_REPO_CLONE_FAILED where nothing is there to go on with. */
export async function fetchSource(work: SyncWork, set: SkillSet, source: SkillSource): Promise<Fetched> {
  const { config } = work.runtime;
  if (source.kind === 'git') return fetchClone(work, set, source);
  const place = sourcePlace(config.stateRoot, source.path);
  if (!existsSync(source.path))
    throw new BoxError('SKILL_CONFIG_INVALID', `${set.config.path}: there is no folder ${source.path}.`, {
      hint: `Correct path: ${source.declared}`,
    });
  return { place, ownName: basename(source.path), commit: null, action: 'read', result: 'unchanged', usable: true };
}

/** What lies in the state of the box may have been written by the workspace: no link on the whole way is followed. */
export const sourcePlace = (stateRoot: string, path: string): Place => ({
  path,
  hostPath: path,
  inside: `${path}${sep}`.startsWith(`${stateRoot}${sep}`),
});

export function clonePlace({ cloneRoot }: SkillSet, { ref, repo }: { repo: string; ref: string }): Place {
  const name = basename(repo.replace(/\/+$/, ''), '.git').replace(/[^\w.-]/g, '_');
  const path = join(cloneRoot, `${name}-${createHash('sha256').update(`${repo}#${ref}`).digest('hex').slice(0, 8)}`);
  return { path, hostPath: path, inside: false };
}

async function fetchClone({ dryRun, runtime }: SyncWork, set: SkillSet, source: SkillSource & { kind: 'git' }): Promise<Fetched> {
  const place = clonePlace(set, source);
  const ownName = basename(source.repo.replace(/\/+$/, ''), '.git');
  const base = { place, ownName };
  if (isVacant(place)) {
    const { mirror, url } = await firstThatAnswers(runtime, source, dryRun);
    if (mirror.path === undefined) return { ...base, commit: mirror.commit, action: 'clone', result: 'planned', usable: true };
    runtime.progress(`Cloning ${source.repo}`);
    await cloneTree(place, { ...mirror, mirror: mirror.path, url }, runtime).catch((error) => {
      runtime.signal.throwIfAborted();
      throw new BoxError('SKILL_REPO_CLONE_FAILED', `${source.repo} could not be cloned: ${(error as Error).message}`, { cause: error });
    });
    return { ...base, commit: mirror.commit, action: 'clone', result: 'done', usable: true };
  }
  if (!dryRun) await finishForward(runtime, place);
  const [state] = await treeStates([place], runtime);
  if (!state)
    throw new BoxError('SKILL_REPO_CLONE_FAILED', `${place.path} is there, but git cannot read it as a clone of ${source.repo}.`, {
      hint: 'Move it away, and run skillbox sync again.',
    });
  const dirty = (why: string): Fetched => ({
    ...{ ...base, commit: state.commit, action: 'fetch', result: 'skipped', detail: why, usable: false },
    error: new BoxError('SKILL_REPO_DIRTY', `The clone of ${source.repo} was left alone: ${why}.`, {
      hint: `Commit and push what is in ${place.path}, or put it back.`,
    }),
  });
  if (state.dirty > 0) return dirty(`local changes in ${state.dirty} file${state.dirty === 1 ? '' : 's'}`);
  let found: Awaited<ReturnType<typeof firstThatAnswers>>;
  try {
    found = await firstThatAnswers(runtime, source, dryRun);
  } catch (error) {
    if (!(error instanceof BoxError) || error.code !== 'SKILL_REPO_UNREACHABLE') throw error;
    return { ...base, commit: state.commit, action: 'fetch', result: 'skipped', detail: 'the clone stays as it is', error, usable: true };
  }
  const { mirror } = found;
  if (mirror.commit === state.commit) return { ...base, commit: state.commit, action: 'fetch', result: 'unchanged', usable: true };
  if (mirror.path === undefined) return { ...base, commit: state.commit, action: 'fetch', result: 'planned', usable: true };
  const { commit, detail, result } = await bringForward(runtime, { id: source.repo, place }, state, { ...mirror, path: mirror.path });
  if (result === 'skipped') return dirty(detail ?? 'it has gone another way');
  return { ...base, commit, action: 'fetch', result, ...(detail !== undefined && { detail }), usable: true };
}

async function firstThatAnswers(
  runtime: Runtime,
  { ref, repo, urls }: SkillSource & { kind: 'git' },
  dryRun: boolean,
): Promise<{ mirror: Pick<Mirror, 'commit' | 'branch'> & Partial<Mirror>; url: string }> {
  const refused: string[] = [];
  for (const url of urls) {
    try {
      return { mirror: await (dryRun ? askRemote(runtime, url, ref) : refreshMirror(runtime, url, ref, repo)), url };
    } catch (error) {
      runtime.signal.throwIfAborted();
      if (!(error instanceof Unreachable)) {
        const { message } = asBoxError(error, 'SKILL_REPO_CLONE_FAILED');
        throw new BoxError('SKILL_REPO_CLONE_FAILED', message, { cause: error });
      }
      refused.push(error.message);
    }
  }
  throw new BoxError('SKILL_REPO_UNREACHABLE', withoutPassword(refused.join(' ')));
}
