import { existsSync, readFileSync } from 'node:fs';

const listening = '0A';

/** Uid of who listens on a TCP port of this machine; undefined when nobody does. */
export function listenerUid(port: number): number | undefined {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    if (!existsSync(file)) continue;
    for (const line of readFileSync(file, 'utf8').split('\n').slice(1)) {
      const [, local = '', , state, , , , uid] = line.trim().split(/\s+/);
      if (state === listening && local.endsWith(`:${hex}`)) return Number(uid);
    }
  }
  return undefined;
}
