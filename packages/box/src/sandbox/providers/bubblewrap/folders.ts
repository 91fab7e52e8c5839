/** Where the files of this provider are, also for who looks while no server runs. */

import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const bubblewrapFolder = (stateRoot: string): string => join(stateRoot, 'run', 'bubblewrap');

/** Paths of sockets are at most 107 bytes long; a state root may lie deeper than that. */
export function socketFolder(runFolder: string): string {
  const inside = join(runFolder, 'living');
  if (inside.length <= 70) return inside;
  const short = createHash('sha256').update(runFolder).digest('hex').slice(0, 12);
  return join(tmpdir(), `skillbox-${process.getuid?.() ?? 0}-${short}`);
}

export const socketOf = (folder: string, sandbox: string): string => join(folder, `${sandbox}.sock`);
