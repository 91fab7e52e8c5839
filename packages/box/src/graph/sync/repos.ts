/** Repositories and folders: made or cloned when missing, brought forward when nobody has changed anything. */

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type ActionRecord, BoxError } from '@skillbox/protocol';
import { readJsonFile, writePrivateFile } from '../../private-file.ts';
import type { Place, Repo } from '../graph.ts';
import { makeFolderAt, namesAt, statAt } from '../place.ts';
import { graphFolder, type Runtime } from '../runtime.ts';
import { attempt, recordOf, type SyncWork } from './actions.ts';
import { bounded } from './bounded.ts';
import { askRemote, type Mirror, refreshMirror, Unreachable } from './mirrors.ts';
import { cloneTree, detachTree, fetchIntoTree, forwardTree, mendTree, type TreeState, treeStates } from './trees.ts';

type GitRepo = Repo & { readonly source: Extract<Repo['source'], { kind: 'git' }> };
/** Network waits more than it works. */
const remotesAtOnce = 6;

export async function syncRepos(work: SyncWork, repos: readonly Repo[]): Promise<ActionRecord[]> {
  const followed = repos.filter(isFollowed);
  if (!work.dryRun) for (const repo of followed) await finishForward(work.runtime, repo.place);
  const states = await treeStates(
    followed.map(({ place }) => place),
    work.runtime,
  );
  const stateOf = new Map(followed.map((repo, index) => [repo.id, states[index]]));
  const records = await bounded(repos, remotesAtOnce, (repo) =>
    attempt(work, { section: 'repos', id: repo.id, action: actionOf(repo), path: repo.place.path }, async () => {
      if (isFollowed(repo)) return follow(work, repo, stateOf.get(repo.id));
      if (repo.sync === 'ensure-directory') return ensureFolder(work, repo);
      return lookFor(repo);
    }),
  );
  return records.flat();
}

const isFollowed = (repo: Repo): repo is GitRepo => repo.source.kind === 'git' && repo.sync === 'clone-if-missing';

function actionOf(repo: Repo): string {
  if (isFollowed(repo)) return isVacant(repo.place) ? 'clone' : 'fetch';
  return repo.sync === 'ensure-directory' ? 'mkdir' : 'check';
}

/** Others bring it; the box only says whether it is there. */
function lookFor({ id, place, required, source, sync }: Repo): ActionRecord {
  if (statAt(place)) return recordOf('repos', id, 'check', 'unchanged', { path: place.path });
  const detail = `missing, and ${sync}: the box does not make it`;
  if (!required) return recordOf('repos', id, 'check', 'skipped', { path: place.path, detail });
  const from = source.kind === 'git' ? `Clone it there: git clone ${source.url} ${place.hostPath}` : `Put it at ${place.hostPath}.`;
  const error = new BoxError('needs_input', `Repository ${id} is required and ${detail}.`, { hint: from });
  return recordOf('repos', id, 'check', 'failed', { path: place.path, detail, error });
}

function ensureFolder({ dryRun }: SyncWork, { id, place }: Repo): ActionRecord {
  const { path } = place;
  const there = statAt(place);
  if (there?.isDirectory()) return recordOf('repos', id, 'mkdir', 'unchanged', { path });
  if (there) throw new BoxError('sync_failed', `${path} is no folder.`, { hint: 'Move it away, or declare another path.' });
  if (dryRun) return recordOf('repos', id, 'mkdir', 'planned', { path });
  makeFolderAt(place);
  return recordOf('repos', id, 'mkdir', 'done', { path });
}

async function follow(work: SyncWork, repo: GitRepo, state: TreeState | undefined): Promise<ActionRecord> {
  const { id, place, source } = repo;
  const { path } = place;
  const { dryRun, runtime } = work;
  if (isVacant(place)) {
    if (dryRun) {
      const { commit } = await askRemote(runtime, source.url, source.branch);
      return recordOf('repos', id, 'clone', 'planned', { path, detail: short(commit) });
    }
    const mirror = await refreshMirror(runtime, source.url, source.branch, id);
    runtime.progress(`Cloning ${id}`);
    await cloneTree(place, { ...mirror, mirror: mirror.path, url: source.url }, runtime);
    return recordOf('repos', id, 'clone', 'done', { path, detail: short(mirror.commit) });
  }
  if (!state)
    throw new BoxError('sync_failed', `${path} is there, but git cannot read it as a working tree; nothing was touched.`, {
      hint: 'Move it away, and run skillbox sync again.',
    });
  let mirror: Omit<Mirror, 'path' | 'fetched'> & Partial<Mirror>;
  try {
    mirror = await (dryRun ? askRemote(runtime, source.url, source.branch) : refreshMirror(runtime, source.url, source.branch, id));
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    // What is there serves until the remote answers again.
    return recordOf('repos', id, 'fetch', 'skipped', { path, detail: 'the tree stays as it is', error });
  }
  if (state.commit === mirror.commit) {
    const changes = state.dirty > 0 ? { detail: localChanges(state) } : {};
    return recordOf('repos', id, 'fetch', 'unchanged', { path, ...changes });
  }
  if (dryRun || mirror.path === undefined) {
    const why = obstacle(state, mirror.branch);
    return recordOf('repos', id, 'fetch', why ? 'skipped' : 'planned', {
      path,
      detail: why ?? `${short(state.commit)}..${short(mirror.commit)}`,
    });
  }
  return bringForward(runtime, repo, state, { commit: mirror.commit, branch: mirror.branch, path: mirror.path });
}

/** Never over local changes, nor over local commits. */
async function bringForward(
  runtime: Runtime,
  { id, place }: GitRepo,
  before: TreeState,
  mirror: Omit<Mirror, 'fetched'>,
): Promise<ActionRecord> {
  const { path } = place;
  await fetchIntoTree(place, mirror.path, runtime);
  const [state = before] = await treeStates([place], runtime);
  const why = obstacle(state, mirror.branch);
  if (why)
    return recordOf('repos', id, 'fetch', 'skipped', { path, detail: state.behind > 0 ? `${why}; ${state.behind} commits behind` : why });
  if (state.ahead > 0 && state.behind === 0)
    return recordOf('repos', id, 'fetch', 'unchanged', { path, detail: `${state.ahead} commits ahead of what is declared` });
  if (state.ahead > 0)
    return recordOf('repos', id, 'fetch', 'skipped', {
      path,
      detail: `has gone another way: ${state.ahead} commits ahead, ${state.behind} behind`,
    });
  runtime.progress(`Bringing ${id} forward`);
  if (mirror.branch === undefined) await detachTree(place, mirror.commit, mirror.path, runtime);
  else {
    markForward(runtime, place, { from: state.commit ?? '', to: mirror.commit });
    await forwardTree(place, mirror.branch, mirror.path, runtime);
    rmSync(forwardMark(runtime, place), { force: true });
  }
  return recordOf('repos', id, 'fetch', 'done', { path, detail: `${short(state.commit)}..${short(mirror.commit)}` });
}

function obstacle(state: TreeState, branch: string | undefined): string | undefined {
  if (branch !== undefined && state.branch !== branch)
    return state.branch === null ? `on no branch, not on ${branch}` : `on branch ${state.branch}, not on ${branch}`;
  return state.dirty > 0 ? localChanges(state) : undefined;
}

const localChanges = ({ dirty }: TreeState): string => `local changes in ${dirty} file${dirty === 1 ? '' : 's'}`;
const short = (commit: string | null): string => commit?.slice(0, 10) ?? 'nothing';

/** Nothing there, or a folder with nothing in it. */
export const isVacant = (place: Place): boolean => {
  const there = statAt(place);
  return there === undefined || (there.isDirectory() && namesAt(place)?.length === 0);
};

interface Forward {
  readonly from: string;
  readonly to: string;
}

/** Says which tree is between two commits, for who comes after a crash. */
function forwardMark({ config }: Runtime, { hostPath }: Place): string {
  return join(graphFolder(config.stateRoot), 'forwards', `${createHash('sha256').update(hostPath).digest('hex').slice(0, 32)}.json`);
}

function markForward(runtime: Runtime, place: Place, forward: Forward): void {
  mkdirSync(join(graphFolder(runtime.config.stateRoot), 'forwards'), { recursive: true, mode: 0o700 });
  writePrivateFile(forwardMark(runtime, place), JSON.stringify(forward));
}

async function finishForward(runtime: Runtime, place: Place): Promise<void> {
  const mark = forwardMark(runtime, place);
  if (!existsSync(mark)) return;
  const forward = readJsonFile<Forward>(mark);
  if (forward && statAt(place)) {
    runtime.progress(`Finishing what was cut off in ${place.path}`);
    await mendTree(place, forward.from, forward.to, runtime);
  }
  rmSync(mark, { force: true });
}
