/** The state root: its folders, who owns it, and where its server can be found. */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import { writePrivateFile } from './private-file.ts';
import { type AbstractLock, tryLock } from './process/abstract-lock.ts';
import { identify, isAlive, type ProcessIdentity } from './process/identity.ts';

export interface ServerRecord extends ProcessIdentity {
  readonly url: string;
  readonly host: string;
  readonly version: string;
}

export const serverLogFile = (stateRoot: string): string => join(stateRoot, 'logs', 'server.log');
export const adminKeyFile = (stateRoot: string): string => join(stateRoot, 'admin.key');
const serverFile = (stateRoot: string): string => join(stateRoot, 'run', 'server.json');

export function makeStateRoot(stateRoot: string): void {
  for (const folder of ['', 'db', 'blobs', 'sandboxes', 'logs', 'run'])
    mkdirSync(join(stateRoot, folder), { recursive: true, mode: 0o700 });
}

/** One server at a time for a folder. Containers that share it but no network namespace are not seen by this. */
export async function lockState(stateRoot: string): Promise<AbstractLock> {
  const { dev, ino } = statSync(stateRoot);
  const lock = await tryLock(`state-${dev}-${ino}`);
  if (lock) return lock;
  const running = readServerRecord(stateRoot);
  throw new BoxError('already_running', `Another server uses ${stateRoot}${running ? ` (pid ${running.pid}, ${running.url})` : ''}.`);
}

/** What a killed server was in the middle of writing; only for the owner of the lock. */
export function clearTemporary(stateRoot: string): void {
  const remove = (folder: string, isTemporary: (name: string) => boolean): void => {
    const path = join(stateRoot, folder);
    if (!existsSync(path)) return;
    for (const name of readdirSync(path).filter(isTemporary)) rmSync(join(path, name), { recursive: true, force: true });
  };
  remove(join('blobs', 'tmp'), () => true);
  remove(join('sandboxes', 'skills'), (name) => name.startsWith('new-'));
  for (const folder of ['', 'run']) remove(folder, (name) => /\.\d+\.tmp$/.test(name));
}

export function writeServerRecord(stateRoot: string, facts: Pick<ServerRecord, 'url' | 'host' | 'version'>): void {
  const self = identify(process.pid);
  writePrivateFile(serverFile(stateRoot), `${JSON.stringify({ ...self, ...facts })}\n`);
}

/** The server of this state root, if it is alive. */
export function readServerRecord(stateRoot: string): ServerRecord | undefined {
  const file = serverFile(stateRoot);
  if (!existsSync(file)) return undefined;
  const record = JSON.parse(readFileSync(file, 'utf8')) as ServerRecord;
  return isAlive(record) ? record : undefined;
}

export function removeServerRecord(stateRoot: string): void {
  rmSync(serverFile(stateRoot), { force: true });
}

/** The address of a server as a program on the same machine can use it. */
export function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}
