/** What somebody let fall on the page, as a skill: a zip, a folder, or its files. */

import type { PackedFile } from '@skillbox/sdk';
import { SkillboxError } from '@skillbox/sdk';

export type Dropped = { readonly zip: File } | { readonly files: readonly PackedFile[] };

const mostFiles = 500;
/** Leftovers of desktops and tools, which the box leaves out too: there is no need to read and send them. */
const junk = /(^|\/)(__MACOSX|\.DS_Store|Thumbs\.db|desktop\.ini|\.git|__pycache__)(\/|$)/;

/** The list of a drop is gone once the event is over: what is in it is taken at once, and read then. */
export function readDrop(transfer: DataTransfer): Promise<Dropped> | undefined {
  const entries = [...transfer.items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  if (entries.length > 0) return readEntries(entries);
  // What another page or program made has no place on a disk.
  const files = [...transfer.files];
  return files.length > 0 ? readFiles(files) : undefined;
}

async function readEntries(entries: readonly FileSystemEntry[]): Promise<Dropped> {
  const [only] = entries;
  if (entries.length === 1 && only?.isFile && /\.zip$/i.test(only.name)) return { zip: await fileOf(only as FileSystemFileEntry) };
  const found: { path: string; file: File }[] = [];
  for (const entry of entries) await walk(entry, '', found);
  return { files: await pack(found) };
}

/** From a file input, perhaps one for folders. */
export async function readFiles(list: readonly File[]): Promise<Dropped> {
  const [only] = list;
  if (list.length === 1 && only && /\.zip$/i.test(only.name)) return { zip: only };
  return { files: await pack(list.map((file) => ({ path: file.webkitRelativePath || file.name, file }))) };
}

async function walk(entry: FileSystemEntry, before: string, found: { path: string; file: File }[]): Promise<void> {
  const path = before + entry.name;
  if (junk.test(path)) return;
  if (entry.isFile) {
    found.push({ path, file: await fileOf(entry as FileSystemFileEntry) });
    if (found.length > mostFiles) throw tooMany();
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    // It gives a hundred at a time, and none at the end.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return;
    for (const inner of some) await walk(inner, `${path}/`, found);
  }
}

async function pack(found: readonly { path: string; file: File }[]): Promise<PackedFile[]> {
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

const fileOf = (entry: FileSystemFileEntry): Promise<File> => new Promise((resolve, reject) => entry.file(resolve, reject));

const tooMany = (): SkillboxError =>
  new SkillboxError('usage', `There are more than ${mostFiles} files in it.`, { hint: 'Drop the folder of one skill.' });
