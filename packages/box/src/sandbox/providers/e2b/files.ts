/** Files over the E2B protocol. */

import { randomBytes } from 'node:crypto';
import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { BoxError } from '@skillbox/protocol';
import type { EntryKind, FileEntry, SandboxFiles, WatchEvent } from '../../living.ts';
import { type Json, refusal, type Session, send, stream, unary } from './client.ts';

const service = 'filesystem.Filesystem';

/** `shell` runs a script with arguments inside and gives its exit code. */
export function createFiles(
  session: () => Promise<Session>,
  shell: (script: string, args: readonly string[]) => Promise<number>,
): SandboxFiles {
  const call = async (method: string, message: Json): Promise<Json> => unary(await session(), `${service}/${method}`, message);
  const one = async (method: string, message: Json): Promise<FileEntry> => toEntry((await call(method, message)).entry as Json);

  const upload = async (path: string, content: Buffer | Readable): Promise<void> => {
    const { base, headers } = await session();
    const response = await send(`${base}/files?path=${encodeURIComponent(path)}`, {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/octet-stream' },
      body: Buffer.isBuffer(content) ? new Uint8Array(content) : (Readable.toWeb(content) as BodyInit),
      duplex: 'half',
    } as RequestInit);
    const text = await response.text();
    if (!response.ok) throw refusal(response.status, text);
  };

  const files: SandboxFiles = {
    stat: (path) => one('Stat', { path }),
    async list(path, { depth = 1, limit = 10_000 } = {}) {
      const { entries } = (await call('ListDir', { path, depth })) as { entries?: Json[] };
      return (entries ?? []).slice(0, limit).map(toEntry);
    },
    async read(path, { offset = 0, limit = Number.MAX_SAFE_INTEGER } = {}) {
      const entry = await files.stat(path);
      const { base, headers } = await session();
      const response = await send(`${base}/files?path=${encodeURIComponent(path)}`, { headers });
      if (!response.ok || !response.body) throw refusal(response.status, await response.text());
      const chunks = part(response.body as unknown as AsyncIterable<Uint8Array>, offset, limit);
      return { entry, content: Readable.from(chunks, { objectMode: false }) };
    },
    /** The protocol only replaces whole files; the rest is done inside, from a file beside the target. */
    async write(path, content, { mode = 0o644, append = false, mustBeNew = false } = {}) {
      if (mode === 0o644 && !append && !mustBeNew) {
        await upload(path, content);
        return files.stat(path);
      }
      const beside = posix.join(posix.dirname(path), `.skillbox-${randomBytes(8).toString('hex')}`);
      await upload(beside, content);
      const code = await shell(finish[append ? 'append' : mustBeNew ? 'link' : 'move'], [beside, path, mode.toString(8)]);
      if (code === existsCode) throw new BoxError('already_exists', `${path} exists already.`);
      if (code !== 0) throw new BoxError('bad_request', `${path} could not be written.`);
      return files.stat(path);
    },
    makeDir: (path) => one('MakeDir', { path }),
    move: (source, destination) => one('Move', { source, destination }),
    async remove(path) {
      await call('Remove', { path });
    },
    async watch(path, { recursive, signal }) {
      const messages = stream(await session(), `${service}/WatchDir`, { path, recursive }, signal);
      // The first message says that it watches.
      await messages.next();
      return changes(messages, signal);
    },
  };
  return files;
}

const existsCode = 17;
const finish = {
  append: 'cat -- "$1" >> "$2"; code=$?; rm -f -- "$1"; exit $code',
  link: `[ ! -e "$2" ] || { rm -f -- "$1"; exit ${existsCode}; }
chmod "$3" -- "$1" && ln -T -- "$1" "$2"; code=$?; rm -f -- "$1"; exit $code`,
  move: 'chmod "$3" -- "$1" && mv -fT -- "$1" "$2"',
};

async function* part(chunks: AsyncIterable<Uint8Array>, offset: number, limit: number): AsyncGenerator<Buffer> {
  let at = 0;
  for await (const chunk of chunks) {
    const from = Math.max(0, offset - at);
    const to = Math.min(chunk.length, offset + limit - at);
    if (to > from) yield Buffer.from(chunk.subarray(from, to));
    at += chunk.length;
    if (at >= offset + limit) return;
  }
}

async function* changes(messages: AsyncGenerator<Json>, signal: AbortSignal): AsyncGenerator<WatchEvent> {
  try {
    for await (const { filesystem } of messages) {
      const { name, type } = (filesystem ?? {}) as { name?: string; type?: string };
      const what = eventTypes[type ?? ''];
      if (what && name !== undefined) yield { type: what, path: name };
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

const eventTypes: Record<string, WatchEvent['type']> = {
  EVENT_TYPE_CREATE: 'create',
  EVENT_TYPE_WRITE: 'write',
  EVENT_TYPE_REMOVE: 'remove',
  EVENT_TYPE_RENAME: 'rename',
  EVENT_TYPE_CHMOD: 'attributes',
};

const kinds: Record<string, EntryKind> = { FILE_TYPE_FILE: 'file', FILE_TYPE_DIRECTORY: 'directory', FILE_TYPE_SYMLINK: 'symlink' };
/** The protocol names owners; these two there are everywhere. */
const ids: Record<string, number> = { root: 0, user: 1000 };

function toEntry({ group, mode, modifiedTime, owner, path, size, symlinkTarget, type }: Json): FileEntry {
  return {
    path: String(path),
    kind: kinds[String(type)] ?? 'other',
    size: Number(size ?? 0),
    mode: Number(mode ?? 0),
    uid: ids[String(owner)] ?? 1000,
    gid: ids[String(group)] ?? 1000,
    modifiedAt: Date.parse(String(modifiedTime)) || 0,
    ...(typeof symlinkTarget === 'string' && symlinkTarget && { target: symlinkTarget }),
  };
}
