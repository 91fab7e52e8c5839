/** Signed requests to one S3 endpoint, path style, with retries. Streams bodies both ways with their length, which fetch cannot. */

import http from 'node:http';
import https from 'node:https';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { BoxError } from '@skillbox/protocol';
import { AwsV4Signer } from 'aws4fetch';

const attempts = 4;
const firstPauseMs = 100;
const silenceMs = 30_000;
const emptySha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

export interface S3Settings {
  readonly endpoint: string;
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

export interface S3Body {
  readonly size: number;
  readonly sha256: string;
  /** Called for each attempt. */
  open(): Buffer | Readable;
}

export type S3Response = http.IncomingMessage & { readonly statusCode: number };

export interface S3Client {
  /** Resolves for any status below 500 but 429; the caller reads or drains the response. */
  request(method: string, path: string, body?: S3Body): Promise<S3Response>;
}

export function createS3Client({ endpoint, region, accessKey, secretKey }: S3Settings): S3Client {
  const base = endpoint.replace(/\/+$/, '');
  const { request: send, Agent } = base.startsWith('https:') ? https : http;
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });

  async function attempt(method: string, path: string, body: S3Body | undefined): Promise<S3Response> {
    const signer = new AwsV4Signer({
      method,
      url: `${base}${path}`,
      headers: { 'x-amz-content-sha256': body?.sha256 ?? emptySha256 },
      accessKeyId: accessKey,
      secretAccessKey: secretKey,
      service: 's3',
      region,
    });
    // Signed anew for each attempt: a signature is good for minutes only.
    const { url, headers } = await signer.sign();
    return new Promise((resolve, reject) => {
      const outgoing = { ...Object.fromEntries(headers), 'content-length': String(body?.size ?? 0) };
      const request = send(url, { method, headers: outgoing, agent }, (response) => resolve(response as S3Response));
      request.setTimeout(silenceMs, () => request.destroy(new Error(`no byte for ${silenceMs / 1000} seconds`)));
      request.on('error', reject);
      const content = body?.open();
      if (!content || Buffer.isBuffer(content)) return request.end(content);
      content.on('error', (error) => request.destroy(error));
      request.on('close', () => content.destroy());
      content.pipe(request);
    });
  }

  return {
    async request(method, path, body) {
      let last: unknown;
      for (let round = 0; round < attempts; round++) {
        if (round > 0) await delay(firstPauseMs * 2 ** (round - 1) * (0.5 + Math.random()));
        try {
          const response = await attempt(method, path, body);
          if (response.statusCode < 500 && response.statusCode !== 429) return response;
          last = s3Failure(response, await readText(response), `a ${method}`);
        } catch (error) {
          last = error;
        }
      }
      if (last instanceof BoxError) throw last;
      throw new BoxError('unavailable', `S3 cannot be reached: ${(last as Error).message}.`, { cause: last, retryAfter: 1 });
    },
  };
}

export function s3Failure({ statusCode }: S3Response, body: string, what: string): BoxError {
  const code = s3Code(body);
  return new BoxError('unavailable', `S3 answered ${what} with ${statusCode}${code && ` ${code}`}.`, {
    details: { status: statusCode, code },
    retryAfter: 1,
  });
}

export const s3Code = (body: string): string => /<Code>([^<]*)<\/Code>/.exec(body)?.[1] ?? '';

/** To the end: a response that is not read keeps its connection from being used again. */
export async function readText(response: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
