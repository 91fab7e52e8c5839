/** Skills in the homes of agents: each whole, in one step. */

import { closeSync, fsyncSync, symlinkSync, writeSync } from 'node:fs';
import type { Place } from '../../graph.ts';
import { createFileIn, type Held, makeChild, within } from '../../held.ts';
import type { Owner } from '../../inside-owner.ts';
import { draftFolderAt } from '../../place.ts';
import { readInstalled, type SkillFile, type SkillTree } from './tree.ts';

export const skillAt = ({ hostPath, inside, path }: Place, name: string): Place => ({
  path: `${path}/${name}`,
  hostPath: `${hostPath}/${name}`,
  inside,
});

export function installedState(target: Place, name: string, sha: string): 'ok' | 'not-installed' | 'stale' {
  const installed = readInstalled(skillAt(target, name));
  if (!installed) return 'not-installed';
  return installed.sha === sha && installed.leftOut === 0 ? 'ok' : 'stale';
}

/** In the place of what was installed. */
export function install(target: Place, name: string, { files }: SkillTree): void {
  const draft = draftFolderAt(skillAt(target, name));
  try {
    for (const file of files) put(draft.fd, file.path.split('/'), file, draft.owner);
    draft.commit();
  } catch (error) {
    draft.discard();
    throw error;
  }
}

function put(folder: Held, [name = '', ...rest]: readonly string[], file: SkillFile, owner: Owner | undefined): void {
  if (rest.length > 0) {
    const child = makeChild(folder, name, owner);
    try {
      put(child, rest, file, owner);
    } finally {
      closeSync(child);
    }
    return;
  }
  if (file.kind === 'link') {
    symlinkSync(file.target, within(folder, name));
    return;
  }
  const fd = createFileIn(folder, name, file.executable ? 0o755 : 0o644, owner);
  try {
    for (let rest = file.content; rest.length > 0; ) rest = rest.subarray(writeSync(fd, rest));
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
