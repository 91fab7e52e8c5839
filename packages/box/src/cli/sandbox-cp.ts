/** skillbox sandbox cp: files and folders, one side in a sandbox. Neither side's links lead anywhere. */

import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, opendir } from 'node:fs/promises';
import { basename, posix, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { BoxError } from '@skillbox/protocol';
import { z } from 'zod';
import { formatSize } from '../units.ts';
import { commandNamed } from './call.ts';
import type { Client } from './client.ts';
import { writeInto } from './download.ts';
import { codeOf, holdChild, within } from './held-folder.ts';
import type { CliContext, Leaf, Outcome } from './leaf.ts';

const input = z.object({
  from: z.string().min(1).describe('File or folder here, or ID:PATH in a sandbox'),
  to: z.string().min(1).describe('Where it goes: ID:PATH, or a path here'),
});

interface Remote {
  readonly id: string;
  readonly path: string;
}

interface Entry {
  readonly path: string;
  readonly kind: string;
  readonly size: number;
  readonly mode: number;
}

export const cpLeaf: Leaf = {
  name: 'sandbox.cp',
  words: 'sandbox cp',
  summary: 'Copy files into or out of a sandbox',
  description:
    'A folder goes with everything in it; a file keeps whether it can be run. Links are left out, on both sides. A target that ends with a slash, or is a folder, gets the source in it.',
  examples: ['skillbox sandbox cp ./src ID:src', 'skillbox sandbox cp ID:results ./results'],
  input,
  args: ['from', 'to'],
  remote: true,
  async run({ client, io }: CliContext, given: Record<string, unknown>): Promise<Outcome> {
    const { from, to } = input.parse(given);
    const [source, target] = [remoteOf(from), remoteOf(to)];
    if ((source === undefined) === (target === undefined)) {
      throw new BoxError('usage', 'One side must be in a sandbox, the other here.', { hint: 'Write ID:PATH for the side in the sandbox.' });
    }
    const done = { files: 0, bytes: 0 };
    const count = (path: string, size: number): void => {
      done.files += 1;
      done.bytes += size;
      io.progress.show(`${done.files} files, ${formatSize(done.bytes)}: ${path}`);
    };
    const box = await client();
    if (target) await upload(box, from, target, to.endsWith('/'), count);
    if (source) await download(box, source, to, count);
    io.progress.clear();
    return { value: done, text: `Copied ${done.files} file${done.files === 1 ? '' : 's'}, ${formatSize(done.bytes)}.` };
  },
};

function remoteOf(text: string): Remote | undefined {
  const [, id, path] = /^(i[a-z0-9]{19}):(.*)$/s.exec(text) ?? [];
  return id === undefined ? undefined : { id, path: posix.resolve('/home/user', path || '.') };
}

type Count = (path: string, size: number) => void;

async function upload(client: Client, from: string, { id, path }: Remote, intoFolder: boolean, count: Count): Promise<void> {
  const stats = await lstat(resolve(from)).catch(() => undefined);
  if (!stats) throw new BoxError('usage', `There is nothing at ${from}.`);
  const source = resolve(from);
  const target =
    intoFolder || (stats.isFile() && (await kindOf(client, id, path)) === 'directory') ? posix.join(path, basename(source)) : path;
  if (stats.isFile()) return uploadFile(client, id, source, target, count);
  if (!stats.isDirectory()) throw new BoxError('usage', `${from} is neither a file nor a folder.`);
  await makeFolder(client, id, target);
  const folder = await open(source, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  await uploadFolder(client, id, folder, target, count);
}

/** What is no link, and is still none when it is opened; the folder stays the one that was opened, whatever its name is given to meanwhile. */
async function uploadFolder(client: Client, id: string, folder: FileHandle, path: string, count: Count): Promise<void> {
  try {
    for await (const entry of await opendir(within(folder, '.'))) {
      const inside = posix.join(path, entry.name);
      if (entry.isFile()) await uploadFile(client, id, within(folder, entry.name), inside, count);
      if (!entry.isDirectory()) continue;
      const child = await holdChild(folder, entry.name).catch(unlessSwapped);
      if (!child) continue;
      await makeFolder(client, id, inside);
      await uploadFolder(client, id, child, inside, count);
    }
  } finally {
    await folder.close();
  }
}

async function uploadFile(client: Client, id: string, file: string, path: string, count: Count): Promise<void> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(unlessSwapped);
  if (!handle) return;
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) return;
    const body: Readable = handle.createReadStream({ autoClose: false });
    const mode = (stats.mode & 0o777).toString(8).padStart(3, '0');
    await client.call(commandNamed('sandbox.file.write'), { id, path, mode, body }, { silenceMs: 0 });
    count(path, stats.size);
  } finally {
    await handle.close();
  }
}

/** A link by now, gone, or something else: as if it had been left out from the beginning. */
function unlessSwapped(error: unknown): undefined {
  if (!['ELOOP', 'ENOTDIR', 'ENOENT', 'ENXIO'].includes(codeOf(error) ?? '')) throw error;
}

async function makeFolder(client: Client, id: string, path: string): Promise<void> {
  try {
    await client.call(commandNamed('sandbox.file.mkdir'), { id, path });
  } catch (error) {
    if (!(error instanceof BoxError) || error.code !== 'already_exists') throw error;
  }
}

async function kindOf(client: Client, id: string, path: string): Promise<string | undefined> {
  try {
    return ((await client.call(commandNamed('sandbox.file.stat'), { id, path })).body as Entry).kind;
  } catch (error) {
    if (error instanceof BoxError && error.code === 'not_found') return undefined;
    throw error;
  }
}

async function download(client: Client, { id, path }: Remote, to: string, count: Count): Promise<void> {
  const entry = (await client.call(commandNamed('sandbox.file.stat'), { id, path })).body as Entry;
  const local = await lstat(to).catch(() => undefined);
  const read = (file: string): Promise<Readable> => client.open(commandNamed('sandbox.file.read'), { id, path: file }, { silenceMs: 0 });
  if (entry.kind === 'file') {
    const into = to.endsWith('/') || local?.isDirectory();
    const [folder, name] = into ? [to, posix.basename(path)] : [resolve(to, '..'), basename(to)];
    await mkdir(folder, { recursive: true });
    await writeInto(folder, name, entry.mode, () => read(path));
    count(path, entry.size);
    return;
  }
  if (entry.kind !== 'directory') throw new BoxError('usage', `${path} is a ${entry.kind}, neither a file nor a folder.`);
  const list = { id, path, depth: 64, limit: 50_000 };
  const { items } = (await client.call(commandNamed('sandbox.file.list'), list)).body as { items: Entry[] };
  await mkdir(to, { recursive: true });
  for (const item of items) {
    const name = posix.relative(path, item.path);
    if (item.kind === 'directory') await writeInto(to, name, item.mode);
    if (item.kind !== 'file') continue;
    await writeInto(to, name, item.mode, () => read(item.path));
    count(item.path, item.size);
  }
}
