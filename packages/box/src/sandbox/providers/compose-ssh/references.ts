/**
 * Files that a compose file pulls in while it is resolved, and that do not show afterwards: they must be of the project, or
 * `env_file: /home/me/.ssh/id_ed25519` would hand a key of the host to a container.
 */

import { posix } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import { parse } from 'yaml';
import { asMap, entries, isWithin, type Json, listOf } from './policy.ts';

export interface References {
  /** Names of services, in the order of the files. */
  readonly services: readonly string[];
}

const maxFiles = 32;

/** `project` and `files` are absolute paths on the host; `read` gives the text of a file there. */
export async function checkReferences(
  project: string,
  files: readonly string[],
  read: (path: string) => Promise<string>,
): Promise<References> {
  const services = new Set<string>();
  const seen = new Set(files);
  for (const file of seen) {
    if (seen.size > maxFiles) throw new BoxError('bad_request', `The compose files refer to more than ${maxFiles} others.`);
    const content = parseFile(file, await read(file));
    for (const name of Object.keys(asMap(content.services))) services.add(name);
    for (const { path, isCompose } of referencesIn(content)) {
      const target = locate(project, posix.dirname(file), path, file);
      if (isCompose) seen.add(target);
    }
  }
  return { services: [...services] };
}

interface Reference {
  readonly path: unknown;
  /** Has references of its own. */
  readonly isCompose: boolean;
}

function referencesIn(content: Json): Reference[] {
  const found: Reference[] = [];
  for (const [, service] of entries(content.services)) {
    for (const key of ['env_file', 'label_file'])
      for (const file of listOf(service[key])) found.push({ path: typeof file === 'string' ? file : asMap(file).path, isCompose: false });
    const { file } = asMap(service.extends);
    if (file !== undefined) found.push({ path: file, isCompose: true });
  }
  for (const included of listOf(content.include)) {
    if (typeof included === 'string') {
      found.push({ path: included, isCompose: true });
      continue;
    }
    const { path, env_file, project_directory } = asMap(included);
    for (const file of listOf(path)) found.push({ path: file, isCompose: true });
    for (const file of listOf(env_file)) found.push({ path: file, isCompose: false });
    // It would change what every other path in there is relative to.
    if (project_directory !== undefined) found.push({ path: null, isCompose: false });
  }
  return found;
}

/** A path with a variable is not known here; one with a colon may be an address. */
function locate(project: string, folder: string, path: unknown, from: string): string {
  const target = typeof path === 'string' && path !== '' && !/[$:\0~]/.test(path) ? posix.resolve(folder, path) : undefined;
  if (target !== undefined && isWithin(project, target)) return target;
  const shown = posix.relative(project, from);
  throw new BoxError('forbidden', `The policy refuses this project: ${shown} refers to ${JSON.stringify(path)}.`, {
    hint: 'Files that a compose file refers to must be plain paths in the project.',
  });
}

function parseFile(file: string, text: string): Json {
  try {
    return asMap(parse(text, { merge: true, logLevel: 'error' }));
  } catch (cause) {
    throw new BoxError('bad_request', `${posix.basename(file)} cannot be read: ${(cause as Error).message}`, { cause });
  }
}
