/** Folders that are held open while they are worked in: what is done goes there, wherever their names lead meanwhile. */

import { constants } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';

const asFolder = constants.O_RDONLY | constants.O_DIRECTORY;

/** Follows links: whoever names a folder means where it leads. */
export const holdFolder = (path: string): Promise<FileHandle> => open(path, asFolder);

/** The path of a name in it, for any call that takes paths. Only the name itself is looked up; it must hold no slash. */
export const within = ({ fd }: FileHandle, name: string): string => `/proc/self/fd/${fd}/${name}`;

/** A folder in it that is no link; ELOOP or ENOTDIR when it is something else. */
export const holdChild = (folder: FileHandle, name: string): Promise<FileHandle> =>
  open(within(folder, name), asFolder | constants.O_NOFOLLOW);

/** The same, made when it is not there. */
export async function makeChild(folder: FileHandle, name: string): Promise<FileHandle> {
  try {
    return await holdChild(folder, name);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  await mkdir(within(folder, name)).catch((error) => {
    // Made by somebody else meanwhile: what it is shows next.
    if (codeOf(error) !== 'EEXIST') throw error;
  });
  return holdChild(folder, name);
}

export const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;
