import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Database, openDatabase } from '../store/database.ts';
import { migrate } from '../store/migrations.ts';
import { type EventFilter, filterCondition, matchesFilter } from './filter.ts';

const folder = mkdtempSync(join(tmpdir(), 'skillbox-filter-'));
const tenants = ['a', 'b'];
const subjects = ['execution', 'skill'];
const types = ['execution.started', 'execution.finished', 'execution', 'execution_x', 'skill.pushed', 'Execution.started'];
const times = [1, 2, 3, 4].map((second) => new Date(second * 1000).toISOString());

let database: Database;
beforeAll(async () => {
  database = await openDatabase({ file: join(folder, 'test.sqlite') });
  await migrate(database);
  const combinations = tenants.flatMap((tenant) => subjects.flatMap((subject) => types.map((type) => ({ tenant, subject, type }))));
  const rows = combinations.map(({ tenant, subject, type }, nth) => ({
    id: String(nth),
    // Not in the order of seq, as with hosts whose clocks differ.
    time: times[(nth * 7) % times.length] ?? '',
    tenant,
    actor_kind: 'adm',
    actor_id: 'x',
    host: 'h',
    subject_type: subject,
    subject_id: String(nth % 3),
    type,
    data: '{}',
  }));
  await database.kysely.insertInto('events').values(rows).execute();
});
afterAll(async () => {
  await database.close();
  rmSync(folder, { recursive: true });
});

/** Mostly left out, so that filters of one or two conditions are the rule. */
const rarely = <T>(value: fc.Arbitrary<T>) => fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });
const anyFilter: fc.Arbitrary<EventFilter> = fc.record({
  tenant: rarely(fc.constantFrom(...tenants, 'nobody')),
  subject: rarely(fc.record({ type: fc.constantFrom(...subjects), id: rarely(fc.constantFrom('0', '1', '2')) })),
  type: rarely(fc.constantFrom(...types)),
  typePrefix: rarely(fc.constantFrom('', 'e', 'execution.', 'execution%', 'skill')),
  since: rarely(fc.constantFrom(...times)),
  until: rarely(fc.constantFrom(...times)),
});

it('selects in the database exactly what it lets through live', async () => {
  const rows = await database.kysely.selectFrom('events').selectAll().orderBy('seq').execute();
  let selectedSome = 0;
  await fc.assert(
    fc.asyncProperty(anyFilter, async (filter) => {
      const selected = await database.kysely
        .selectFrom('events')
        .selectAll()
        .where((eb) => filterCondition(eb, filter))
        .orderBy('seq')
        .execute();
      selectedSome += selected.length > 0 ? 1 : 0;
      expect(selected).toEqual(rows.filter((row) => matchesFilter(row, filter)));
    }),
    { numRuns: 300 },
  );
  expect(selectedSome).toBeGreaterThan(100);
});
