/** The port for bytes: content-addressed, so the same content is kept once and a blob never changes. */

import type { Readable } from 'node:stream';
import { BoxError } from '@skillbox/protocol';

export interface Blobs {
  /** A put of what exists already renews its modifiedAt, which protects it from a clean-up that goes by age. */
  put(source: Buffer | Readable, options?: PutOptions): Promise<BlobInfo>;
  get(digest: string): Promise<Readable>;
  read(digest: string): Promise<Buffer>;
  has(digest: string): Promise<boolean>;
  size(digest: string): Promise<number>;
  /** Deleting what is not there is fine. */
  delete(digest: string): Promise<void>;
  list(): AsyncIterable<ListedBlob>;
  ping(): Promise<void>;
}

export interface PutOptions {
  /** More than this is refused with `too_large`, and nothing is kept. */
  readonly maxBytes?: number;
  /** Survives a power cut from the moment put returns. Costs milliseconds on a disk, so not for what runs produce. */
  readonly durable?: boolean;
}

export interface BlobInfo {
  /** SHA-256 in lower-case hex. */
  readonly digest: string;
  readonly size: number;
}

export interface ListedBlob extends BlobInfo {
  readonly modifiedAt: Date;
}

export const digestPattern = /^[0-9a-f]{64}$/;

/** Digests become paths and URLs; nothing else may. */
export function checkDigest(digest: string): void {
  if (digestPattern.test(digest)) return;
  throw new BoxError('bad_request', 'A digest is 64 lower-case hex digits.');
}

export function checkSize(size: number, maxBytes = Number.POSITIVE_INFINITY): void {
  if (size <= maxBytes) return;
  throw new BoxError('too_large', `More than ${maxBytes} bytes were sent.`, { details: { max_bytes: maxBytes } });
}

export function missingBlob(digest: string, cause?: unknown): BoxError {
  return new BoxError('not_found', `There is no blob ${digest}.`, { cause });
}
