/** Bytes on disk that no name leads to any more: files that were removed while a process holds them open or mapped. */

import { readdir, readFile, stat, statfs } from 'node:fs/promises';

const overlayMagic = 0x794c7630;

/** `pids` as the host numbers them; what ends meanwhile holds nothing. */
export async function unlinkedBytes(pids: readonly number[]): Promise<number> {
  const seen = new Map<number, number>();
  for (const pid of pids) {
    for (const path of [...(await openFiles(pid)), ...(await mappedFiles(pid))]) {
      const found = await stat(path).catch(() => undefined);
      if (!found?.isFile() || found.nlink > 0 || seen.has(found.ino)) continue;
      // What lies in memory is held by other limits.
      if ((await statfs(path).catch(() => undefined))?.type === overlayMagic) seen.set(found.ino, found.blocks * 512);
    }
  }
  return [...seen.values()].reduce((sum, bytes) => sum + bytes, 0);
}

const openFiles = async (pid: number): Promise<string[]> =>
  (await readdir(`/proc/${pid}/fd`).catch(() => [])).map((fd) => `/proc/${pid}/fd/${fd}`);

async function mappedFiles(pid: number): Promise<string[]> {
  const maps = await readFile(`/proc/${pid}/maps`, 'utf8').catch(() => '');
  return maps
    .split('\n')
    .filter((line) => line.endsWith(' (deleted)'))
    .map((line) => `/proc/${pid}/map_files/${line.slice(0, line.indexOf(' ')).replace(/(^|-)0+(?=[0-9a-f])/g, '$1')}`);
}
