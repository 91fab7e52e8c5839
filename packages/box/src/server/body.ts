/** Request bodies: read with a limit that holds whatever the headers say. */

import type { IncomingMessage } from 'node:http';
import { BoxError } from '@skillbox/protocol';
import { parseJson } from '../json.ts';
import { makeLast } from '../last-answer.ts';
import { formatSize } from '../units.ts';
import { filePart } from './multipart.ts';

export async function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  const tooLarge = (): BoxError =>
    new BoxError('too_large', `The body is larger than ${formatSize(limit)}.`, { details: { max_bytes: limit } });
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  const broken = (cause?: unknown): BoxError => new BoxError('bad_request', 'The body ended before it was whole.', { cause });
  if (request.destroyed && !request.complete) throw broken();
  const room = takeRoom();
  await new Promise<void>((resolve, reject) => {
    const finish = (error?: BoxError): void => {
      request.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose);
      room.leave();
      if (!error) resolve();
      else {
        // The request outlives a body that is given up: its connection still carries the answer.
        request.pause();
        reject(error);
      }
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > limit) finish(tooLarge());
      else if (!room.grow(chunk.length)) finish(noRoom());
      else chunks.push(chunk);
    };
    const onEnd = (): void => finish();
    const onError = (cause: Error): void => finish(broken(cause));
    const onClose = (): void => finish(request.readableEnded ? undefined : broken());
    if (request.readableEnded) resolve();
    else request.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose);
  });
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
}

/** What all bodies that are being read may hold together: many callers with large ones must not take all memory there is. */
const mostAtOnce = 128 * 2 ** 20;
let heldBytes = 0;

const noRoom = (): BoxError => new BoxError('overloaded', `Bodies of ${formatSize(heldBytes)} are being read already.`, { retryAfter: 1 });

/** grow: false when there is no room for so much more. */
function takeRoom(): { grow(bytes: number): boolean; leave(): void } {
  let own = 0;
  return {
    grow(bytes) {
      if (heldBytes + bytes > mostAtOnce) return false;
      own += bytes;
      heldBytes += bytes;
      return true;
    },
    leave() {
      heldBytes -= own;
    },
  };
}

const bodies = new WeakMap<IncomingMessage, Buffer>();

/** What was read of a request as JSON, for whoever has to send it on. */
export const bodyOf = (request: IncomingMessage): Buffer | undefined => bodies.get(request);

/** How much of a refused body is read after all, and for how long. */
const restBytes = 2 ** 20;
const restMs = 1000;

/** Whether the connection can carry another request: the rest of a small body that was refused is read and dropped. If not, the answer must end it. */
export async function dropRest(request: IncomingMessage): Promise<boolean> {
  const whole = await readRest(request);
  if (!whole) makeLast(request);
  return whole;
}

function readRest(request: IncomingMessage): Promise<boolean> {
  if (request.complete || request.destroyed) return Promise.resolve(request.complete);
  return new Promise((resolve) => {
    let left = restBytes;
    const done = (): void => {
      clearTimeout(timer);
      request.off('data', take).off('end', done).off('close', done);
      resolve(request.complete);
    };
    const take = (chunk: Buffer): void => {
      left -= chunk.length;
      if (left < 0) done();
    };
    const timer = setTimeout(done, restMs);
    request.on('data', take).on('end', done).on('close', done).resume();
  });
}

/** An absent body is an empty object. */
export async function readJsonBody(request: IncomingMessage, limit: number): Promise<Record<string, unknown>> {
  const bytes = await readBytes(request, limit);
  bodies.set(request, bytes);
  if (bytes.length === 0) return {};
  let value: unknown;
  try {
    value = parseJson(bytes.toString('utf8'));
  } catch (error) {
    throw new BoxError('invalid_json', `The body is not JSON: ${withoutExcerpt((error as Error).message)}`);
  }
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new BoxError('bad_request', 'The body must be a JSON object.');
}

/** V8 quotes what it could not read, and that may be a secret. */
const withoutExcerpt = (message: string): string =>
  message.replace(/(, )?(\.{3})?".*"(\.{3})? is not valid JSON$/s, '') || 'unexpected text';

const zipTypes = ['application/zip', 'application/octet-stream', 'application/x-zip-compressed'];

/** A zip as the body itself, or as the part `file` of a form. */
export async function readUpload(request: IncomingMessage, limit: number): Promise<Buffer> {
  const type = (request.headers['content-type'] ?? '').toLowerCase();
  const media = type.split(';')[0]?.trim() ?? '';
  if (zipTypes.includes(media)) return readBytes(request, limit);
  // A form adds a little around the file.
  if (media === 'multipart/form-data')
    return filePart(await readBytes(request, limit + 64 * 1024), request.headers['content-type'] ?? '', limit);
  throw new BoxError('unsupported_media_type', `Content-Type ${media || '(none)'} cannot be a skill.`);
}
