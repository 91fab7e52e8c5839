/** Items as they are declared, before anything is selected: each with the file it stands in. */

import type { ManifestDocument } from '../manifest/document.ts';
import { type Finding, findingKinds, formatPath, type Path, type Problem } from '../manifest/finding.ts';
import type { Artifact, Bridge, Check, EnvFile, Item, Log, Origin, Repo, Service, SkillSet, Task } from './graph.ts';
import type { DeclaredSections } from './schema.ts';

/** A file that declares items. */
export interface Source {
  readonly file: string;
  /** Relative paths start here. */
  readonly folder: string;
  /** Of an overlay. */
  readonly client: string | undefined;
  /** Key that the sections stand under. */
  readonly key: 'graph' | 'client';
  /** Absent for a box without a manifest. */
  readonly document: ManifestDocument | undefined;
  readonly sections: DeclaredSections;
}

export interface Entry<T extends Item = Item> {
  readonly item: T;
  readonly source: Source;
  /** Where it stands in its file. */
  readonly path: Path;
}

/** Everything that is declared for a selection of client; profiles have not been looked at. */
export interface Entries {
  readonly repos: readonly Entry<Repo>[];
  readonly artifacts: readonly Entry<Artifact>[];
  readonly envFiles: readonly Entry<EnvFile>[];
  readonly skills: readonly Entry<SkillSet>[];
  readonly tasks: readonly Entry<Task>[];
  readonly services: readonly Entry<Service>[];
  readonly logs: readonly Entry<Log>[];
  readonly checks: readonly Entry<Check>[];
  readonly bridges: readonly Entry<Bridge>[];
}

/** The sections as the files call them. */
export const sectionNames = {
  repos: 'repos',
  artifacts: 'artifacts',
  envFiles: 'env_files',
  skills: 'skills',
  tasks: 'tasks',
  services: 'services',
  logs: 'logs',
  checks: 'checks',
  bridges: 'bridges',
} as const satisfies Record<keyof Entries, keyof DeclaredSections>;

export type Report = (source: Source, problem: Problem) => void;

export function originOf(source: Source, path: Path): Origin {
  if (!source.document) return { file: source.file, line: 0 };
  return { file: source.file, line: source.document.positionOf({ code: 'manifest.bad_value', path, message: '' }).line };
}

export function findingOf(source: Source, { code, path, message, fix, ...rest }: Problem): Finding {
  const kind = findingKinds[code];
  const at = source.document?.positionOf({ code, path, message, ...rest }) ?? { line: 1, column: 1 };
  return { severity: kind.severity, code, file: source.file, ...at, path: formatPath(path), message, fix: fix ?? kind.fix };
}
