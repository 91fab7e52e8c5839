/** What the rules of the manifest ask about the machine. */

import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';

export interface HostFiles {
  /** Folders in which people keep what is theirs. */
  readonly homes: readonly string[];
  /** The path behind all links; undefined when there is nothing that could be used. */
  realPath(path: string): string | undefined;
  isProgram(path: string): boolean;
}

export const localFiles: HostFiles = {
  // A service account may have / as its home, which says nothing.
  homes: ['/home', '/root', homedir()].filter((home) => home !== '/'),
  realPath: (path) => attempt(() => realpathSync(path)),
  isProgram: (path) => attempt(() => statSync(path).isFile() && isExecutable(path)) ?? false,
};

function isExecutable(path: string): boolean {
  accessSync(path, constants.X_OK);
  return true;
}

/** Missing, not allowed, a loop of links: whatever the reason, a sandbox could not use the path either. */
function attempt<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) return undefined;
    throw error;
  }
}
