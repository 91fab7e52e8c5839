import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../config.ts';
import { openStore } from './store.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-store-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const config = (env: NodeJS.ProcessEnv = {}) => loadConfig({ cwd: folder, env });

describe('store', () => {
  it('needs nothing installed, keeps everything in the state root, for its owner only', async () => {
    const { database, blobs, leases, close } = await openStore(config());
    const { digest } = await blobs.put(Buffer.from('kept'));
    await leases.acquire('host:a', 'a', 1000);
    await close();
    for (const path of ['', 'db', 'blobs', 'blobs/tmp']) {
      expect(statSync(join(folder, '.skillbox-state', path)).mode & 0o777).toBe(0o700);
    }
    const again = await openStore(config());
    expect(database.kind).toBe('sqlite');
    expect((await again.blobs.read(digest)).toString()).toBe('kept');
    expect(await again.leases.list('host:')).toHaveLength(1);
    await again.close();
  });

  it('asks for the keys when only the endpoint of S3 is set', async () => {
    const half = config({ SKILLBOX_S3_ENDPOINT: 'http://127.0.0.1:1' });
    await expect(openStore(half)).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('SKILLBOX_S3_ACCESS_KEY'),
    });
  });

  it('uses PostgreSQL and S3 when they are configured', async () => {
    await expect(openStore(config({ SKILLBOX_DB_DSN: 'postgres://u@127.0.0.1:1/x' }))).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('PostgreSQL'),
    });
    const s3 = { SKILLBOX_S3_ENDPOINT: 'http://127.0.0.1:1', SKILLBOX_S3_ACCESS_KEY: 'a', SKILLBOX_S3_SECRET_KEY: 'b' };
    await expect(openStore(config(s3))).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining('S3') });
  });
});
