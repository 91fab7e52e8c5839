/** The files of a skill: read link by link, since whoever wrote them may mean ill. */

import { createHash } from 'node:crypto';
import { closeSync, fstatSync, readlinkSync, readSync } from 'node:fs';
import { posix } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import type { Place } from '../../graph.ts';
import { entryIn, type Held, holdChild, namesIn, openFileIn, within } from '../../held.ts';
import { holdAt } from '../../place.ts';
import { type Ignore, parseIgnore } from './ignore.ts';

export type SkillFile = { readonly path: string } & (
  | { readonly kind: 'file'; readonly content: Buffer; readonly executable: boolean }
  | { readonly kind: 'link'; readonly target: string }
);

export interface SkillTree {
  /** Sorted by path. */
  readonly files: readonly SkillFile[];
  /** SHA-256 over `path\0digest\n` of each. */
  readonly sha: string;
  /** Links that lead out of it, or to something that is not installed: they stay behind. */
  readonly leftOut: number;
}

const maxFiles = 5000;
const maxBytes = 100 * 2 ** 20;
const maxDepth = 30;
/** Running a skill leaves traces in it that are none of its files. */
const leftovers = parseIgnore('');

/** undefined when there is no folder. `ignores` are those of the repository around it, by the path of the skill in there. */
export function readSkill(place: Place, ignores?: (path: string, isFolder: boolean) => boolean): SkillTree | undefined {
  const folder = holdAt(place);
  if (folder === undefined) return undefined;
  try {
    const own = parseIgnore(readSmall(folder, '.skillignore') ?? '');
    return treeOf(folder, { ignores: (path, isFolder) => own.ignores(path, isFolder) || (ignores?.(path, isFolder) ?? false) });
  } finally {
    closeSync(folder);
  }
}

/** What is installed: a file that does not belong there makes its hash another one. */
export function readInstalled(place: Place): SkillTree | undefined {
  const folder = holdAt(place);
  if (folder === undefined) return undefined;
  try {
    return treeOf(folder, leftovers);
  } finally {
    closeSync(folder);
  }
}

function treeOf(root: Held, ignore: Ignore): SkillTree {
  const files: SkillFile[] = [];
  let bytes = 0;
  const tooMuch = (what: string): BoxError =>
    new BoxError('sync_failed', `The skill has more than ${what}.`, { hint: 'Name what it does not need in .skillignore.' });
  const walk = (folder: Held, prefix: string, depth: number): void => {
    if (depth > maxDepth) throw tooMuch(`${maxDepth} folders in each other`);
    for (const name of namesIn(folder)) {
      const path = prefix + name;
      const entry = entryIn(folder, name);
      if (!entry || ignore.ignores(path, entry.isDirectory())) continue;
      if (files.length === maxFiles) throw tooMuch(`${maxFiles} files`);
      if (entry.isDirectory()) {
        const child = holdChild(folder, name);
        if (child === undefined) continue;
        try {
          walk(child, `${path}/`, depth + 1);
        } finally {
          closeSync(child);
        }
      } else if (entry.isSymbolicLink()) files.push({ kind: 'link', path, target: readlinkSync(within(folder, name)) });
      else if (entry.isFile()) {
        bytes += entry.size;
        if (bytes > maxBytes) throw tooMuch(`${maxBytes / 2 ** 20} MiB`);
        const file = readFile(folder, name, maxBytes);
        if (file) files.push({ kind: 'file', path, ...file });
      }
    }
  };
  walk(root, '', 0);
  const paths = new Set(files.flatMap(({ kind, path }) => (kind === 'file' ? [path] : [])));
  const kept = files.filter((file) => file.kind === 'file' || staysWithin(file, paths)).sort((a, b) => (a.path < b.path ? -1 : 1));
  return { files: kept, sha: treeSha(kept), leftOut: files.length - kept.length };
}

/** To a file, or a folder with files, of the skill itself. */
function staysWithin({ path, target }: { path: string; target: string }, paths: ReadonlySet<string>): boolean {
  if (posix.isAbsolute(target)) return false;
  const at = posix.normalize(posix.join(posix.dirname(path), target));
  if (at === '..' || at.startsWith('../')) return false;
  return paths.has(at) || [...paths].some((known) => known.startsWith(`${at}/`));
}

function treeSha(files: readonly SkillFile[]): string {
  const sha = (content: Buffer | string): string => createHash('sha256').update(content).digest('hex');
  return sha(files.map((file) => `${file.path}\0${sha(file.kind === 'file' ? file.content : `link ${file.target}`)}\n`).join(''));
}

function readFile(folder: Held, name: string, most: number): { content: Buffer; executable: boolean } | undefined {
  const fd = openFileIn(folder, name);
  if (fd === undefined) return undefined;
  try {
    const { mode, size } = fstatSync(fd);
    const content = Buffer.alloc(Math.min(size, most));
    let done = 0;
    for (let read = -1; read !== 0 && done < content.length; done += read) read = readSync(fd, content, done, content.length - done, null);
    return { content: content.subarray(0, done), executable: (mode & 0o100) !== 0 };
  } finally {
    closeSync(fd);
  }
}

const readSmall = (folder: Held, name: string): string | undefined => readFile(folder, name, 64 * 1024)?.content.toString('utf8');

/** Folders with a SKILL.md, by their name; the folder itself by the name it is given. Deeper ones are found too, the nearest wins. */
export function findSkills(place: Place, ownName: string): Map<string, string> {
  const found = new Map<string, string>();
  const root = holdAt(place);
  if (root === undefined) return found;
  if (entryIn(root, 'SKILL.md')?.isFile()) found.set(ownName, '');
  let level: { folder: Held; path: string }[] = [{ folder: root, path: '' }];
  for (let depth = 0; depth < searchDepth && level.length > 0; depth += 1) {
    const next: typeof level = [];
    for (const { folder, path } of level) {
      for (const name of namesIn(folder).sort()) {
        if (name.startsWith('.') && name !== '.claude' && name !== '.codex') continue;
        if (name === 'node_modules') continue;
        const child = holdChild(folder, name);
        if (child === undefined) continue;
        if (entryIn(child, 'SKILL.md')?.isFile()) {
          if (!found.has(name)) found.set(name, `${path}${name}`);
          closeSync(child);
        } else if (next.length < maxFolders) next.push({ folder: child, path: `${path}${name}/` });
        else closeSync(child);
      }
      closeSync(folder);
    }
    level = next;
  }
  for (const { folder } of level) closeSync(folder);
  return found;
}

const searchDepth = 4;
const maxFolders = 500;
