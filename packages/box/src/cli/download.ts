/** Writes artifacts into a folder of the caller's. Their names come from a skill, so no name may lead out of it. */

import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, rename, rm } from 'node:fs/promises';
import { type Artifact, BoxError } from '@skillbox/protocol';
import { codeOf, holdFolder, makeChild, within } from './held-folder.ts';

/** `read` gives the bytes of one artifact. Resolves to the paths written. */
export async function downloadArtifacts(
  artifacts: readonly Artifact[],
  folder: string,
  read: (artifact: Artifact) => Promise<AsyncIterable<Buffer>>,
): Promise<string[]> {
  // All names first: either nothing is wrong with any of them, or nothing is written.
  for (const { path } of artifacts) requireSafe(path);
  await mkdir(folder, { recursive: true });
  const written: string[] = [];
  for (const artifact of artifacts) {
    const { path, size, sha256 } = artifact;
    await writeInto(folder, path, 0o644, async () => checked(path, size, sha256, await read(artifact)));
    written.push(`${folder.replace(/\/+$/, '')}/${path}`);
  }
  return written;
}

/** One file, or a folder when there is no content, under `folder`; its name comes from a sandbox. */
export async function writeInto(folder: string, path: string, mode: number, content?: () => Promise<AsyncIterable<Buffer>>): Promise<void> {
  requireSafe(path);
  const parts = path.split('/');
  const name = content ? parts.pop() : undefined;
  await inFolder(folder, parts, path, async (parent) => {
    if (content && name !== undefined) await writeFile(parent, name, path, (mode & 0o111) === 0 ? 0o644 : 0o755, await content());
  });
}

function requireSafe(path: string): void {
  const parts = path.split('/');
  if (!path.includes('\0') && parts.every((part) => part !== '' && part !== '.' && part !== '..')) return;
  throw refused(path, 'its name could lead out of the folder');
}

/** Folder by folder, each held while the next is opened: a link on the way, or swapped in later, leads nowhere. */
async function inFolder(root: string, parts: readonly string[], path: string, work: (folder: FileHandle) => Promise<void>): Promise<void> {
  let folder = await holdFolder(root);
  try {
    for (const part of parts) {
      const next = await makeChild(folder, part).catch(async (error) => {
        if (!['ELOOP', 'ENOTDIR'].includes(codeOf(error) ?? '')) throw error;
        const isLink = await lstat(within(folder, part)).then(
          (stats) => stats.isSymbolicLink(),
          () => true,
        );
        throw refused(path, `${part} is ${isLink ? 'a link' : 'not a folder'}`);
      });
      await folder.close();
      folder = next;
    }
    await work(folder);
  } finally {
    await folder.close();
  }
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
async function writeFile(folder: FileHandle, name: string, path: string, mode: number, content: AsyncIterable<Buffer>): Promise<void> {
  const temporary = within(folder, `.${name.slice(0, 100)}.${randomBytes(6).toString('hex')}`);
  const file = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, mode);
  try {
    for await (const chunk of content) await file.writeFile(chunk);
    await file.close();
    await rename(temporary, within(folder, name)).catch((error) => {
      const code = codeOf(error);
      throw code === 'EISDIR' || code === 'ENOTEMPTY' ? refused(path, `${name} is a folder`) : error;
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
