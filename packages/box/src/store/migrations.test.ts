import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Compilable, CompiledQuery } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from './database.ts';
import { migrate } from './migrations.ts';

const folder = mkdtempSync(join(tmpdir(), 'skillbox-plans-'));
let database: Database;
beforeAll(async () => {
  database = await openDatabase({ file: join(folder, 'test.sqlite') });
  await migrate(database);
});
afterAll(async () => {
  await database.close();
  rmSync(folder, { recursive: true });
});

/** With a million executions a scan or a sort of all rows stops the server for seconds. */
describe('indexes', () => {
  const executions = () =>
    database.kysely.selectFrom('executions').select('status').orderBy('created_at', 'desc').orderBy('id', 'desc').limit(50);
  const events = () => database.kysely.selectFrom('events').selectAll().orderBy('seq').limit(50);

  it.each<[string, () => Compilable, string]>([
    ['executions of a tenant', () => executions().where('tenant', '=', 't'), 'executions_tenant'],
    [
      'the next page of them',
      () =>
        executions().where(({ eb, refTuple, tuple }) =>
          eb.and([eb('tenant', '=', 't'), eb(refTuple('created_at', 'id'), '<', tuple('x', 'y'))]),
        ),
      'executions_tenant',
    ],
    ['executions of a skill', () => executions().where('tenant', '=', 't').where('skill_name', '=', 's'), 'executions_skill'],
    ['executions with a status', () => executions().where('tenant', '=', 't').where('status', '=', 's'), 'executions_status'],
    ['executions of all tenants', () => executions(), 'executions_created'],
    [
      'open work of a host',
      () => database.kysely.selectFrom('executions').select('id').where('host', '=', 'h').where('status', 'in', ['queued', 'running']),
      'executions_host',
    ],
    ['one execution', () => database.kysely.selectFrom('executions').selectAll().where('id', '=', 'i'), 'sqlite_autoindex_executions_1'],
    ['a key by its hash', () => database.kysely.selectFrom('api_keys').selectAll().where('hash', '=', 'h'), 'sqlite_autoindex_api_keys_2'],
    [
      'users of a blob',
      () => database.kysely.selectFrom('execution_files').select('path').where('digest', '=', 'd'),
      'execution_files_digest',
    ],
    ['events of a tenant', () => events().where('tenant', '=', 't').where('seq', '>', 5), 'events_tenant'],
    [
      'events of a subject',
      () => events().where('subject_type', '=', 'a').where('subject_id', '=', 'b').where('seq', '>', 5),
      'events_subject',
    ],
    [
      'events of a type in a tenant',
      () => events().where('tenant', '=', 'a').where('type', '=', 'b').where('seq', '>', 5),
      'events_tenant_type',
    ],
    ['events of a type', () => events().where('type', '=', 't').where('seq', '>', 5), 'events_type'],
  ])('%s', async (_name, query, index) => {
    const { sql, parameters } = query().compile();
    const { rows } = await database.kysely.executeQuery<{ detail: string }>(
      CompiledQuery.raw(`explain query plan ${sql}`, [...parameters]),
    );
    const plan = rows.map(({ detail }) => detail).join('\n');
    expect(plan).toContain(index);
    expect(plan).not.toMatch(/^SCAN (?!executions USING INDEX executions_created)/m);
    expect(plan).not.toMatch(/TEMP B-TREE/);
  });
});
