/**
 * Holds disks to their size without help from the file system: what runs is measured once a second, and ended when its disk is
 * above its limit and still growing. So a disk can be over by what one second writes; who only removes is left alone.
 */

import { statfs } from 'node:fs/promises';
import { BoxError } from '@skillbox/protocol';
import type { Overgrown } from '../../living.ts';
import type { Disks, DiskUse } from './disk.ts';
import { unlinkedBytes } from './unlinked-files.ts';

/** On a file system, a file costs about that much even when it is empty. */
const bytesPerFile = 4096;

export interface DiskLimits {
  /** Throws when the sandbox is known to be over, or the host to be short of room. */
  requireRoom(sandbox: string): void;
  /** What a write inside was refused with: a disk is full for the sandbox's own doing, or because the host's is. */
  explain(error: unknown): Promise<unknown>;
  /** Before anything is made here. */
  requireReserve(): Promise<void>;
  look(running: readonly Running[]): Promise<Overgrown[]>;
  forget(sandbox: string): void;
}

export interface Running {
  readonly sandbox: string;
  readonly limitBytes: number;
  /** Nothing can have begun in it since the last look. */
  readonly untouched: boolean;
  /** Whether anything runs in it: what rests does not grow. */
  isBusy(): Promise<boolean>;
  /** As the host numbers them. */
  processes(): readonly number[];
  /** `forced`: asking from inside did not help. */
  end(forced: boolean): Promise<void>;
}

export function createDiskLimits(disks: Disks, folder: string, reserveBytes: number): DiskLimits {
  const last = new Map<string, DiskUse & { readonly over: boolean; readonly busy: boolean }>();
  const freeBytes = async (): Promise<number> => {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  };

  const lookAt = async (
    { sandbox, limitBytes, untouched, isBusy, processes, end }: Running,
    short: boolean,
  ): Promise<Overgrown | undefined> => {
    const before = last.get(sandbox);
    const rested = before && !before.busy && !before.over;
    if (rested && untouched) return undefined;
    const busy = await isBusy();
    // Once more after the last has ended: it may have written since. One that is over may have been cleared.
    if (!busy && rested) return undefined;
    const { bytes, files } = await disks.use(sandbox);
    const use = { bytes: bytes + (await unlinkedBytes(processes())), files };
    const over = use.bytes > limitBytes || use.files > limitBytes / bytesPerFile;
    last.set(sandbox, { ...use, over, busy });
    const grows = use.bytes > (before?.bytes ?? 0) || use.files > (before?.files ?? 0);
    if (!busy || !grows || !(over || short)) return undefined;
    await end(before?.over === true);
    return { sandbox, used_bytes: use.bytes, files: use.files, limit_bytes: limitBytes, reason: over ? 'limit' : 'reserve' };
  };

  return {
    requireRoom(sandbox) {
      if (last.get(sandbox)?.over)
        throw new BoxError('quota_exceeded', 'The disk of the sandbox is full.', {
          hint: 'Remove files in it, or use a template with a larger disk.',
        });
    },
    async explain(error) {
      if (!(error instanceof BoxError && error.code === 'quota_exceeded') || (await freeBytes()) >= reserveBytes) return error;
      return new BoxError('unavailable', 'The disk of this host is full: nothing can be written in its sandboxes.', {
        ...{ cause: error, retryAfter: 10, hint: 'Free some room on the file system of the state root.' },
      });
    },
    async requireReserve() {
      if ((await freeBytes()) < reserveBytes)
        throw new BoxError('unavailable', 'The disk of this host is almost full: no sandbox is made.', {
          hint: 'Free some room, or lower SKILLBOX_DISK_RESERVE.',
        });
    },
    async look(running) {
      const there = new Set(running.map(({ sandbox }) => sandbox));
      for (const [sandbox, { over }] of last) if (!there.has(sandbox) && !over) last.delete(sandbox);
      const short = running.length > 0 && (await freeBytes()) < reserveBytes;
      const found: Overgrown[] = [];
      for (const one of running) {
        const overgrown = await lookAt(one, short);
        if (overgrown) found.push(overgrown);
      }
      return found;
    },
    forget: (sandbox) => void last.delete(sandbox),
  };
}
