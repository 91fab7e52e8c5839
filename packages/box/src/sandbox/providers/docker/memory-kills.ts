/** How often the kernel ended something in a container for want of memory. The engine tells it only of the first process. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = '/sys/fs/cgroup';

/** `pid`: the first process of the container. 0 where its group cannot be read, as from a container of our own. */
export function memoryKills(pid: number): () => number {
  const files = groupFiles(readIfPresent(`/proc/${pid}/cgroup`));
  return () => Math.max(0, ...files.map((file) => Number(/^oom_kill (\d+)$/m.exec(readIfPresent(file))?.[1] ?? 0)));
}

function groupFiles(groups: string): string[] {
  return groups.split('\n').flatMap((line) => {
    const [, controllers = '', ...path] = line.split(':');
    if (controllers === '' && path.length > 0) return [join(root, path.join(':'), 'memory.events')];
    return controllers.split(',').includes('memory') ? [join(root, 'memory', path.join(':'), 'memory.oom_control')] : [];
  });
}

function readIfPresent(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // Gone with the container, or not for us to see.
    return '';
  }
}
