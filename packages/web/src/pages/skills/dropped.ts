/** What somebody let fall on the page, as a skill: a zip, a folder, or its files. */

import type { PackedFile } from '@skillbox/sdk';
import { SkillboxError } from '@skillbox/sdk';
import { droppedFiles, type GivenFile } from '../../parts/dropped-files.ts';

export type Dropped = { readonly zip: File } | { readonly files: readonly PackedFile[] };

const mostFiles = 500;
/** Leftovers of desktops and tools, which the box leaves out too: there is no need to read and send them. */
const junk = /(^|\/)(__MACOSX|\.DS_Store|Thumbs\.db|desktop\.ini|\.git|__pycache__)(\/|$)/;

export function readDrop(transfer: DataTransfer): Promise<Dropped> | undefined {
  // Words that were dragged here are none.
  if (![...transfer.items].some(({ kind }) => kind === 'file')) return undefined;
  return droppedFiles(transfer, { leaveOut: junk, most: mostFiles }).then(asSkill);
}

/** From a file input, perhaps one for folders. */
export const readFiles = (list: readonly File[]): Promise<Dropped> =>
  asSkill(list.map((file) => ({ path: file.webkitRelativePath || file.name, file })));

async function asSkill(found: readonly GivenFile[]): Promise<Dropped> {
  const [only] = found;
  if (found.length === 1 && only && /^[^/]*\.zip$/i.test(only.path)) return { zip: only.file };
  return { files: await pack(found) };
}

async function pack(found: readonly GivenFile[]): Promise<PackedFile[]> {
  const wanted = found.filter(({ path }) => !junk.test(path));
  if (wanted.length > mostFiles) throw tooMany();
  if (!wanted.some(({ path }) => /(^|\/)SKILL\.md$/.test(path))) {
    throw new SkillboxError('usage', 'There is no SKILL.md in it.', {
      hint: 'Drop the folder that has SKILL.md at its top, a zip of it, or its files. A new one: skillbox skill init my-skill',
    });
  }
  return Promise.all(
    wanted.map(async ({ path, file }) => ({ path: path.replace(/^\/+/, ''), data: new Uint8Array(await file.arrayBuffer()) })),
  );
}

const tooMany = (): SkillboxError =>
  new SkillboxError('usage', `There are more than ${mostFiles} files in it.`, { hint: 'Drop the folder of one skill.' });
