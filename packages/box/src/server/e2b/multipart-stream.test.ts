import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readParts } from './multipart-stream.ts';

const type = 'multipart/form-data; boundary=XX';
const form = (...parts: string[]): Buffer => Buffer.from(`${parts.map((part) => `--XX\r\n${part}\r\n`).join('')}--XX--\r\n`);
const file = (name: string, content: string): string =>
  `Content-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: application/octet-stream\r\n\r\n${content}`;

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(bytes: Buffer, size = bytes.length, contentType = type): Promise<[string | undefined, string][]> {
  const found: [string | undefined, string][] = [];
  for await (const { content, filename } of readParts(inPieces(bytes, size), contentType)) found.push([filename, await text(content)]);
  return found;
}

describe('parts of a form', () => {
  it('keep folders and odd characters in their names', async () => {
    expect(await read(form(file('/home/user/a b.txt', 'one'), file('q%22.txt', ''), file('ü/50%.txt', '\r\n--X\r\n')))).toEqual([
      ['/home/user/a b.txt', 'one'],
      ['q".txt', ''],
      ['ü/50%.txt', '\r\n--X\r\n'],
    ]);
  });

  it('are the same wherever the pieces end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.stringMatching(/^[\r\n\-Xa]{0,40}$/), { maxLength: 4 }),
        fc.integer({ min: 1, max: 60 }),
        async (contents, size) => {
          const whole = contents.filter((content) => !`\r\n${content}`.includes('\r\n--XX'));
          const bytes = form(...whole.map((content, index) => file(`${index}`, content)));
          expect(await read(bytes, size)).toEqual(whole.map((content, index) => [`${index}`, content]));
        },
      ),
    );
  });

  it.each([
    ['a form that ends early', form(file('a', 'b')).subarray(0, -8), type],
    ['a part without a name', form('Content-Type: text/plain\r\n\r\nx'), type],
    ['no boundary', form(), 'multipart/form-data'],
    ['a head without end', Buffer.from(`--XX\r\n${'x'.repeat(20_000)}`), type],
  ])('%s is refused', async (_name, bytes, contentType) => {
    await expect(read(bytes, 1000, contentType)).rejects.toMatchObject({ code: 'bad_request' });
  });
});
