import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { readBytes, readJsonBody, readUpload } from './body.ts';

const request = (chunks: (string | Buffer)[], headers: Record<string, string> = {}): IncomingMessage =>
  Object.assign(Readable.from(chunks.map((chunk) => Buffer.from(chunk))), { headers }) as unknown as IncomingMessage;

it('reads up to the limit, and not a byte more', async () => {
  expect((await readBytes(request(['abc', 'de']), 5)).toString()).toBe('abcde');
  await expect(readBytes(request(['abc', 'def']), 5)).rejects.toMatchObject({ code: 'too_large', details: { max_bytes: 5 } });
  await expect(readBytes(request([], { 'content-length': '6' }), 5)).rejects.toMatchObject({ code: 'too_large' });
});

it('leaves the request alive when it refuses it: the answer still has to go out', async () => {
  const large = request(['abc', 'def', 'ghi']);
  await expect(readBytes(large, 5)).rejects.toMatchObject({ code: 'too_large' });
  expect(large.destroyed).toBe(false);
});

it('takes a body that breaks off for the caller’s fault', async () => {
  async function* broken(): AsyncGenerator<Buffer> {
    yield Buffer.from('{');
    throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
  }
  const stream = Object.assign(Readable.from(broken()), { headers: {} }) as unknown as IncomingMessage;
  await expect(readBytes(stream, 100)).rejects.toMatchObject({ code: 'bad_request' });
});

it('reads objects, and an absent body as an empty one', async () => {
  expect(await readJsonBody(request([]), 100)).toEqual({});
  expect(await readJsonBody(request(['{"a":', '1}']), 100)).toEqual({ a: 1 });
  for (const other of ['[]', '1', 'null', '"x"'])
    await expect(readJsonBody(request([other]), 100)).rejects.toMatchObject({ code: 'bad_request' });
  await expect(readJsonBody(request(['{']), 100)).rejects.toMatchObject({ code: 'invalid_json' });
});

it('takes zips by any of their types, and the file of a form', async () => {
  for (const type of ['application/zip', 'application/octet-stream', 'Application/X-Zip-Compressed; a=b'])
    expect((await readUpload(request(['PK'], { 'content-type': type }), 10)).toString()).toBe('PK');
  const form = ['--b', 'Content-Disposition: form-data; name="file"; filename="x.zip"', '', 'PK\0\r\n--b--', ''].join('\r\n');
  expect((await readUpload(request([form], { 'content-type': 'multipart/form-data; boundary=b' }), 10)).toString()).toBe('PK\0');
  await expect(readUpload(request([form], { 'content-type': 'multipart/form-data; boundary=b' }), 2)).rejects.toMatchObject({
    code: 'too_large',
  });
  await expect(readUpload(request(['PK'], {}), 10)).rejects.toMatchObject({ code: 'unsupported_media_type' });
});
