import { closeSync, fsyncSync, openSync, readFileSync, renameSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';

/** Writes a file only its owner may read, whole or not at all. */
export function writePrivateFile(path: string, text: string): void {
  const temporary = `${path}.${process.pid}.tmp`;
  const fd = openSync(temporary, 'w', 0o600);
  writeSync(fd, text);
  fsyncSync(fd);
  closeSync(fd);
  renameSync(temporary, path);
}

/** The same for what means nothing once the machine has gone down, such as pids: without waiting for the disk. */
export function writeRunFile(path: string, text: string): void {
  const temporary = `${path}.${process.pid}.tmp`;
  writeFileSync(temporary, text, { mode: 0o600 });
  renameSync(temporary, path);
}

/** The same, for where the process must not wait for the disk. */
export async function writePrivateFileAside(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  const file = await open(temporary, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}

/** undefined when there is none, or when it is not JSON. */
export function readJsonFile<T>(path: string): T | undefined {
  // Most of what is looked for is not there, and an error costs ten times what a look does.
  if (!statSync(path, { throwIfNoEntry: false })) return undefined;
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return JSON.parse(text) as T;
  } catch {
    // Written whole or not at all by us: somebody else wrote it, and it says nothing that can be used.
    return undefined;
  }
}
