/** What a queued execution needs to be started by a later process: kept with its row, env encrypted, files as blobs. */

import type { ExecutionRequest } from '@skillbox/protocol';
import type { Secrets } from '../secrets.ts';
import type { Blobs } from '../store/blobs.ts';

interface Stored {
  readonly env: string;
  readonly files: Record<string, string>;
  readonly timeout: ExecutionRequest['timeout'];
}

export async function sealRequest(request: ExecutionRequest, blobs: Blobs, secrets: Secrets): Promise<string> {
  const files: Record<string, string> = {};
  for (const [path, text] of Object.entries(request.files)) files[path] = (await blobs.put(Buffer.from(text, 'base64'))).digest;
  const stored: Stored = { env: secrets.encrypt(JSON.stringify(request.env)), files, timeout: request.timeout };
  return JSON.stringify(stored);
}

export async function openRequest(
  sealed: string,
  blobs: Blobs,
  secrets: Secrets,
): Promise<Pick<ExecutionRequest, 'env' | 'files' | 'timeout'>> {
  const { env, files, timeout } = JSON.parse(sealed) as Stored;
  const contents: Record<string, string> = {};
  for (const [path, digest] of Object.entries(files)) contents[path] = (await blobs.read(digest)).toString('base64');
  return { env: JSON.parse(secrets.decrypt(env)) as Record<string, string>, files: contents, timeout };
}
