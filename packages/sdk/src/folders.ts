/** What needs a disk: skills from folders, artifacts into folders. Loaded when it is first used, and never by browsers. */

import { createHash, randomBytes } from 'node:crypto';
import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { SkillboxError } from './errors.ts';
import type { Artifact } from './types.ts';
import type { PackedFile } from './zip.ts';

/** What a computer leaves in folders. */
const leftovers = new Set(['__MACOSX', '.DS_Store', 'Thumbs.db', 'desktop.ini', '.git', '__pycache__']);

/** The files of a folder, or the bytes of what is a zip already. */
export async function readSkill(path: string): Promise<PackedFile[] | Uint8Array> {
  const found = await stat(path).catch((cause: unknown) => {
    throw new SkillboxError('usage', `There is nothing at ${path}.`, {
      cause,
      hint: 'Name the folder that has SKILL.md in it, or a zip of it.',
    });
  });
  return found.isDirectory() ? filesIn(path, '') : readFile(path);
}

async function filesIn(root: string, below: string): Promise<PackedFile[]> {
  const files: PackedFile[] = [];
  for (const entry of (await readdir(join(root, below), { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (leftovers.has(entry.name)) continue;
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) files.push(...(await filesIn(root, path)));
    else if (entry.isFile()) {
      const { mode } = await stat(join(root, path));
      files.push({ path, data: await readFile(join(root, path)), executable: (mode & 0o111) !== 0 });
    } else {
      throw new SkillboxError('usage', `${path} is neither a file nor a folder: it cannot be part of a skill.`, {
        hint: 'Put the file itself there.',
      });
    }
  }
  return files;
}

/**
 * Their names come from a skill, so none may lead out of the folder: not by itself, and not over a link, whether it is there or put there
 * meanwhile.
 */
export async function writeArtifacts(
  artifacts: readonly Artifact[],
  folder: string,
  read: (artifact: Artifact) => Promise<ReadableStream<Uint8Array>>,
): Promise<string[]> {
  // All names first: either nothing is wrong with any of them, or nothing is written.
  for (const { path } of artifacts) requireSafe(path);
  await mkdir(folder, { recursive: true });
  const written: string[] = [];
  const root = await pin(folder, 0);
  try {
    for (const artifact of artifacts) {
      const parts = artifact.path.split('/');
      const name = parts.pop() ?? '';
      const parent = await makeFolders(root, parts, artifact.path);
      const target = join(folder, artifact.path);
      try {
        await writeWhole(parent, name, artifact, await read(artifact), target);
      } finally {
        if (parent !== root) await parent.handle?.close();
      }
      written.push(target);
    }
  } finally {
    await root.handle?.close();
  }
  return written;
}

function requireSafe(path: string): void {
  const parts = path.split('/');
  const safe = parts.every((part) => part !== '' && part !== '.' && part !== '..' && !/[\0\\]|^[A-Za-z]:/.test(part));
  if (!safe) throw refused(path, 'its name could lead out of the folder');
}

/** A folder held open: what is done below `path` happens in it, whatever its name leads to by then. Other systems than Linux have no such path. */
interface Pinned {
  readonly path: string;
  readonly handle: FileHandle | undefined;
}

async function pin(path: string, flags: number): Promise<Pinned> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | flags);
    const over = `/proc/self/fd/${handle.fd}`;
    if (isSame(await stat(over, { bigint: true }), await handle.stat({ bigint: true }))) return { path: over, handle };
  } catch (error) {
    // Here, where it matters, it must not be taken for a system that cannot.
    if (['ELOOP', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
  await handle?.close();
  return { path, handle: undefined };
}

const isSame = (one: BigIntStats, other: BigIntStats): boolean => one.ino === other.ino && one.dev === other.dev;

async function makeFolders(root: Pinned, parts: readonly string[], path: string): Promise<Pinned> {
  let folder = root;
  for (const part of parts) {
    const above = folder;
    try {
      folder = await makeFolder(join(above.path, part), part, path);
    } finally {
      if (above !== root) await above.handle?.close();
    }
  }
  return folder;
}

async function makeFolder(folder: string, part: string, path: string): Promise<Pinned> {
  await mkdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const found = await lstat(folder);
  if (!found.isDirectory()) throw refused(path, `${part} is ${found.isSymbolicLink() ? 'a link' : 'not a folder'}`);
  return pin(folder, constants.O_NOFOLLOW ?? 0).catch((error: NodeJS.ErrnoException) => {
    throw ['ELOOP', 'ENOTDIR'].includes(error.code ?? '') ? refused(path, `${part} has become a link`) : error;
  });
}

/** Under another name at first, so that a broken download leaves the old file, and a link at the target is replaced, not followed. */
async function writeWhole(
  folder: Pinned,
  name: string,
  artifact: Artifact,
  content: ReadableStream<Uint8Array>,
  target: string,
): Promise<void> {
  const temporary = join(folder.path, `.${name.slice(0, 100)}.${randomBytes(6).toString('hex')}`);
  const file = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o644);
  const reader = content.getReader();
  try {
    const hash = createHash('sha256');
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      hash.update(value);
      await file.writeFile(value);
    }
    const own = await file.stat({ bigint: true });
    await file.close();
    if (hash.digest('hex') !== artifact.sha256) throw refused(artifact.path, 'it did not arrive as it was sent');
    await requireIn(temporary, own, artifact.path);
    await rename(temporary, join(folder.path, name));
    await requireIn(target, own, artifact.path);
  } catch (error) {
    await file.close();
    await rm(temporary, { force: true });
    throw error;
  } finally {
    // What is left of a download that failed is not fetched; one that broke has nothing to cancel.
    await reader.cancel().catch(() => undefined);
  }
}

/** Whether this name still leads to what was written. */
async function requireIn(name: string, own: BigIntStats, path: string): Promise<void> {
  const found = await lstat(name, { bigint: true }).catch(() => undefined);
  if (!found || !isSame(found, own)) throw refused(path, 'its folder was replaced while it was written');
}

function refused(path: string, why: string): SkillboxError {
  return new SkillboxError('usage', `The artifact ${JSON.stringify(path)} cannot be saved: ${why}.`, {
    hint: 'Save into an empty folder, or fetch all of them as an archive: executions.archive(id).',
  });
}
