/** All processes at one moment. */

import { readdirSync } from 'node:fs';
import { type ProcessEntry, readProcess } from './identity.ts';

/** By pid, without zombies. */
export type ProcessTable = ReadonlyMap<number, ProcessEntry>;

/** Who asks within this time shares one reading: hundreds of trees that end at once do not read /proc hundreds of times. */
const gatherMs = 10;

let next: Promise<ProcessTable> | undefined;

export function readProcessTable(): ProcessTable {
  const table = new Map<number, ProcessEntry>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const entry = readProcess(pid);
    if (entry && !entry.zombie) table.set(pid, entry);
  }
  return table;
}

/** Read after this call, so that it shows what was true when it was asked for or later. */
export function nextProcessTable(): Promise<ProcessTable> {
  next ??= new Promise((resolve, reject) => {
    setTimeout(() => {
      next = undefined;
      try {
        resolve(readProcessTable());
      } catch (error) {
        reject(error as Error);
      }
    }, gatherMs);
  });
  return next;
}
