/** Files in living sandboxes. All of it is the guest's work: the host follows no path that the inside controls. */

import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { BoxError, fileEntry, page, sandboxId } from '@skillbox/protocol';
import { z } from 'zod';
import type { FileEntry, WatchEvent } from '../sandbox/living.ts';
import { homeFolder } from '../sandbox/programs.ts';
import { command, Reply, type StreamEvent } from './command.ts';
import { queryFlag } from './query-flag.ts';
import { rawBody, sandboxPath, withSandbox } from './sandbox-use.ts';

const one = z.object({ id: sandboxId, path: sandboxPath });
const count = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

const watchEvent = z
  .object({ path: z.string().describe('Relative to the watched folder') })
  .describe('event: create, write, remove, rename or attributes')
  .meta({ id: 'WatchEvent' });

export const sandboxFileCommands = [
  command({
    name: 'sandbox.file.read',
    summary: 'Read a file of a sandbox',
    scope: 'sandboxes:read',
    effect: 'read',
    input: one.extend({
      offset: count.default(0).describe('Byte to start at'),
      limit: count.optional().describe('Most bytes'),
    }),
    output: { kind: 'bytes', contentType: 'application/octet-stream' },
    http: { method: 'GET', path: '/v1/sandboxes/:id/files' },
    cli: {
      words: 'sandbox cat',
      args: ['id', 'path'],
      polished: true,
      examples: ['skillbox sandbox cat ID notes.txt', 'skillbox sandbox cat ID /etc/passwd'],
    },
    async run({ box, caller }, { id, path, offset, limit }) {
      const { handle, done } = await box.sandboxes.use(caller.tenant, id);
      try {
        const { entry, content } = await handle.files.read(path, { offset, ...(limit !== undefined && { limit }) });
        const length = Math.min(Math.max(0, entry.size - offset), limit ?? Number.MAX_SAFE_INTEGER);
        const name = posix.basename(path).replace(/[^\w.-]/g, '_');
        const headers: Record<string, string> = { 'Content-Disposition': `attachment; filename="${name}"`, 'X-File-Mode': modeText(entry) };
        // What /proc shows says that it has no bytes, and has some.
        if (entry.size > 0) headers['Content-Length'] = String(length);
        const bytes = Readable.from(entry.size > 0 ? exactly(content, length) : content, { objectMode: false });
        bytes.once('close', () => {
          content.destroy();
          done();
        });
        return new Reply(bytes, { headers });
      } catch (error) {
        done();
        throw error;
      }
    },
  }),

  command({
    name: 'sandbox.file.write',
    summary: 'Write a file of a sandbox',
    description: 'The body is the content, of any size. The file appears whole or not at all; folders on the way are made.',
    scope: 'sandboxes:use',
    effect: 'change',
    input: one.extend({
      mode: z
        .string()
        .regex(/^[0-7]{3,4}$/, 'octal digits such as 644')
        .optional()
        .describe('Permissions, such as 755'),
      append: queryFlag(false).describe('Add to what is there'),
      new: queryFlag(false).describe('Fail when there is something already'),
      body: rawBody,
    }),
    output: { kind: 'json', schema: fileEntry },
    http: { method: 'PUT', path: '/v1/sandboxes/:id/files', raw: 'always' },
    run: (context, { id, path, mode, append, new: mustBeNew, body }) =>
      withSandbox(context, id, async (handle) => {
        const options = { append, mustBeNew, ...(mode !== undefined && { mode: Number.parseInt(mode, 8) & 0o777 }) };
        return entryBody(await writeWhole(body, (content) => handle.files.write(path, content, options)));
      }),
  }),

  command({
    name: 'sandbox.file.stat',
    summary: 'Show what a path of a sandbox is',
    scope: 'sandboxes:read',
    effect: 'read',
    input: one,
    output: { kind: 'json', schema: fileEntry },
    http: { method: 'GET', path: '/v1/sandboxes/:id/files/stat' },
    cli: { words: 'sandbox stat', args: ['id', 'path'], examples: ['skillbox sandbox stat ID notes.txt'] },
    run: (context, { id, path }) => withSandbox(context, id, async (handle) => entryBody(await handle.files.stat(path))),
  }),

  command({
    name: 'sandbox.file.list',
    summary: 'List a folder of a sandbox',
    scope: 'sandboxes:read',
    effect: 'read',
    input: z.object({
      id: sandboxId,
      path: sandboxPath.default(homeFolder),
      depth: z.coerce.number().int().min(1).max(64).default(1).describe('Folders in folders, this deep'),
      limit: z.coerce.number().int().min(1).max(50_000).default(10_000).describe('Most entries; more is an error'),
    }),
    output: { kind: 'json', schema: page(fileEntry) },
    http: { method: 'GET', path: '/v1/sandboxes/:id/files/list' },
    cli: { words: 'sandbox ls', args: ['id', 'path?'], examples: ['skillbox sandbox ls ID', 'skillbox sandbox ls ID src --depth 3'] },
    run: (context, { id, path, depth, limit }) =>
      withSandbox(context, id, async (handle) => {
        const entries = await handle.files.list(path, { depth, limit: limit + 1 });
        if (entries.length > limit) throw new BoxError('too_large', `${path} has more than ${limit} entries.`);
        return { items: entries.map(entryBody), next_cursor: null };
      }),
  }),

  command({
    name: 'sandbox.file.mkdir',
    summary: 'Make a folder in a sandbox',
    scope: 'sandboxes:use',
    effect: 'change',
    input: one,
    output: { kind: 'json', schema: fileEntry, status: 201 },
    http: { method: 'POST', path: '/v1/sandboxes/:id/files/mkdir' },
    cli: { words: 'sandbox mkdir', args: ['id', 'path'], examples: ['skillbox sandbox mkdir ID data/raw'] },
    run: (context, { id, path }) => withSandbox(context, id, async (handle) => entryBody(await handle.files.makeDir(path))),
  }),

  command({
    name: 'sandbox.file.move',
    summary: 'Move or rename a file or folder of a sandbox',
    scope: 'sandboxes:use',
    effect: 'change',
    input: z.object({ id: sandboxId, from: sandboxPath, to: sandboxPath }),
    output: { kind: 'json', schema: fileEntry },
    http: { method: 'POST', path: '/v1/sandboxes/:id/files/move' },
    cli: { words: 'sandbox mv', args: ['id', 'from', 'to'], examples: ['skillbox sandbox mv ID draft.txt final.txt'] },
    run: (context, { id, from, to }) => withSandbox(context, id, async (handle) => entryBody(await handle.files.move(from, to))),
  }),

  command({
    name: 'sandbox.file.remove',
    summary: 'Remove a file or folder of a sandbox',
    description: 'A folder goes with everything in it.',
    scope: 'sandboxes:use',
    effect: 'change',
    input: one,
    output: { kind: 'empty' },
    http: { method: 'DELETE', path: '/v1/sandboxes/:id/files' },
    cli: { words: 'sandbox rm', args: ['id', 'path'], examples: ['skillbox sandbox rm ID data/raw'] },
    run: (context, { id, path }) => withSandbox(context, id, (handle) => handle.files.remove(path)),
  }),

  command({
    name: 'sandbox.file.watch',
    summary: 'Watch a folder of a sandbox',
    description: 'Server-sent events from now on, until the reader leaves.',
    scope: 'sandboxes:read',
    effect: 'read',
    input: z.object({
      id: sandboxId,
      path: sandboxPath.default(homeFolder),
      recursive: queryFlag(false).describe('Folders in it too'),
    }),
    output: { kind: 'events', schema: watchEvent },
    http: { method: 'GET', path: '/v1/sandboxes/:id/files/watch' },
    cli: {
      words: 'sandbox watch',
      args: ['id', 'path?'],
      polished: true,
      examples: ['skillbox sandbox watch ID src --recursive'],
    },
    async run({ box, caller, signal }, { id, path, recursive }) {
      const { handle, done } = await box.sandboxes.use(caller.tenant, id);
      const stop = new AbortController();
      try {
        const events = await handle.files.watch(path, { recursive, signal: AbortSignal.any([signal, stop.signal]) });
        const release = (): void => {
          stop.abort();
          done();
        };
        signal.addEventListener('abort', release, { once: true });
        return watched(events, release);
      } catch (error) {
        done();
        throw error;
      }
    },
  }),
];

function entryBody({ path, kind, size, mode, modifiedAt, target }: FileEntry): z.input<typeof fileEntry> {
  return { path, kind, size, mode, modified_at: new Date(modifiedAt).toISOString(), ...(target !== undefined && { target }) };
}

const modeText = ({ mode }: FileEntry): string => (mode & 0o777).toString(8).padStart(3, '0');

/** The length is promised in the header: a file that grows meanwhile ends there, one that shrinks breaks the answer off. */
async function* exactly(content: Readable, length: number): AsyncGenerator<Buffer> {
  let left = length;
  if (left === 0) return;
  for await (const chunk of content as AsyncIterable<Buffer>) {
    yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) return;
  }
  throw new BoxError('sandbox_failed', 'The file became shorter while it was read.');
}

/** An upload that breaks off must not become a file; one that the sandbox refuses leaves its connection to carry the answer. */
async function writeWhole(body: Readable, write: (content: Readable) => Promise<FileEntry>): Promise<FileEntry> {
  try {
    return await write(Readable.from(chunksOf(body), { objectMode: false }));
  } catch (cause) {
    throw body.errored ? new BoxError('bad_request', 'The body ended before it was whole.', { cause }) : cause;
  }
}

/** A stream over an iterator throws into it when it is left early, which would end the body; a loop in between only stops. */
async function* chunksOf(body: Readable): AsyncGenerator<Buffer> {
  for await (const chunk of body.iterator({ destroyOnReturn: false })) yield chunk as Buffer;
}

async function* watched(events: AsyncIterable<WatchEvent>, over: () => void): AsyncGenerator<StreamEvent> {
  let number = 0;
  try {
    for await (const { type, path } of events) {
      number += 1;
      yield { id: String(number), event: type, data: { path } };
    }
  } finally {
    over();
  }
}
