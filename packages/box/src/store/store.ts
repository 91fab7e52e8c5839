import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import type { Config } from '../config.ts';
import type { Blobs } from './blobs.ts';
import { openFolderBlobs } from './blobs-folder.ts';
import { openS3Blobs } from './blobs-s3.ts';
import { type Database, openDatabase } from './database.ts';
import { createLeases, type Leases } from './leases.ts';
import { migrate } from './migrations.ts';

export interface Store {
  readonly database: Database;
  readonly blobs: Blobs;
  readonly leases: Leases;
  close(): Promise<void>;
}

export type StoreConfig = Pick<
  Config,
  'stateRoot' | 'dbDsn' | 'dbTimeout' | 's3Endpoint' | 's3Bucket' | 's3Region' | 's3AccessKey' | 's3SecretKey'
>;

/** Opens what the configuration names and brings the tables up to date. */
export async function openStore(config: StoreConfig): Promise<Store> {
  await mkdir(config.stateRoot, { recursive: true, mode: 0o700 });
  const blobs = await openBlobs(config);
  const options = { dsn: config.dbDsn, file: join(config.stateRoot, 'db', 'skillbox.sqlite') };
  let database = await openDatabase(options);
  try {
    await migrate(database);
  } catch (error) {
    await database.close();
    throw error;
  }
  // A migration, or the wait for that of another host, may take long; from here on nothing may.
  if (database.kind === 'postgres') {
    await database.close();
    database = await openDatabase({ ...options, timeoutMs: config.dbTimeout });
  }
  return { database, blobs, leases: createLeases(database), close: () => database.close() };
}

function openBlobs({ stateRoot, s3Endpoint, s3Bucket, s3Region, s3AccessKey, s3SecretKey }: StoreConfig): Promise<Blobs> {
  const folder = join(stateRoot, 'blobs');
  if (!s3Endpoint) return openFolderBlobs(folder);
  if (!s3AccessKey || !s3SecretKey) {
    throw new BoxError('config_invalid', 'SKILLBOX_S3_ENDPOINT is set, so SKILLBOX_S3_ACCESS_KEY and SKILLBOX_S3_SECRET_KEY must be too.');
  }
  return openS3Blobs({
    endpoint: s3Endpoint,
    bucket: s3Bucket,
    region: s3Region,
    accessKey: s3AccessKey,
    secretKey: s3SecretKey,
    spoolFolder: join(folder, 'tmp'),
  });
}
