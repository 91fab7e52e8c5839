/** Two servers on one PostgreSQL and one S3: what one installs both run with, and what one leaves half installed the other installs. */

import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PackageIndex, startPackageIndex } from '../support/package-index.ts';
import { postgresFolder, startPostgres, type TestPostgres } from '../support/postgres.ts';
import { startS3, type TestS3 } from '../support/s3.ts';
import { newStateRoot, startServerProcess } from '../support/server-process.ts';
import { builtDependencies, pythonAnswer, skillFiles } from '../support/skills.ts';

const programs = postgresFolder();

describe.skipIf(!programs)('dependencies on two hosts', () => {
  let postgres: TestPostgres;
  let s3: TestS3;
  let index: PackageIndex;
  beforeAll(async () => {
    [postgres, s3, index] = await Promise.all([startPostgres(programs as string), startS3(), startPackageIndex()]);
    index.add('quick', '');
    index.add('slow', 'import time; time.sleep(5)');
  });
  afterAll(async () => {
    await Promise.all([postgres.stop(), s3.stop(), index.stop()]);
  });

  it('are installed once, and by the other host when the first one dies', async () => {
    const env = {
      ...index.env,
      SKILLBOX_DB_DSN: await postgres.createDatabase(),
      SKILLBOX_S3_ENDPOINT: s3.endpoint,
      SKILLBOX_S3_BUCKET: 'dependencies',
      SKILLBOX_S3_ACCESS_KEY: s3.accessKey,
      SKILLBOX_S3_SECRET_KEY: s3.secretKey,
      SKILLBOX_SECRET_KEY: 'the same secret on all hosts of this box',
      SKILLBOX_LEASE_TTL: '2s',
    };
    const roots = [newStateRoot(), newStateRoot()] as const;
    const first = await startServerProcess({ stateRoot: roots[0], env });
    const second = await startServerProcess({ stateRoot: roots[1], env });
    const needs = (name: string) =>
      skillFiles(name, 'python', {
        'requirements.txt': `${name}==1.0\n`,
        'main.py': pythonAnswer(`import ${name}\nvalue = ${name}.value`),
      });
    // An administrator's key is that of the host whose state root it is in.
    const key = first.key;
    try {
      await first.push(needs('quick'));
      expect((await second.run('quick', {}, key)).output).toBe(1);
      expect((await first.run('quick')).output).toBe(1);
      expect(index.downloads('quick')).toBe(1);

      await first.push(needs('slow'));
      await delay(2500);
      await first.kill();
      expect(await builtDependencies(second, 'slow', { key }, 40_000)).toMatchObject({ state: 'available' });
      expect((await second.run('slow', {}, key)).output).toBe(1);
    } finally {
      await second.stop();
      // Back once more, to remove the sandbox that outlived it.
      const again = await startServerProcess({ stateRoot: roots[0], env });
      await again.stop();
      for (const root of roots) rmSync(root, { recursive: true, force: true });
    }
  }, 120_000);
});
