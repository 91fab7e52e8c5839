/** Removes blobs that nothing refers to: archives of deleted skills, artifacts of runs that failed late, dependencies nobody needs, leftovers of crashes. */

import { sql } from 'kysely';
import type { Blobs } from './blobs.ts';
import type { Database } from './database.ts';

/** A blob is put before the row that names it; younger ones are left alone. */
const minimumAgeMs = 3600_000;
const batchSize = 200;

export async function sweepBlobs(database: Database, blobs: Blobs, now = Date.now()): Promise<number> {
  const waiting = await requestFiles(database);
  let removed = 0;
  let batch: string[] = [];
  const flush = async (): Promise<void> => {
    const used = await referenced(database, batch);
    for (const digest of batch) {
      if (used.has(digest) || waiting.has(digest)) continue;
      await blobs.delete(digest);
      removed += 1;
    }
    batch = [];
  };
  for await (const { digest, modifiedAt } of blobs.list()) {
    if (now - modifiedAt.getTime() < minimumAgeMs) continue;
    batch.push(digest);
    if (batch.length >= batchSize) await flush();
  }
  if (batch.length > 0) await flush();
  return removed;
}

async function referenced({ kysely }: Database, digests: readonly string[]): Promise<Set<string>> {
  const marks = digests.map((digest) => `blob:${digest}`);
  // Written out, not as a parameter: only so the index on long logs is used.
  const [skills, files, logs, builds] = await Promise.all([
    kysely.selectFrom('skills').select('archive').where('archive', 'in', digests).execute(),
    kysely.selectFrom('execution_files').select('digest').where('digest', 'in', digests).execute(),
    kysely.selectFrom('executions').select('log').where(sql<boolean>`log like 'blob:%'`).where('log', 'in', marks).execute(),
    kysely.selectFrom('dependency_builds').select('blob').where('blob', 'in', digests).execute(),
  ]);
  return new Set([
    ...skills.map((row) => row.archive),
    ...files.map((row) => row.digest),
    ...logs.map((row) => (row.log ?? '').slice(5)),
    ...builds.flatMap((row) => row.blob ?? []),
  ]);
}

/** Input files of executions that wait in the queue. */
async function requestFiles({ kysely }: Database): Promise<Set<string>> {
  const rows = await kysely
    .selectFrom('executions')
    .select('request')
    .where('status', '=', 'queued')
    .where('request', 'is not', null)
    .execute();
  return new Set(
    rows.flatMap(({ request }) => Object.values((JSON.parse(request ?? '{}') as { files?: Record<string, string> }).files ?? {})),
  );
}
