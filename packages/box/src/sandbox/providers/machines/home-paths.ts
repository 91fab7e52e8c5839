/** Callers know one home, /home/user; on a machine that others use too it is a folder of the sandbox. */

import { posix } from 'node:path';
import type { FileEntry, ProgramInfo, ProgramSpec, SandboxFiles } from '../../living.ts';
import { homeFolder } from '../../programs.ts';

export interface HomePaths {
  /** As the machine knows it. */
  programThere(program: ProgramSpec): ProgramSpec;
  programHere(program: ProgramInfo): ProgramInfo;
  files(files: SandboxFiles): SandboxFiles;
}

export function createHomePaths(home: string): HomePaths {
  const there = (path: string): string => replacePrefix(posix.normalize(path), homeFolder, home);
  const here = (path: string): string => replacePrefix(path, home, homeFolder);
  const entryHere = (entry: FileEntry): FileEntry => ({ ...entry, path: here(entry.path) });
  return {
    programThere: (program) => ({
      ...program,
      cwd: there(program.cwd),
      env: { ...program.env, ...(program.env.HOME && { HOME: there(program.env.HOME) }) },
    }),
    programHere: (program) => ({ ...program, cwd: here(program.cwd) }),
    files: (files) => ({
      stat: async (path) => entryHere(await files.stat(there(path))),
      list: async (path, options) => (await files.list(there(path), options)).map(entryHere),
      async read(path, range) {
        const { entry, content } = await files.read(there(path), range);
        return { entry: entryHere(entry), content };
      },
      write: async (path, content, options) => entryHere(await files.write(there(path), content, options)),
      makeDir: async (path) => entryHere(await files.makeDir(there(path))),
      move: async (from, to) => entryHere(await files.move(there(from), there(to))),
      remove: (path) => files.remove(there(path)),
      watch: (path, options) => files.watch(there(path), options),
    }),
  };
}

function replacePrefix(path: string, from: string, to: string): string {
  return path === from || path.startsWith(`${from}/`) ? to + path.slice(from.length) : path;
}
