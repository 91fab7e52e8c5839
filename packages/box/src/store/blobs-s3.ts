import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { type Blobs, checkDigest, checkSize, digestPattern, type ListedBlob, missingBlob } from './blobs.ts';
import { createS3Client, readText, type S3Body, type S3Client, type S3Response, type S3Settings, s3Code, s3Failure } from './s3-client.ts';
import { spool, sweepSpool } from './spool.ts';

const prefix = 'blobs/';

export interface S3BlobSettings extends S3Settings {
  readonly bucket: string;
  /** Local folder in which streams wait until their digest is known. */
  readonly spoolFolder: string;
}

export async function openS3Blobs({ bucket, spoolFolder, ...settings }: S3BlobSettings): Promise<Blobs> {
  const client = createS3Client(settings);
  const root = `/${encodeURIComponent(bucket)}`;
  const pathOf = (digest: string) => {
    checkDigest(digest);
    return `${root}/${prefix}${digest}`;
  };
  // Always uploads, also what exists: S3 has no other way to renew the date, and a check would cost a request as well.
  const upload = async (body: S3Body) => {
    await expect(await client.request('PUT', pathOf(body.sha256), body), [200], 'the upload of a blob');
    return { digest: body.sha256, size: body.size };
  };
  const find = async (method: 'GET' | 'HEAD', digest: string) => {
    const response = await client.request(method, pathOf(digest));
    if (response.statusCode === 200) return response;
    const body = await readText(response);
    // Without its bucket a box has lost everything; that must not look like one missing blob.
    if (response.statusCode === 404 && s3Code(body) !== 'NoSuchBucket') throw missingBlob(digest);
    throw s3Failure(response, body, 'the reading of a blob');
  };

  await mkdir(spoolFolder, { recursive: true, mode: 0o700 });
  await sweepSpool(spoolFolder);
  await ensureBucket(client, root, settings.region);

  return {
    async put(source, { maxBytes } = {}) {
      if (Buffer.isBuffer(source)) {
        checkSize(source.length, maxBytes);
        return upload({ size: source.length, sha256: createHash('sha256').update(source).digest('hex'), open: () => source });
      }
      const { path, digest, size } = await spool(source, spoolFolder, maxBytes);
      try {
        return await upload({ size, sha256: digest, open: () => createReadStream(path) });
      } finally {
        await rm(path, { force: true });
      }
    },

    get: (digest) => find('GET', digest),

    async read(digest) {
      return buffer(await find('GET', digest));
    },

    async has(digest) {
      const { statusCode } = await expect(await client.request('HEAD', pathOf(digest)), [200, 404], 'the search for a blob');
      return statusCode === 200;
    },

    async size(digest) {
      const response = await find('HEAD', digest);
      await readText(response);
      return Number(response.headers['content-length']);
    },

    async delete(digest) {
      await expect(await client.request('DELETE', pathOf(digest)), [200, 204, 404], 'the deletion of a blob');
    },

    list: () => listAll(client, root),

    async ping() {
      await expect(await client.request('HEAD', root), [200], `the search for the bucket ${bucket}`);
    },
  };
}

async function ensureBucket(client: S3Client, root: string, region: string): Promise<void> {
  const bucket = root.slice(1);
  const found = await expect(await client.request('HEAD', root), [200, 404], `the search for the bucket ${bucket}`);
  if (found.statusCode === 200) return;
  const made = await expect(await client.request('PUT', root, bucketLocation(region)), [200, 409], `the making of the bucket ${bucket}`);
  // 409: another host of the box was faster, or the name belongs to somebody else.
  if (made.statusCode === 409) await expect(await client.request('HEAD', root), [200], `the search for the bucket ${bucket}`);
}

/** us-east-1 is S3's own default and the one region it refuses to be told. */
function bucketLocation(region: string): S3Body | undefined {
  if (region === 'us-east-1') return undefined;
  const xml = Buffer.from(`<CreateBucketConfiguration><LocationConstraint>${region}</LocationConstraint></CreateBucketConfiguration>`);
  return { size: xml.length, sha256: createHash('sha256').update(xml).digest('hex'), open: () => xml };
}

/** The first version of the listing: every S3 has it, and its marker is simply the last key. */
async function* listAll(client: S3Client, root: string): AsyncIterable<ListedBlob> {
  for (let marker = '', more = true; more; ) {
    const response = await client.request('GET', `${root}?${new URLSearchParams({ marker, prefix })}`);
    const page = await readText(response);
    if (response.statusCode !== 200) throw s3Failure(response, page, 'the listing of blobs');
    for (const [entry] of page.matchAll(/<Contents>.*?<\/Contents>/gs)) {
      marker = field(entry, 'Key');
      const digest = marker.slice(prefix.length);
      if (!digestPattern.test(digest)) continue;
      yield { digest, size: Number(field(entry, 'Size')), modifiedAt: new Date(field(entry, 'LastModified')) };
    }
    more = field(page, 'IsTruncated') === 'true';
  }
}

/** Keys under the prefix are digests, sizes and dates are plain: nothing in them is escaped. */
function field(xml: string, name: string): string {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? '';
}

/** For answers whose body does not matter unless they are refusals. */
async function expect(response: S3Response, statuses: readonly number[], what: string): Promise<S3Response> {
  const body = await readText(response);
  if (!statuses.includes(response.statusCode)) throw s3Failure(response, body, what);
  return response;
}
