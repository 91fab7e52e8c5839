/** What is there of what is declared; reads only. */

import type { ArtifactStatus, EnvFileStatus, LogStatus, RepoStatus, SkillSetStatus } from '@skillbox/protocol';
import type { Graph, Place, Repo } from '../graph.ts';
import { existsAt, statAt } from '../place.ts';
import type { Runtime } from '../runtime.ts';
import { itemStatus } from '../services/item-status.ts';
import { artifactState } from './artifacts.ts';
import { bounded } from './bounded.ts';
import { openDigests } from './digests.ts';
import { envFileState } from './env-files.ts';
import { logState } from './log-folders.ts';
import { skillSetStates } from './skills/skill-states.ts';
import { lookAtTrees, lookPatience, type TreeState } from './trees.ts';

export interface FileStates {
  readonly repos: RepoStatus[];
  readonly artifacts: ArtifactStatus[];
  readonly env_files: EnvFileStatus[];
  readonly skills: SkillSetStatus[];
  readonly logs: LogStatus[];
}

const filesAtOnce = 8;

export async function fileStates(runtime: Runtime, graph: Graph): Promise<FileStates> {
  const digests = openDigests(runtime.config.stateRoot);
  const [trees, artifacts] = await Promise.all([
    lookAtTrees(
      graph.repos.map(({ place }) => place),
      { signal: runtime.signal, ...lookPatience },
    ),
    bounded(graph.artifacts, filesAtOnce, (artifact) => artifactState(artifact, digests)),
  ]);
  const skills = skillSetStates(runtime.config.stateRoot, graph.skills);
  return {
    repos: graph.repos.map((repo, index) => ({
      ...itemStatus(repo),
      ...placed(repo.place),
      source: repo.source.kind,
      ...repoState(repo, trees[index]),
    })),
    artifacts: graph.artifacts.map((artifact, index) => ({
      ...itemStatus(artifact),
      ...placed(artifact.place),
      state: artifacts[index] ?? 'missing',
    })),
    env_files: graph.envFiles.map((file) => ({
      ...itemStatus(file),
      ...placed(file.place),
      repo: file.repo ?? null,
      state: envFileState(file),
    })),
    skills: graph.skills.map((set, index) => {
      const { detail = null, skills: each = [], state = 'missing' } = skills[index] ?? {};
      return { ...itemStatus(set), state, skills: each, detail };
    }),
    logs: graph.logs.map((log) => ({
      ...itemStatus(log),
      ...placed(log.place),
      retention_days: log.retentionDays ?? null,
      ...logState(log),
    })),
  };
}

type RepoFacts = Pick<RepoStatus, 'state' | 'branch' | 'commit' | 'detail'>;

function repoState({ place, source }: Repo, tree: TreeState | 'late' | undefined): RepoFacts {
  const nothing = { branch: null, commit: null, detail: null };
  const there = statAt(place);
  if (!there) return { state: 'missing', ...nothing };
  if (tree === 'late') return { ...nothing, state: 'unknown', detail: 'timed out' };
  if (!tree) {
    const isTree = source.kind === 'git' || existsAt({ ...place, path: `${place.path}/.git`, hostPath: `${place.hostPath}/.git` });
    return isTree ? { ...nothing, state: 'unknown', detail: 'git cannot read it' } : { state: 'ok', ...nothing };
  }
  const { branch, commit } = tree;
  return { state: tree.dirty > 0 ? 'dirty' : tree.behind > 0 ? 'behind' : 'ok', branch, commit, detail: null };
}

const placed = ({ hostPath, path }: Place): { path: string; host_path: string } => ({ path, host_path: hostPath });
