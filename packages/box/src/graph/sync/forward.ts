/** A working tree moves on to what its remote has: never over local changes, nor over local commits. */

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { readJsonFile, writePrivateFile } from '../../private-file.ts';
import type { Place } from '../graph.ts';
import { statAt } from '../place.ts';
import { graphFolder, type Runtime } from '../runtime.ts';
import type { Mirror } from './mirrors.ts';
import { detachTree, fetchIntoTree, forwardTree, mendTree, type TreeState, treeStates } from './trees.ts';

export interface Forwarded {
  readonly result: 'done' | 'unchanged' | 'skipped';
  readonly detail?: string;
  /** Of the tree, afterwards. */
  readonly commit: string | null;
}

export async function bringForward(
  runtime: Runtime,
  { id, place }: { id: string; place: Place },
  before: TreeState,
  mirror: Omit<Mirror, 'fetched'>,
): Promise<Forwarded> {
  await fetchIntoTree(place, mirror.path, runtime);
  const [state = before] = await treeStates([place], runtime);
  const { ahead, behind, commit } = state;
  const skipped = (why: string): Forwarded => ({
    result: 'skipped',
    commit,
    detail: behind > 0 ? `${why}; ${commits(behind)} behind` : why,
  });
  const why = obstacle(state, mirror.branch);
  if (why) return skipped(why);
  if (ahead > 0 && behind === 0) return { result: 'unchanged', commit, detail: `${commits(ahead)} ahead of what is declared` };
  if (ahead > 0) return skipped(`has gone another way, ${commits(ahead)} ahead`);
  runtime.progress(`Bringing ${id} forward`);
  markForward(runtime, place, { from: commit ?? '', to: mirror.commit });
  if (mirror.branch === undefined) await detachTree(place, mirror.commit, mirror.path, runtime);
  else await forwardTree(place, mirror.branch, mirror.path, runtime);
  rmSync(forwardMark(runtime, place), { force: true });
  return { result: 'done', commit: mirror.commit, detail: `${short(commit)}..${short(mirror.commit)}` };
}

/** Why it stays where it is. */
export function obstacle(state: TreeState, branch: string | undefined): string | undefined {
  if (branch !== undefined && state.branch !== branch)
    return state.branch === null ? `on no branch, not on ${branch}` : `on branch ${state.branch}, not on ${branch}`;
  return state.dirty > 0 ? localChanges(state) : undefined;
}

export const localChanges = ({ dirty }: TreeState): string => `local changes in ${dirty} file${dirty === 1 ? '' : 's'}`;
export const short = (commit: string | null): string => commit?.slice(0, 10) ?? 'nothing';
const commits = (count: number): string => `${count} commit${count === 1 ? '' : 's'}`;

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

/** What a crash cut off comes to its end, unless somebody has changed something since. */
export async function finishForward(runtime: Runtime, place: Place): Promise<void> {
  const mark = forwardMark(runtime, place);
  clearHalfWritten(mark);
  if (!existsSync(mark)) return;
  const forward = readJsonFile<Forward>(mark);
  if (forward && statAt(place)) {
    runtime.progress(`Finishing what was cut off in ${place.path}`);
    await mendTree(place, forward.from, forward.to, runtime);
  }
  rmSync(mark, { force: true });
}

/** Of one that was killed while it wrote the mark. */
function clearHalfWritten(mark: string): void {
  const folder = dirname(mark);
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder))
    if (name.startsWith(`${basename(mark)}.`) && name.endsWith('.tmp')) rmSync(join(folder, name), { force: true });
}
