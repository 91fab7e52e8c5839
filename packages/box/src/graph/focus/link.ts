/** A link in a home of the agents: made in a folder that is held, so that nothing inside can lead it elsewhere. */

import { closeSync, lchownSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import { draftName } from '../drafts.ts';
import type { Place } from '../graph.ts';
import { insideOwner } from '../inside-owner.ts';
import { holdAt, makeFolderAt, statAt } from '../place.ts';

/** Whether it leads there already. */
export function linkLeadsTo(place: Place, target: string): boolean {
  const held = holdAt(parentOf(place));
  if (held === undefined) return false;
  try {
    return statAt(place)?.isSymbolicLink() === true && readlinkSync(entry(held, basename(place.hostPath))) === target;
  } finally {
    closeSync(held);
  }
}

/** In the place of what is there, at once. */
export function linkAt(place: Place, target: string): void {
  const parent = parentOf(place);
  makeFolderAt(parent);
  const held = holdAt(parent);
  if (held === undefined) throw new BoxError('sync_failed', `${parent.path} is not a folder.`, { hint: 'Move away what stands there.' });
  const name = basename(place.hostPath);
  const fresh = entry(held, draftName(name, 'new'));
  try {
    rmSync(fresh, { force: true });
    symlinkSync(target, fresh);
    const owner = place.inside ? insideOwner() : undefined;
    if (owner) lchownSync(fresh, owner.uid, owner.gid);
    renameSync(fresh, entry(held, name));
  } finally {
    rmSync(fresh, { force: true });
    closeSync(held);
  }
}

const entry = (held: number, name: string): string => `/proc/self/fd/${held}/${name}`;

const parentOf = ({ path, hostPath, inside }: Place): Place => ({ path: dirname(path), hostPath: dirname(hostPath), inside });
