/** Repositories and folders: made or cloned when missing, brought forward when nobody has changed anything. */

import { dirname } from 'node:path';
import { type ActionRecord, BoxError } from '@skillbox/protocol';
import type { Place, Repo } from '../graph.ts';
import { makeFolderAt, namesAt, statAt } from '../place.ts';
import { attempt, recordOf, type SyncWork } from './actions.ts';
import { bounded } from './bounded.ts';
import { bringForward, finishForward, localChanges, obstacle, short } from './forward.ts';
import { askRemote, type Mirror, refreshMirror, Unreachable } from './mirrors.ts';
import { cloneTree, type TreeState, treeStates } from './trees.ts';

type GitRepo = Repo & { readonly source: Extract<Repo['source'], { kind: 'git' }> };
/** Network waits more than it works. */
const remotesAtOnce = 6;

export async function syncRepos(work: SyncWork, repos: readonly Repo[]): Promise<ActionRecord[]> {
  const { runtime } = work;
  const followed = repos.filter(isFollowed);
  const places = followed.map(({ place }) => place);
  if (!work.dryRun) for (const place of places) await finishForward(runtime, place);
  const states = await treeStates(places, runtime);
  const stateOf = new Map(followed.map((repo, index) => [repo, states[index]]));
  const records = new Map<Repo, ActionRecord[]>();
  const sync = async (repo: Repo): Promise<void> => {
    const about = { section: 'repos' as const, id: repo.id, action: actionOf(repo), path: repo.place.path };
    const told = await attempt(work, about, async () => {
      if (isFollowed(repo)) return follow(work, repo, stateOf.get(repo));
      return repo.sync === 'ensure-directory' ? ensureFolder(work, repo) : lookFor(repo);
    });
    records.set(repo, told);
  };
  for (const wave of outermostFirst(repos)) await bounded(wave, remotesAtOnce, sync);
  return repos.flatMap((repo) => records.get(repo) ?? []);
}

/** One that lies in another comes after it: what is cloned first must find its place empty. */
function outermostFirst(repos: readonly Repo[]): Repo[][] {
  const paths = new Set(repos.map(({ place }) => place.hostPath));
  const waves: Repo[][] = [];
  for (const repo of repos) {
    let depth = 0;
    for (let above = dirname(repo.place.hostPath); above !== dirname(above); above = dirname(above)) if (paths.has(above)) depth += 1;
    waves[depth] = [...(waves[depth] ?? []), repo];
  }
  return waves.filter((wave) => wave !== undefined);
}

const isFollowed = (repo: Repo): repo is GitRepo => repo.source.kind === 'git' && repo.sync === 'clone-if-missing';

function actionOf(repo: Repo): string {
  if (isFollowed(repo)) return isVacant(repo.place) ? 'clone' : 'fetch';
  return repo.sync === 'ensure-directory' ? 'mkdir' : 'check';
}

/** Others bring it; the box only says whether it is there. */
function lookFor({ id, place, required, source, sync }: Repo): ActionRecord {
  const { path } = place;
  if (statAt(place)) return recordOf('repos', id, 'check', 'unchanged', { path });
  const detail = `missing, and ${sync}: the box does not make it`;
  if (!required) return recordOf('repos', id, 'check', 'skipped', { path, detail });
  const hint = source.kind === 'git' ? `Clone it there: git clone ${source.url} ${place.hostPath}` : `Put it at ${place.hostPath}.`;
  const error = new BoxError('needs_input', `Repository ${id} is required and ${detail}.`, { hint });
  return recordOf('repos', id, 'check', 'failed', { path, detail, error });
}

function ensureFolder({ dryRun }: SyncWork, { id, place }: Repo): ActionRecord {
  const { path } = place;
  const there = statAt(place);
  if (there?.isDirectory()) return recordOf('repos', id, 'mkdir', 'unchanged', { path });
  if (there) throw new BoxError('sync_failed', `${path} is no folder.`, { hint: 'Move it away, or declare another path.' });
  if (!dryRun) makeFolderAt(place);
  return recordOf('repos', id, 'mkdir', dryRun ? 'planned' : 'done', { path });
}

async function follow(work: SyncWork, repo: GitRepo, state: TreeState | undefined): Promise<ActionRecord> {
  const { id, place } = repo;
  const { path } = place;
  const { dryRun, runtime } = work;
  if (isVacant(place)) return clone(work, repo);
  if (!state)
    throw new BoxError('sync_failed', `${path} is there, but git cannot read it as a working tree; nothing was touched.`, {
      hint: 'Move it away, and run skillbox sync again.',
    });
  const { branch, url } = repo.source;
  let remote: Pick<Mirror, 'commit' | 'branch'> & Partial<Mirror>;
  try {
    remote = await (dryRun ? askRemote(runtime, url, branch) : refreshMirror(runtime, url, branch, id));
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    // What is there serves until the remote answers again.
    return recordOf('repos', id, 'fetch', 'skipped', { path, detail: 'the tree stays as it is', error });
  }
  if (state.commit === remote.commit)
    return recordOf('repos', id, 'fetch', 'unchanged', { path, ...(state.dirty > 0 && { detail: localChanges(state) }) });
  if (remote.path === undefined) {
    const why = obstacle(state, remote.branch);
    return recordOf('repos', id, 'fetch', why ? 'skipped' : 'planned', {
      path,
      detail: why ?? `${short(state.commit)}..${short(remote.commit)}`,
    });
  }
  const { detail, result } = await bringForward(runtime, repo, state, { commit: remote.commit, branch: remote.branch, path: remote.path });
  return recordOf('repos', id, 'fetch', result, { path, ...(detail !== undefined && { detail }) });
}

async function clone({ dryRun, runtime }: SyncWork, { id, place, source: { branch, url } }: GitRepo): Promise<ActionRecord> {
  const { path } = place;
  if (dryRun) {
    const { commit } = await askRemote(runtime, url, branch);
    return recordOf('repos', id, 'clone', 'planned', { path, detail: short(commit) });
  }
  const mirror = await refreshMirror(runtime, url, branch, id);
  runtime.progress(`Cloning ${id}`);
  await cloneTree(place, { ...mirror, mirror: mirror.path, url }, runtime);
  return recordOf('repos', id, 'clone', 'done', { path, detail: short(mirror.commit) });
}

/** Nothing there, or a folder with nothing in it. */
export const isVacant = (place: Place): boolean => {
  const there = statAt(place);
  return there === undefined || (there.isDirectory() && namesAt(place)?.length === 0);
};
