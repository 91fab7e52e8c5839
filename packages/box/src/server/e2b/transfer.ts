/** Whole files in and out of a sandbox over plain HTTP, in pieces of whatever size arrives. */

import type { IncomingMessage } from 'node:http';
import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { BoxError } from '@skillbox/protocol';
import type { FileEntry, SandboxFiles } from '../../sandbox/living.ts';
import { requireKnownUser } from './access.ts';
import { E2bError, json } from './answer.ts';
import { readParts } from './multipart-stream.ts';
import { resolvePath } from './paths.ts';
import type { Use } from './use.ts';

/** Writing one at a time bounds memory, not patience. */
const maxParts = 10_000;

export async function serveFiles(use: Use, method: string, request: IncomingMessage, query: URLSearchParams): Promise<Response> {
  requireKnownUser(request, query);
  const path = query.get('path') ?? '';
  if (method === 'GET') return download(use, path);
  if (method !== 'POST') throw new E2bError(405, `${method} is not a method of this path.`);
  try {
    return json((await upload(use.handle.files, request, path)).map(describe));
  } catch (error) {
    throw translate(error);
  } finally {
    use.done();
  }
}

async function download({ handle, done }: Use, path: string): Promise<Response> {
  const resolved = resolvePath(path);
  const { kind } = await handle.files.stat(resolved);
  if (kind === 'directory') throw new E2bError(400, `${resolved} is a folder.`);
  const { content, entry } = await handle.files.read(resolved);
  content.once('close', done);
  const headers = {
    'Content-Type': 'application/octet-stream',
    'Content-Length': String(entry.size),
    'Content-Disposition': `attachment; filename*=UTF-8''${encodeURIComponent(posix.basename(resolved))}`,
  };
  if (entry.size > 0) return new Response(Readable.toWeb(content) as ReadableStream, { headers });
  content.destroy();
  return new Response('', { headers });
}

async function upload(files: SandboxFiles, request: IncomingMessage, path: string): Promise<FileEntry[]> {
  // Without a place for it, keeping silent would lose it.
  if (Object.keys(request.headers).some((name) => name.startsWith('x-metadata-')))
    throw new E2bError(501, 'This box keeps no metadata of files: leave metadata out.');
  const type = request.headers['content-type'] ?? '';
  const body = decoded(request);
  if (type.startsWith('application/octet-stream')) {
    if (!path) throw new E2bError(400, 'The query needs path.');
    return [await files.write(resolvePath(path), body)];
  }
  if (!type.startsWith('multipart/form-data')) throw new E2bError(415, 'Send multipart/form-data or application/octet-stream.');
  const written: FileEntry[] = [];
  for await (const part of readParts(body, type)) {
    if (part.name !== 'file') throw new E2bError(400, `The form has a part named ${part.name}; parts of files are named file.`);
    const target = path || part.filename;
    if (!target) throw new E2bError(400, 'A part has no file name, and the query no path.');
    if (written.length === maxParts) throw new E2bError(400, `A form can have ${maxParts} files.`);
    written.push(await files.write(resolvePath(target), part.content));
  }
  if (written.length === 0) throw new E2bError(400, 'The form has no part named file.');
  return written;
}

function decoded(request: IncomingMessage): Readable {
  const encoding = request.headers['content-encoding'];
  if (encoding === undefined || encoding === 'identity')
    return Readable.from(request.iterator({ destroyOnReturn: false }), { objectMode: false });
  if (encoding !== 'gzip') throw new E2bError(415, `Content-Encoding ${encoding} is not understood.`);
  const gunzip = createGunzip();
  // It may fail before anybody reads it, and the reader learns of it all the same; without a listener it would end the server.
  gunzip.on('error', () => undefined);
  request.once('error', (error) => gunzip.destroy(error));
  request.once('close', () => {
    if (!request.complete) gunzip.destroy(new BoxError('bad_request', 'The body ended before it was whole.'));
  });
  return request.pipe(gunzip);
}

function translate(error: unknown): unknown {
  if (error instanceof BoxError && error.code === 'quota_exceeded') return new E2bError(507, error.message);
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (code.startsWith('Z_') || code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE')
    return new BoxError('bad_request', 'The body is broken, or ended before it was whole.', { cause: error });
  return error;
}

const describe = ({ path }: FileEntry): unknown => ({ name: posix.basename(path), path, type: 'file' });
