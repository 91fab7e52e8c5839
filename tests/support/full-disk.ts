/** Fills a file system. */

import { mkdirSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** To the last block. */
export function fillDisk(path: string): void {
  mkdirSync(join(path, '..'), { recursive: true });
  const { bavail, bsize } = statfsSync(join(path, '..'));
  for (let bytes = bavail * bsize; bytes >= bsize; bytes = Math.floor(bytes / 2)) {
    try {
      writeFileSync(path, Buffer.alloc(bytes, 1), { flag: 'a' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
}
