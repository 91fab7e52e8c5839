/** Writes artifacts into a folder of the caller's. Their names come from a skill, so no name may lead out of it. */

import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, mkdir, open, readlink, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { type Artifact, BoxError } from '@skillbox/protocol';

/** `read` gives the bytes of one artifact. Resolves to the paths written. */
export async function downloadArtifacts(
  artifacts: readonly Artifact[],
  folder: string,
  read: (artifact: Artifact) => Promise<AsyncIterable<Buffer>>,
): Promise<string[]> {
  // All names first: either nothing is wrong with any of them, or nothing is written.
  for (const { path } of artifacts) requireSafe(path);
  await mkdir(folder, { recursive: true });
  const root = await realpath(folder);
  const written: string[] = [];
  for (const artifact of artifacts) {
    await makeParents(root, dirname(artifact.path));
    await writeOne(root, artifact, await read(artifact));
    written.push(join(folder, artifact.path));
  }
  return written;
}

/** One file, or a folder when there is no content, under `folder`; its name comes from a sandbox. */
export async function writeInto(folder: string, path: string, mode: number, content?: AsyncIterable<Buffer>): Promise<void> {
  requireSafe(path);
  const root = await realpath(folder);
  if (!content) return makeParents(root, path);
  await makeParents(root, dirname(path));
  await writeFile(root, path, (mode & 0o111) === 0 ? 0o644 : 0o755, content);
}

function requireSafe(path: string): void {
  const parts = path.split('/');
  if (!path.includes('\0') && parts.every((part) => part !== '' && part !== '.' && part !== '..')) return;
  throw refused(path, 'its name could lead out of the folder');
}

/** Folder by folder: a link on the way would lead elsewhere. */
async function makeParents(root: string, parent: string): Promise<void> {
  let folder = root;
  for (const part of parent === '.' ? [] : parent.split('/')) {
    folder = join(folder, part);
    const stats = await lstat(folder).catch(absent);
    if (!stats) await mkdir(folder);
    else if (!stats.isDirectory()) throw refused(parent, `${folder} is ${stats.isSymbolicLink() ? 'a link' : 'not a folder'}`);
  }
}

async function writeOne(root: string, { path, size, sha256 }: Artifact, content: AsyncIterable<Buffer>): Promise<void> {
  await writeFile(root, path, 0o644, checked(path, size, sha256, content));
}

async function* checked(path: string, size: number, sha256: string, content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  let received = 0;
  for await (const chunk of content) {
    received += chunk.length;
    if (received > size) break;
    hash.update(chunk);
    yield chunk;
  }
  if (received !== size || hash.digest('hex') !== sha256) throw new BoxError('unreachable', `${path} did not arrive whole. Try again.`);
}

/** Under another name at first, so that a broken download leaves the old file, and a link at the target is replaced, not followed. */
async function writeFile(root: string, path: string, mode: number, content: AsyncIterable<Buffer>): Promise<void> {
  const target = join(root, path);
  const temporary = join(dirname(target), `.${basename(target).slice(0, 100)}.${randomBytes(6).toString('hex')}`);
  const file = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, mode);
  try {
    const real = await readlink(`/proc/self/fd/${file.fd}`);
    if (!real.startsWith(root === sep ? root : root + sep)) throw refused(path, 'a folder on the way was replaced by a link');
    for await (const chunk of content) await file.writeFile(chunk);
    await file.close();
    await rename(temporary, target).catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'EISDIR' || error.code === 'ENOTEMPTY' ? refused(path, `${target} is a folder`) : error;
    });
  } catch (error) {
    await file.close().catch(() => undefined);
    await rm(temporary, { force: true });
    throw error;
  }
}

function refused(path: string, why: string): BoxError {
  return new BoxError('usage', `The artifact ${JSON.stringify(path)} cannot be saved: ${why}.`, {
    hint: 'Save into an empty folder, or fetch all of them as an archive with the link in files_url.',
  });
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
  return undefined;
}
