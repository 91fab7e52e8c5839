import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterEach, expect, it } from 'vitest';
import type { Database } from './database.ts';
import { openSqlite } from './sqlite.ts';

const folder = mkdtempSync(join(tmpdir(), 'skillbox-checkpoints-'));
const file = join(folder, 'box.sqlite');
let database: Database;
afterEach(async () => {
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});

it('brings the log into the file in a pause, and not before there is enough of it', async () => {
  database = await openSqlite(file);
  await sql`create table t (text text)`.execute(database.kysely);
  const write = async (times: number): Promise<void> => {
    const query = () => sql`insert into t values (${'x'.repeat(4000)})`.compile(database.kysely);
    for (let time = 0; time < times; time += 1) await database.batch([{ query }]);
  };
  const before = statSync(file).size;
  await write(20);
  await delay(60);
  expect(statSync(file).size, 'not worth it').toBe(before);
  await write(80);
  await expect.poll(() => statSync(file).size).toBeGreaterThan(before + 100 * 4000);
  expect(await database.query(sql<{ n: number }>`select count(*) as n from t`.compile(database.kysely))).toEqual([{ n: 100 }]);
});
