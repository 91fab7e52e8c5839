import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Where a program of the system is; undefined when it is not installed. */
export function findProgram(name: string): string | undefined {
  return ['/usr/sbin', '/usr/bin', '/usr/local/bin', '/usr/local/sbin']
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
}
