/** A file from the network into a descriptor, hashed on its way: bounded in size, time and redirects. */

import { createHash } from 'node:crypto';
import { write } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { BoxError } from '@skillbox/protocol';
import { inheritedEnv } from '../../config.ts';
import { formatSize } from '../../units.ts';
import { httpGet } from './http-get.ts';
import { proxyFor } from './proxy.ts';

export interface DownloadLimits {
  readonly bytes: number;
  /** For the whole. */
  readonly totalMs: number;
  /** Without a byte. */
  readonly idleMs: number;
}

export const downloadLimits: DownloadLimits = { bytes: 8 * 2 ** 30, totalMs: 30 * 60_000, idleMs: 30_000 };

const writeSome = promisify(write);
const maxRedirects = 5;
const progressMs = 1000;

/** Its SHA-256. */
export async function download(
  url: string,
  fd: number,
  { limits, onProgress, signal }: { limits: DownloadLimits; signal: AbortSignal; onProgress: (text: string) => void },
): Promise<string> {
  const idle = new AbortController();
  const patience = setTimeout(() => idle.abort(new Error(`nothing came for ${limits.idleMs / 1000} s`)), limits.idleMs);
  const all = AbortSignal.any([signal, idle.signal, AbortSignal.timeout(limits.totalMs)]);
  try {
    const response = await request(new URL(url), all);
    const length = Number(response.headers['content-length']) || undefined;
    if (length !== undefined && length > limits.bytes) throw tooLarge(limits);
    const digest = createHash('sha256');
    let bytes = 0;
    let told = performance.now();
    for await (const part of response as AsyncIterable<Buffer>) {
      patience.refresh();
      bytes += part.length;
      if (bytes > limits.bytes) throw tooLarge(limits);
      digest.update(part);
      await writeAll(fd, part);
      if (performance.now() - told < progressMs) continue;
      told = performance.now();
      onProgress(length ? `${Math.floor((bytes / length) * 100)} % of ${formatSize(length)}` : formatSize(bytes));
    }
    return digest.digest('hex');
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof BoxError) throw error;
    const why = reasonOf(all.aborted ? all.reason : error);
    throw new BoxError('sync_failed', `${shown(url)} could not be fetched: ${why}`, { cause: error });
  } finally {
    clearTimeout(patience);
  }
}

async function request(url: URL, signal: AbortSignal, redirects = 0): Promise<IncomingMessage> {
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new BoxError('sync_failed', `${shown(url.href)} is not fetched: only http and https are.`, {
      hint: 'Correct url of the artifact.',
    });
  // As it lies there: what is unpacked on the way has another hash.
  const headers = { 'accept-encoding': 'identity', 'user-agent': 'skillbox' };
  const response = await httpGet(url, { headers, proxy: proxyFor(url, inheritedEnv()), signal });
  const { statusCode: status = 0 } = response;
  const { location } = response.headers;
  if (status >= 300 && status < 400 && location !== undefined) {
    response.destroy();
    if (redirects === maxRedirects) throw new BoxError('sync_failed', `${shown(url.href)} leads on more than ${maxRedirects} times.`);
    const next = new URL(location, url);
    if (url.protocol === 'https:' && next.protocol !== 'https:')
      throw new BoxError('sync_failed', `${shown(url.href)} leads from https to ${shown(next.href)}.`, {
        hint: 'Use an address that stays with https.',
      });
    return request(next, signal, redirects + 1);
  }
  if (status >= 200 && status < 300) return response;
  response.destroy();
  throw new BoxError('sync_failed', `${shown(url.href)} answers ${status}.`, {
    hint: 'Check url of the artifact, and try again.',
  });
}

export async function writeAll(fd: number, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) done += (await writeSome(fd, bytes, done, bytes.length - done)).bytesWritten;
}

/** Without a password or a token in it. */
function shown(text: string): string {
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  return `${url.protocol}//${url.host}${url.pathname}`;
}

const reasonOf = (error: unknown): string => {
  const { cause, message, name } = error as Error & { cause?: { message?: string } };
  if (name === 'TimeoutError') return 'it took too long';
  return cause?.message ? `${message}: ${cause.message}` : message;
};

const tooLarge = ({ bytes }: DownloadLimits): BoxError =>
  new BoxError('sync_failed', `It has more than ${formatSize(bytes)}, which is the most that is fetched.`);
