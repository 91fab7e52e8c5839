/** What is there of what is declared; reads only. */

import type { ArtifactStatus, EnvFileStatus, LogStatus, RepoStatus, SkillSetStatus } from '@skillbox/protocol';
import type { Graph } from '../graph.ts';
import type { Runtime } from '../runtime.ts';

export interface FileStates {
  readonly repos: RepoStatus[];
  readonly artifacts: ArtifactStatus[];
  readonly env_files: EnvFileStatus[];
  readonly skills: SkillSetStatus[];
  readonly logs: LogStatus[];
}

export async function fileStates(_runtime: Runtime, _graph: Graph): Promise<FileStates> {
  throw new Error('being written');
}
