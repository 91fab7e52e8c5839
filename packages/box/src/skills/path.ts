/** Which paths a skill's files may have, so that no system takes them for something else. */

import type { ScanProblem } from './scan.ts';

export const maxPathBytes = 512;

/** What is wrong with a relative path with forward slashes, or undefined when it is safe. */
export function pathProblem(path: string): ScanProblem | undefined {
  if (path === '') return { category: 'bad_name', message: 'is an empty name' };
  if (path.startsWith('/')) return { category: 'absolute_path', message: 'is an absolute path' };
  if (/^[A-Za-z]:/.test(path)) return { category: 'absolute_path', message: 'starts with a drive letter' };
  const parts = path.split(/[/\\]/);
  if (parts.includes('..')) return { category: 'path_traversal', message: 'leads out of the skill with ..' };
  if (path.includes('\\')) return { category: 'bad_name', message: 'has a backslash in its name' };
  if (unsafeCharacters.test(path)) return { category: 'bad_name', message: 'has control or invisible characters in its name' };
  if (parts.some((part) => part === '' || part === '.')) return { category: 'bad_name', message: 'has an empty or . part in its path' };
  if (Buffer.byteLength(path) > maxPathBytes) return { category: 'bad_name', message: `has a path of more than ${maxPathBytes} bytes` };
  if (parts.some((part) => Buffer.byteLength(part) > maxPartBytes)) {
    return { category: 'bad_name', message: `has a part of more than ${maxPartBytes} bytes in its path` };
  }
  return undefined;
}

/** Leftovers of desktops and tools that are no part of a skill. */
export function isJunk(path: string): boolean {
  return path.split('/').some((part) => junk.has(part)) || path.split('/').at(-1)?.startsWith('._') === true;
}

/** Finds names that are one on some file systems: equal, equal but for case or composition, or a file where another has a folder. */
export class NameSet {
  readonly #spellings = new Map<string, { readonly path: string; readonly kind: 'file' | 'folder' }>();

  /** The name that is already there and collides, or undefined after adding. */
  add(path: string): string | undefined {
    const parts = path.split('/');
    for (let depth = 1; depth <= parts.length; depth += 1) {
      const prefix = parts.slice(0, depth).join('/');
      const kind = depth === parts.length ? 'file' : 'folder';
      const key = prefix.normalize('NFC').toLowerCase();
      const known = this.#spellings.get(key);
      if (known && (kind === 'file' || known.kind === 'file' || known.path !== prefix)) return known.path;
      this.#spellings.set(key, { path: prefix, kind });
    }
    return undefined;
  }
}

const maxPartBytes = 255;
const junk = new Set(['__MACOSX', '.DS_Store', 'Thumbs.db', 'desktop.ini', '.git', '__pycache__']);

/** Control characters, halves of characters, and the invisible ones that make a name read as another. */
const unsafeCharacters = /[\p{Cc}\p{Cs}\u200E\u200F\u2028-\u202E\u2066-\u2069\uFEFF]/u;
