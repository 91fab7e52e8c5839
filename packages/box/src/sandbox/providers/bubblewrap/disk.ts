/**
 * The disks of living sandboxes on this host: a folder each, with the layers below it. Freezing the top of a disk that nothing
 * runs on is a rename; what did not change is never copied.
 */

import { execFile } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BoxError } from '@skillbox/protocol';
import { writePrivateFile, writePrivateFileAside } from '../../../private-file.ts';
import { diskUid } from '../../disk-owner.ts';

export interface DiskRecord {
  readonly sandbox: string;
  readonly uid: number;
  /** Names of layers, newest first. */
  readonly layers: readonly string[];
  readonly limitBytes?: number;
}

export interface DiskUse {
  readonly bytes: number;
  readonly files: number;
}

export interface Disks {
  create(sandbox: string, uid: number, snapshot: string | undefined, limitBytes: number): Promise<void>;
  read(sandbox: string): DiskRecord | undefined;
  all(): DiskRecord[];
  /** With every layer below it. */
  isWhole(sandbox: string): boolean;
  /** Also what a crash left half made or half removed. */
  names(): string[];
  /** Folder with upper/ and work/. */
  folder(sandbox: string): string;
  layerFolder(name: string): string;
  /** `running`: something may write, so the top is copied (by reference where the file system can) instead of moved. */
  snapshot(sandbox: string, name: string, running: boolean): Promise<void>;
  /** Of its top: layers below are shared, and counted once, with who froze them. */
  use(sandbox: string): Promise<DiskUse>;
  remove(sandbox: string): Promise<void>;
  removeSnapshot(name: string): Promise<void>;
}

const baseLayer = 'base';
const safeName = /^[\w-]{1,100}$/;

/** `owned`: whether files can be given to diskUid, which only root can. */
export function openDisks(root: string, owned: boolean): Disks {
  const run = promisify(execFile);
  const sandboxes = join(root, 'living');
  const layers = join(root, 'layers');
  for (const folder of [sandboxes, layers]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  const own = (path: string): void => {
    if (owned) chownSync(path, diskUid, diskUid);
  };
  const makeOwned = (path: string): void => {
    mkdirSync(path, { recursive: true, mode: 0o755 });
    own(path);
  };
  makeOwned(join(layers, baseLayer));

  const checked = (name: string): string => {
    if (safeName.test(name)) return name;
    throw new BoxError('bad_request', 'Not a name of a sandbox or snapshot.');
  };
  const folder = (sandbox: string): string => join(sandboxes, checked(sandbox));
  const recordFile = (sandbox: string): string => join(folder(sandbox), 'disk.json');
  const layerFile = (name: string): string => join(layers, `${checked(name)}.json`);
  const layerFolder = (name: string): string => join(layers, checked(name));
  const read = (sandbox: string): DiskRecord | undefined =>
    existsSync(recordFile(sandbox)) ? (JSON.parse(readFileSync(recordFile(sandbox), 'utf8')) as DiskRecord) : undefined;
  const write = (record: DiskRecord): void => writePrivateFile(recordFile(record.sandbox), JSON.stringify(record));
  const freshTop = (sandbox: string): void => {
    makeOwned(join(folder(sandbox), 'upper'));
    makeOwned(join(folder(sandbox), 'work'));
  };
  const names = (): string[] => readdirSync(sandboxes).filter((name) => safeName.test(name));
  const all = (): DiskRecord[] => names().flatMap((name) => read(name) ?? []);
  const require = (sandbox: string): DiskRecord => {
    const record = read(sandbox);
    if (record) return record;
    throw new BoxError('not_found', `The disk of sandbox ${sandbox} is not on this host.`);
  };

  return {
    folder,
    layerFolder,
    read,
    all,
    isWhole(sandbox) {
      const record = read(sandbox);
      return record !== undefined && [join(folder(sandbox), 'upper'), ...record.layers.map(layerFolder)].every((path) => existsSync(path));
    },
    names,
    async create(sandbox, uid, snapshot, limitBytes) {
      if (snapshot !== undefined && !existsSync(layerFile(snapshot)))
        throw new BoxError('not_found', `There is no snapshot ${snapshot} on this host.`);
      const below = snapshot === undefined ? [baseLayer] : (JSON.parse(readFileSync(layerFile(snapshot), 'utf8')) as string[]);
      mkdirSync(folder(sandbox), { mode: 0o700 });
      freshTop(sandbox);
      const record: DiskRecord = { sandbox, uid, layers: below, limitBytes };
      await writePrivateFileAside(recordFile(sandbox), JSON.stringify(record));
    },
    async snapshot(sandbox, name, running) {
      const record = require(sandbox);
      if (existsSync(layerFile(name))) throw new BoxError('already_exists', `There is a snapshot ${name} already.`);
      const stack = [name, ...record.layers];
      const upper = join(folder(sandbox), 'upper');
      if (running) await run('cp', ['-a', '--reflink=auto', upper, layerFolder(name)]);
      else renameSync(upper, layerFolder(name));
      writePrivateFile(layerFile(name), JSON.stringify(stack));
      if (running) return;
      await rm(join(folder(sandbox), 'work'), { recursive: true, force: true });
      freshTop(sandbox);
      write({ ...record, layers: stack });
    },
    async use(sandbox) {
      const upper = join(folder(sandbox), 'upper');
      const count = async (unit: string): Promise<number> => {
        // What goes away under its eyes makes du complain, and count the rest all the same.
        const { stdout } = await run('du', ['-s', '-x', unit, upper]).catch((error: { stdout?: string }) => ({
          stdout: error.stdout ?? '',
        }));
        return Number.parseInt(stdout, 10) || 0;
      };
      return { bytes: await count('-B1'), files: await count('--inodes') };
    },
    async remove(sandbox) {
      await rm(folder(sandbox), { recursive: true, force: true });
    },
    async removeSnapshot(name) {
      const users = all().filter((record) => record.layers.includes(name));
      if (users.length > 0)
        throw new BoxError('already_exists', `${users.length} sandbox(es) still stand on snapshot ${name}.`, {
          hint: 'Destroy them first.',
        });
      await rm(layerFile(name), { force: true });
      await rm(layerFolder(name), { recursive: true, force: true });
    },
  };
}
