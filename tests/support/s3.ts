/** An S3 server in this process, on a loopback port, with its data in a temporary folder. */

import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const accessKey = 'S3RVER';
const secretKey = 'S3RVER';

export interface TestS3 {
  readonly endpoint: string;
  readonly accessKey: string;
  readonly secretKey: string;
  /** Requests that arrived, such as `PUT /bucket/key`. */
  readonly requests: string[];
  /** Answers the next requests with 503, or drops their connection. */
  fail(times: number, how?: 'status' | 'connection'): void;
  /** Answers that much later, until told otherwise. */
  slow(ms: number): void;
  deleteBucket(name: string): Promise<void>;
  stop(): Promise<void>;
}

/** s3rver brings no types; this is the part in use. */
interface S3rver {
  callback(): RequestListener;
  readonly store: { deleteBucket(name: string): Promise<void> };
  readonly logger: { readonly exceptions: { unhandle(): void }; close(): void };
}
type S3rverConstructor = new (options: { directory: string; silent: boolean; vhostBuckets: boolean }) => S3rver;

export async function startS3(): Promise<TestS3> {
  const directory = mkdtempSync(join(tmpdir(), 'skillbox-s3-'));
  const S3rver = createRequire(import.meta.url)('s3rver') as S3rverConstructor;
  const s3 = new S3rver({ directory, silent: true, vhostBuckets: false });
  const answer = s3.callback();
  const requests: string[] = [];
  let failures = 0;
  let failureKind: 'status' | 'connection' = 'status';
  let delayMs = 0;

  const server = createServer((request: IncomingMessage, response) => {
    requests.push(`${request.method} ${request.url}`);
    if (failures === 0) {
      if (isSigned(request)) return delayMs > 0 ? setTimeout(() => answer(request, response), delayMs) : answer(request, response);
      request.resume();
      return response.writeHead(403).end('<Error><Code>SignatureDoesNotMatch</Code></Error>');
    }
    failures -= 1;
    if (failureKind === 'connection') return request.socket.destroy();
    request.resume();
    response.writeHead(503).end('<Error><Code>SlowDown</Code></Error>');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');

  return {
    endpoint: `http://127.0.0.1:${address.port}`,
    accessKey,
    secretKey,
    requests,
    fail(times, how = 'status') {
      failures = times;
      failureKind = how;
    },
    slow(ms) {
      delayMs = ms;
    },
    deleteBucket: (name) => s3.store.deleteBucket(name),
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      s3.logger.exceptions.unhandle();
      s3.logger.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** s3rver does not check version 4 signatures, so this does, by the book. */
function isSigned({ method, url = '', headers }: IncomingMessage): boolean {
  const parts = /Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})/.exec(headers.authorization ?? '');
  const [, credential = '', signedHeaders = '', signature] = parts ?? [];
  const [key, ...scope] = credential.split('/');
  const { pathname, searchParams } = new URL(url, 'http://host');
  const query = [...searchParams].map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).sort();
  const canonical = [
    method,
    pathname,
    query.join('&'),
    ...signedHeaders.split(';').map((name) => `${name}:${headers[name]}`),
    '',
    signedHeaders,
    headers['x-amz-content-sha256'],
  ].join('\n');
  const digest = createHash('sha256').update(canonical).digest('hex');
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope.join('/'), digest].join('\n');
  const signingKey = scope.reduce<string | Buffer>(
    (secret, part) => createHmac('sha256', secret).update(part).digest(),
    `AWS4${secretKey}`,
  );
  return key === accessKey && createHmac('sha256', signingKey).update(text).digest('hex') === signature;
}
