/** The end of a file that grows at its end, without reading all of it. */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const chunkBytes = 64 * 1024;
const newline = 0x0a;

/** The newest last. What stands behind the last line break is not a line yet. Empty when there is no such file. */
export function lastLines(path: string, count: number): string[] {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  try {
    const chunks: Buffer[] = [];
    let breaks = 0;
    for (let at = fstatSync(fd).size; at > 0 && breaks <= count; ) {
      const chunk = Buffer.alloc(Math.min(chunkBytes, at));
      at -= chunk.length;
      const read = readSync(fd, chunk, 0, chunk.length, at);
      chunks.unshift(chunk.subarray(0, read));
      breaks += chunk.reduce((sum, byte) => (byte === newline ? sum + 1 : sum), 0);
    }
    const lines = Buffer.concat(chunks).toString('utf8').split('\n').slice(0, -1);
    return lines.slice(-count);
  } finally {
    closeSync(fd);
  }
}
