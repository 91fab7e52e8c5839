/** Paths as the inside of a sandbox has them. */

export const home = '/home/user';

export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

export const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/')) || '/';

export const joined = (folder: string, name: string): string => `${folder === '/' ? '' : folder}/${name}`;

/** Each folder on the way, from the top. */
export function crumbsOf(path: string): { readonly name: string; readonly path: string }[] {
  const parts = path.split('/').filter(Boolean);
  return [{ name: '/', path: '/' }, ...parts.map((name, at) => ({ name, path: `/${parts.slice(0, at + 1).join('/')}` }))];
}

/** Why a name cannot be one; undefined when it can. */
export function nameProblem(name: string): string | undefined {
  if (name === '') return 'Give it a name.';
  if (name === '.' || name === '..') return 'This name means a folder already.';
  if (name.includes('\0')) return 'A name cannot hold a null byte.';
  if (new TextEncoder().encode(name).length > 255) return 'The name is too long.';
  return undefined;
}
