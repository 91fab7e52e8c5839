import { posix } from 'node:path';
import type { EntryKind, FileEntry } from '../../sandbox/living.ts';

const types: Record<EntryKind, string> = {
  file: 'FILE_TYPE_FILE',
  directory: 'FILE_TYPE_DIRECTORY',
  symlink: 'FILE_TYPE_SYMLINK',
  other: 'FILE_TYPE_UNSPECIFIED',
};
const letters: Record<EntryKind, string> = { file: '-', directory: 'd', symlink: 'L', other: '?' };

/** A file or folder as the filesystem service shows it. */
export function toEntry({ gid, kind, mode, modifiedAt, path, size, target, uid }: FileEntry): unknown {
  return {
    name: posix.basename(path),
    type: types[kind],
    path,
    size,
    mode: mode & 0o7777,
    permissions: letters[kind] + permissions(mode),
    owner: accountName(uid),
    group: accountName(gid),
    modifiedTime: new Date(modifiedAt).toISOString(),
    ...(target !== undefined && { symlinkTarget: target }),
  };
}

function permissions(mode: number): string {
  return [6, 3, 0].map((shift) => [4, 2, 1].map((bit, at) => ((mode >> shift) & bit ? 'rwx'.charAt(at) : '-')).join('')).join('');
}

/** The sandbox has one account; the rest is the read-only system. */
const accountName = (id: number): string => (id === 0 ? 'root' : 'user');
