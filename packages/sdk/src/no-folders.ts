/** In place of folders.ts where there is no disk. */

import { SkillboxError } from './errors.ts';
import type { Artifact } from './types.ts';
import type { PackedFile } from './zip.ts';

export async function readSkill(_path: string): Promise<PackedFile[] | Uint8Array> {
  throw noDisk('skills.pushFiles takes the files themselves.');
}

export async function writeArtifacts(
  _artifacts: readonly Artifact[],
  _folder: string,
  _read: (artifact: Artifact) => Promise<ReadableStream<Uint8Array>>,
): Promise<string[]> {
  throw noDisk('executions.file gives the bytes, and files_url of the record is a link to all of them.');
}

const noDisk = (hint: string): SkillboxError => new SkillboxError('usage', 'A browser has no folders.', { hint });
