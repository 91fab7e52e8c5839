import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { extract } from 'tar-stream';
import { expect, it } from 'vitest';
import { packArtifacts } from './tarball.ts';

const artifact = (path: string, data: Buffer) => ({
  path,
  size: data.length,
  sha256: createHash('sha256').update(data).digest('hex'),
  data,
});

async function unpack(packed: Readable): Promise<Record<string, Buffer>> {
  const chunks: Buffer[] = [];
  for await (const chunk of packed) chunks.push(chunk as Buffer);
  const files: Record<string, Buffer> = {};
  const reader = extract();
  reader.end(gunzipSync(Buffer.concat(chunks)));
  for await (const entry of reader) {
    const parts: Buffer[] = [];
    for await (const part of entry) parts.push(part as Buffer);
    files[entry.header.name] = Buffer.concat(parts);
  }
  return files;
}

it('holds each file under its name, long and foreign ones too', async () => {
  const files = [
    artifact('a.txt', Buffer.from('a')),
    artifact(`${'deep/'.repeat(60)}ü.txt`, Buffer.alloc(100_000, 'x')),
    artifact('empty', Buffer.alloc(0)),
  ];
  const open = async (digest: string) => Readable.from([files.find(({ sha256 }) => sha256 === digest)?.data]);
  expect(await unpack(packArtifacts(files, open))).toEqual(Object.fromEntries(files.map(({ path, data }) => [path, data])));
});

it('breaks off visibly when a file cannot be read', async () => {
  const files = [artifact('a', Buffer.from('abc')), artifact('b', Buffer.from('def'))];
  const open = async (digest: string) => {
    if (digest === files[1]?.sha256) throw new Error('gone');
    return Readable.from([files[0]?.data]);
  };
  await expect(unpack(packArtifacts(files, open))).rejects.toThrow();
});

it('closes what it opened when the reader goes away, at once or later', async () => {
  const opened: Readable[] = [];
  const files = [artifact('a', Buffer.alloc(1_000_000))];
  const open = async () => {
    const stream = Readable.from(
      (function* () {
        for (let index = 0; index < 1000; index += 1) yield Buffer.alloc(1000);
      })(),
      { objectMode: false },
    );
    opened.push(stream);
    return stream;
  };
  packArtifacts(files, open).destroy();
  const later = packArtifacts(files, open);
  later.once('readable', () => later.destroy());
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(opened.map(({ destroyed }) => destroyed)).toEqual([true, true]);
});
