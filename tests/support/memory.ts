/** What a server and its living sandboxes hold. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sandboxGroups } from './leftovers.ts';
import type { ServerProcess } from './server-process.ts';

/** The server's own pages, and what the groups of its living sandboxes are charged with, the kernel's part included. */
export function memoryOf(server: ServerProcess): { readonly bytes: number; readonly groups: number } {
  server.signal('SIGUSR2');
  const own = Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${server.pid}/smaps_rollup`, 'utf8'))?.[1]) * 1024;
  const charged = sandboxGroups(`${server.host}-living`)
    .flatMap((group) => ['memory.usage_in_bytes', 'memory.current'].map((file) => join(group, file)))
    .filter((file) => existsSync(file))
    .map((file) => Number(readFileSync(file, 'utf8')));
  return { bytes: charged.reduce((sum, bytes) => sum + bytes, own), groups: charged.length };
}

/** What of a process is in memory. */
export const residentBytes = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
