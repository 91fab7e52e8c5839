import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Blobs, ListedBlob } from '../../packages/box/src/store/blobs.ts';
import { openFolderBlobs } from '../../packages/box/src/store/blobs-folder.ts';
import { openS3Blobs } from '../../packages/box/src/store/blobs-s3.ts';
import { startS3, type TestS3 } from '../support/s3.ts';

const sha256 = (content: Buffer | string) => createHash('sha256').update(content).digest('hex');
const absent = 'a'.repeat(64);
const mebibyte = 1024 * 1024;

let s3: TestS3;
let folder = '';
beforeAll(async () => {
  s3 = await startS3();
});
afterAll(() => s3.stop());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-blobs-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const s3Settings = (bucket: string) => ({
  endpoint: s3.endpoint,
  accessKey: s3.accessKey,
  secretKey: s3.secretKey,
  region: 'us-east-1',
  bucket,
  spoolFolder: join(folder, 'blobs', 'tmp'),
});
const openers = {
  folder: () => openFolderBlobs(join(folder, 'blobs')),
  s3: () => openS3Blobs(s3Settings(`test-${randomBytes(6).toString('hex')}`)),
};

describe.each(Object.entries(openers))('blobs: %s', (_kind, open) => {
  it('keeps a buffer and a stream under the digest of their content', async () => {
    const blobs = await open();
    for (const content of [Buffer.from('hello'), Buffer.alloc(0), randomBytes(mebibyte)]) {
      const info = await blobs.put(content);
      expect(info).toEqual({ digest: sha256(content), size: content.length });
      expect(await blobs.put(Readable.from(chunks(content)))).toEqual(info);
      expect((await blobs.read(info.digest)).equals(content)).toBe(true);
      expect((await buffer(await blobs.get(info.digest))).equals(content)).toBe(true);
      expect(await blobs.has(info.digest)).toBe(true);
      expect(await blobs.size(info.digest)).toBe(content.length);
    }
  });

  it('keeps what must be durable like the rest, also when it is there already', async () => {
    const blobs = await open();
    const { digest } = await blobs.put(Buffer.from('important'));
    expect(await blobs.put(Buffer.from('important'), { durable: true })).toEqual({ digest, size: 9 });
    expect(await blobs.put(Readable.from(['important']), { durable: true })).toEqual({ digest, size: 9 });
    expect((await blobs.read(digest)).toString()).toBe('important');
  });

  it('says not_found for what is missing, and deletes it without complaint', async () => {
    const blobs = await open();
    expect(await blobs.has(absent)).toBe(false);
    await expect(blobs.get(absent)).rejects.toMatchObject({ code: 'not_found' });
    await expect(blobs.read(absent)).rejects.toMatchObject({ code: 'not_found' });
    await expect(blobs.size(absent)).rejects.toMatchObject({ code: 'not_found' });
    await blobs.delete(absent);
    const { digest } = await blobs.put(Buffer.from('x'));
    await blobs.delete(digest);
    expect(await blobs.has(digest)).toBe(false);
  });

  it.each(['', 'abc', '../../../../etc/passwd', 'A'.repeat(64), `${'a'.repeat(63)}/`, `${'a'.repeat(64)}\n`, `${'a'.repeat(62)}..`])(
    'refuses %j as a digest',
    async (digest) => {
      const blobs = await open();
      for (const use of [blobs.get, blobs.read, blobs.has, blobs.size, blobs.delete]) {
        await expect(use(digest)).rejects.toMatchObject({ code: 'bad_request' });
      }
    },
  );

  it('refuses more than allowed and keeps nothing of it', async () => {
    const blobs = await open();
    await expect(blobs.put(Buffer.alloc(11), { maxBytes: 10 })).rejects.toMatchObject({ code: 'too_large' });
    let given = 0;
    const endless = new Readable({
      read() {
        given += 65_536;
        this.push(Buffer.alloc(65_536));
      },
    });
    await expect(blobs.put(endless, { maxBytes: mebibyte })).rejects.toMatchObject({ code: 'too_large' });
    expect(endless.destroyed).toBe(true);
    expect(given).toBeLessThan(2 * mebibyte);
    expect(await all(blobs.list())).toEqual([]);
    expect(leftovers()).toEqual([]);
    expect(await blobs.put(Buffer.alloc(10), { maxBytes: 10 })).toMatchObject({ size: 10 });
    expect(await blobs.put(Readable.from(chunks(Buffer.alloc(10))), { maxBytes: 10 })).toMatchObject({ size: 10 });
  });

  it('keeps nothing of a stream that breaks, and passes its error on', async () => {
    const blobs = await open();
    const broken = Readable.from(
      (async function* () {
        yield Buffer.alloc(1000);
        throw new Error('the caller went away');
      })(),
    );
    await expect(blobs.put(broken)).rejects.toThrow('the caller went away');
    expect(await all(blobs.list())).toEqual([]);
    expect(leftovers()).toEqual([]);
  });

  it('takes the same content from many at once', async () => {
    const blobs = await open();
    const content = randomBytes(400_000);
    const puts = Array.from({ length: 20 }, (_, nth) => blobs.put(nth % 2 ? content : Readable.from(chunks(content))));
    const infos = await Promise.all(puts);
    expect(new Set(infos.map(({ digest }) => digest))).toEqual(new Set([sha256(content)]));
    expect((await blobs.read(sha256(content))).equals(content)).toBe(true);
    expect(await all(blobs.list())).toHaveLength(1);
    expect(leftovers()).toEqual([]);
  });

  it('lists all it has, with sizes and dates', async () => {
    const blobs = await open();
    const started = Date.now();
    const contents = Array.from({ length: 30 }, (_, nth) => Buffer.from('x'.repeat(nth)));
    const infos = await Promise.all(contents.map((content) => blobs.put(content)));
    const listed = await all(blobs.list());
    const bySize = (a: { size: number }, b: { size: number }) => a.size - b.size;
    expect(listed.map(({ digest, size }) => ({ digest, size })).sort(bySize)).toEqual(infos.sort(bySize));
    for (const { modifiedAt } of listed) expect(Math.abs(modifiedAt.getTime() - started)).toBeLessThan(10_000);
  });

  it('moves 128 MiB in and out without keeping them in memory', async () => {
    const blobs = await open();
    const block = randomBytes(mebibyte);
    const total = 128;
    const peak = watchMemory();
    const { digest, size } = await blobs.put(Readable.from(repeat(block, total)));
    expect(size).toBe(total * mebibyte);
    const hash = createHash('sha256');
    for await (const chunk of await blobs.get(digest)) hash.update(chunk as Buffer);
    expect(hash.digest('hex')).toBe(digest);
    expect(peak()).toBeLessThan(64 * mebibyte);
  });

  it('answers ping', async () => {
    const blobs = await open();
    await blobs.ping();
  });
});

describe('blobs: folder, in particular', () => {
  const root = () => join(folder, 'blobs');

  it('spreads files over two levels that only the owner can read', async () => {
    const blobs = await openFolderBlobs(root());
    for (const source of [Buffer.from('small'), randomBytes(mebibyte), Readable.from(['stream'])]) {
      const { digest } = await blobs.put(source);
      const [one, two] = [digest.slice(0, 2), digest.slice(2, 4)];
      expect(statSync(join(root(), one, two, digest)).mode & 0o777).toBe(0o600);
      for (const path of [root(), join(root(), one), join(root(), one, two), join(root(), 'tmp')]) {
        expect(statSync(path).mode & 0o777).toBe(0o700);
      }
    }
  });

  it('removes what a crash left in tmp, but not what another server is writing', async () => {
    mkdirSync(join(root(), 'tmp'), { recursive: true });
    const [old, fresh] = [join(root(), 'tmp', 'old'), join(root(), 'tmp', 'fresh')];
    writeFileSync(old, 'half');
    writeFileSync(fresh, 'half');
    const hoursAgo = new Date(Date.now() - 2 * 3_600_000);
    utimesSync(old, hoursAgo, hoursAgo);
    const blobs = await openFolderBlobs(root());
    expect([existsSync(old), existsSync(fresh)]).toEqual([false, true]);
    expect(await all(blobs.list())).toEqual([]);
  });

  it('renews the date of what is put again', async () => {
    const blobs = await openFolderBlobs(root());
    const { digest } = await blobs.put(Buffer.from('again'));
    const path = join(root(), digest.slice(0, 2), digest.slice(2, 4), digest);
    const longAgo = new Date(2020, 1, 1);
    for (const source of [Buffer.from('again'), Readable.from(['again'])]) {
      utimesSync(path, longAgo, longAgo);
      await blobs.put(source);
      expect(Date.now() - statSync(path).mtimeMs).toBeLessThan(10_000);
    }
  });

  it('says unavailable when its folder is gone', async () => {
    const blobs = await openFolderBlobs(root());
    rmSync(root(), { recursive: true });
    await expect(blobs.ping()).rejects.toMatchObject({ code: 'unavailable' });
    await expect(blobs.put(Buffer.from('x'))).rejects.toMatchObject({ code: 'unavailable' });
    await expect(blobs.put(Readable.from(['x']))).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('blobs: s3, in particular', () => {
  it('makes the bucket once, also when several hosts start together', async () => {
    const bucket = `test-${randomBytes(6).toString('hex')}`;
    const hosts = await Promise.all(Array.from({ length: 4 }, () => openS3Blobs(s3Settings(bucket))));
    const { digest } = await (hosts[0] as Blobs).put(Buffer.from('shared'));
    for (const host of hosts) expect((await host.read(digest)).toString()).toBe('shared');
  });

  it.each(['status', 'connection'] as const)('tries again after a failure (%s), a bounded number of times', async (how) => {
    const blobs = await openers.s3();
    s3.fail(3, how);
    const { digest } = await blobs.put(Readable.from(['persistent']));
    s3.fail(2, how);
    expect((await blobs.read(digest)).toString()).toBe('persistent');
    s3.fail(100, how);
    s3.requests.length = 0;
    await expect(blobs.put(Buffer.from('x'))).rejects.toMatchObject({ code: 'unavailable' });
    await expect(blobs.has(digest)).rejects.toMatchObject({ code: 'unavailable' });
    expect(s3.requests).toHaveLength(8);
    s3.fail(0);
  });

  it('lists more than one page', async () => {
    const blobs = await openers.s3();
    for (let nth = 0; nth < 1100; nth += 50)
      await Promise.all(Array.from({ length: 50 }, (_, more) => blobs.put(Buffer.from(`${nth + more}`))));
    const digests = (await all(blobs.list())).map(({ digest }) => digest);
    expect(new Set(digests).size).toBe(1100);
    expect(digests).toHaveLength(1100);
  });

  it('says unavailable, not not_found, when the bucket is gone or the keys are wrong', async () => {
    const bucket = `test-${randomBytes(6).toString('hex')}`;
    const blobs = await openS3Blobs(s3Settings(bucket));
    await expect(openS3Blobs({ ...s3Settings(bucket), secretKey: 'wrong' })).rejects.toMatchObject({ code: 'unavailable' });
    await s3.deleteBucket(bucket);
    await expect(blobs.get(absent)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(blobs.ping()).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('says unavailable when nobody listens', async () => {
    const probe = createServer().listen(0, '127.0.0.1');
    await delay(20);
    const { port } = probe.address() as { port: number };
    probe.close();
    await expect(openS3Blobs({ ...s3Settings('none'), endpoint: `http://127.0.0.1:${port}` })).rejects.toMatchObject({
      code: 'unavailable',
    });
  });
});

function* chunks(content: Buffer): Iterable<Buffer> {
  for (let from = 0; from < content.length; from += 100_000) yield content.subarray(from, from + 100_000);
}

function* repeat(block: Buffer, times: number): Iterable<Buffer> {
  for (let nth = 0; nth < times; nth++) yield block;
}

async function all(blobs: AsyncIterable<ListedBlob>): Promise<ListedBlob[]> {
  const list: ListedBlob[] = [];
  for await (const blob of blobs) list.push(blob);
  return list;
}

function leftovers(): string[] {
  return readdirSync(join(folder, 'blobs', 'tmp'));
}

/** Returns how far memory grew since the call. */
function watchMemory(): () => number {
  const before = process.memoryUsage().rss;
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 5);
  return () => {
    clearInterval(timer);
    return peak - before;
  };
}
