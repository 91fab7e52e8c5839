/** The service `filesystem.Filesystem`. */

import { posix } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import { z } from 'zod';
import type { SandboxFiles, WatchEvent } from '../../sandbox/living.ts';
import { toEntry } from './entries.ts';
import { type Method, stream, unary } from './method.ts';
import { resolvePath } from './paths.ts';
import { RpcError } from './rpc-error.ts';
import type { Use } from './use.ts';

const path = z.string().default('').transform(resolvePath);
const onePath = z.object({ path });
const watchRequest = z.object({ path, recursive: z.boolean().default(false), includeEntry: z.boolean().default(false) });

export const filesystemMethods: Record<string, Method> = {
  Stat: unary(onePath, async ({ handle: { files } }, message) => ({ entry: toEntry(await files.stat(message.path)) })),
  ListDir: unary(onePath.extend({ depth: z.number().int().min(0).max(1000).default(1) }), async ({ handle: { files } }, message) => {
    await requireFolder(files, message.path);
    return { entries: (await files.list(message.path, { depth: Math.max(1, message.depth) })).map(toEntry) };
  }),
  MakeDir: unary(onePath, async ({ handle: { files } }, message) => ({ entry: toEntry(await files.makeDir(message.path)) })),
  Move: unary(z.object({ source: path, destination: path }), async ({ handle: { files } }, { source, destination }) => {
    await files.stat(source);
    await files.makeDir(posix.dirname(destination)).catch(unless('already_exists'));
    return { entry: toEntry(await files.move(source, destination)) };
  }),
  Remove: unary(onePath, async ({ handle: { files } }, message) => {
    await files.remove(message.path).catch(unless('not_found'));
    return {};
  }),
  WatchDir: stream(watchRequest, { keepalive: {} }, watchDir),
};

const eventTypes: Record<WatchEvent['type'], string> = {
  create: 'EVENT_TYPE_CREATE',
  write: 'EVENT_TYPE_WRITE',
  remove: 'EVENT_TYPE_REMOVE',
  rename: 'EVENT_TYPE_RENAME',
  attributes: 'EVENT_TYPE_CHMOD',
};

async function* watchDir(
  { handle: { files }, signal }: Use,
  message: z.output<typeof watchRequest>,
  timeoutMs: number | undefined,
): AsyncGenerator<unknown> {
  await requireFolder(files, message.path);
  const over = AbortSignal.any([signal, ...(timeoutMs ? [AbortSignal.timeout(timeoutMs)] : [])]);
  const events = await files.watch(message.path, { recursive: message.recursive, signal: over });
  yield { start: {} };
  for await (const { type, path: name } of events) {
    const entry = message.includeEntry ? await files.stat(posix.join(message.path, name)).catch(() => undefined) : undefined;
    yield { filesystem: { name, type: eventTypes[type], ...(entry && { entry: toEntry(entry) }) } };
  }
  if (over.aborted && !signal.aborted) throw new RpcError('deadline_exceeded', `The watch was to last ${timeoutMs} ms.`);
}

async function requireFolder(files: SandboxFiles, folder: string): Promise<void> {
  const { kind } = await files.stat(folder);
  // What a link leads to shows when it is opened.
  if (kind !== 'directory' && kind !== 'symlink') throw new RpcError('invalid_argument', `${folder} is not a folder.`);
}

const unless =
  (code: BoxError['code']) =>
  (error: unknown): void => {
    if (!(error instanceof BoxError) || error.code !== code) throw error;
  };
