/** The skills of the box: pushed whole or not at all, never changed afterwards, found by name and version. */

import { BoxError, type LintFinding, type Page, type SkillDependencies, type SkillDetail, type SkillSummary } from '@skillbox/protocol';
import type { Caller } from '../access/caller.ts';
import { addUsage, type Tenants } from '../access/tenants.ts';
import type { Events } from '../events/events.ts';
import type { Blobs } from '../store/blobs.ts';
import { decodeCursor, encodeCursor } from '../store/cursor.ts';
import type { Database } from '../store/database.ts';
import { statement } from '../store/statement.ts';
import type { SkillRow } from '../store/tables.ts';
import { type ArchiveLimits, digestOf, packArchive, readArchive } from './archive.ts';
import { declaredDependencies } from './dependencies/declared.ts';
import type { Dependencies } from './dependencies/dependencies.ts';
import { releaseLock } from './dependencies/records.ts';
import { type SkillDefinition, usesHostInterpreter } from './format.ts';
import { lintFiles } from './lint.ts';
import { createResolved } from './resolved.ts';
import { searchSkills } from './search.ts';
import { compareVersions, latestOf, nextFree } from './versions.ts';

export interface Skill {
  readonly tenant: string;
  readonly name: string;
  readonly version: string;
  readonly digest: string;
  /** Blob of the canonical zip. */
  readonly archive: string;
  readonly definition: SkillDefinition;
  readonly instructions: string;
  /** What it declares as dependencies; null when nothing. */
  readonly lock: string | null;
}

export interface Catalog {
  /** `created` is false when exactly this content was there already. */
  push(caller: Caller, zip: Buffer): Promise<{ skill: SkillDetail; created: boolean; warnings: LintFinding[] }>;
  /** Each in its latest version, by name. */
  list(tenant: string, page: { limit: number; cursor?: string }): Promise<Page<SkillSummary>>;
  versions(tenant: string, name: string): Promise<SkillSummary[]>;
  show(tenant: string, name: string, version: string): Promise<SkillDetail>;
  search(tenant: string, query: string, limit: number): Promise<SkillSummary[]>;
  /** One of its files, as it was pushed. */
  file(tenant: string, name: string, version: string, path: string): Promise<Buffer>;
  remove(caller: Caller, name: string, version: string): Promise<void>;
  /** For running: latest or a version, with everything a run needs. */
  resolve(tenant: string, name: string, version: string): Promise<Skill>;
}

export interface CatalogParts {
  readonly database: Database;
  readonly blobs: Blobs;
  readonly events: Events;
  readonly tenants: Tenants;
  readonly limits: ArchiveLimits;
  readonly dependencies: Pick<Dependencies, 'start' | 'describe'>;
}

export function createCatalog({ database, blobs, dependencies, events, tenants, limits }: CatalogParts): Catalog {
  const { kysely } = database;

  const resolved = createResolved();
  const selectVersions = statement<Pick<SkillRow, 'tenant' | 'name'>, Pick<SkillRow, 'version' | 'digest' | 'created_at'>>(
    ['tenant', 'name'],
    ({ tenant, name }) =>
      kysely.selectFrom('skills').select(['version', 'digest', 'created_at']).where('tenant', '=', tenant).where('name', '=', name),
  );

  const rowsOf = (tenant: string, name: string): Promise<SkillRow[]> =>
    kysely.selectFrom('skills').selectAll().where('tenant', '=', tenant).where('name', '=', name).execute();

  const rowOf = async (tenant: string, name: string, version: string): Promise<SkillRow> => {
    if (version !== 'latest') {
      const row = await kysely
        .selectFrom('skills')
        .selectAll()
        .where('tenant', '=', tenant)
        .where('name', '=', name)
        .where('version', '=', version)
        .executeTakeFirst();
      if (row) return row;
      throw new BoxError('skill_not_found', `There is no skill ${name} in version ${version}.`);
    }
    const rows = await rowsOf(tenant, name);
    const latest = latestOf(rows.map((row) => row.version));
    const row = rows.find((candidate) => candidate.version === latest);
    if (row) return row;
    throw new BoxError('skill_not_found', `There is no skill ${name}.`);
  };

  const withDependencies = async <T extends { dependencies: SkillDependencies | null }>(
    tenant: string,
    rows: readonly { readonly lock: string | null; readonly shown: T }[],
  ): Promise<T[]> => {
    const locks = rows.flatMap(({ lock }) => lock ?? []);
    if (locks.length === 0) return rows.map(({ shown }) => shown);
    const states = await dependencies.describe(tenant, locks);
    return rows.map(({ lock, shown }) => ({ ...shown, dependencies: lock === null ? null : (states.get(lock) ?? null) }));
  };
  const summariesOf = (tenant: string, rows: readonly SummaryRow[]): Promise<SkillSummary[]> =>
    withDependencies(
      tenant,
      rows.map((row) => ({ lock: row.lock, shown: summary(row) })),
    );
  const detailOf = async (row: SkillRow): Promise<SkillDetail> => {
    const [shown] = await withDependencies(row.tenant, [{ lock: row.lock, shown: detail(row) }]);
    return shown as SkillDetail;
  };
  const pushed = async (caller: Caller, row: SkillRow, created: boolean, warnings: LintFinding[]) => {
    await dependencies.start(row, caller.actor);
    return { skill: await detailOf(row), created, warnings };
  };

  return {
    async push(caller, zip) {
      const files = await readArchive(zip, limits);
      const { definition, instructions, findings } = await lintFiles(files);
      const errors = findings.filter((finding) => finding.severity === 'error');
      if (!definition || errors.length > 0) {
        const first = errors[0];
        const where = first ? `${first.file}:${first.line} ${first.message}` : 'SKILL.md is missing';
        throw new BoxError('invalid_skill', `The skill has ${errors.length} error(s): ${where}`, { details: { findings } });
      }
      const { name, version } = definition;
      const digest = digestOf(files);
      const warnings = findings.filter((finding) => finding.severity === 'warning');
      const existing = (await rowsOf(caller.tenant, name)).find((row) => row.version === version);
      if (existing) return pushed(caller, unchanged(existing, digest, await rowsOf(caller.tenant, name)), false, warnings);

      const size = files.reduce((sum, file) => sum + file.data.length, 0);
      await tenants.requireRoom(caller.tenant, size);
      // The blob first: a row without its archive would be a lie, an archive without a row is swept away.
      const { digest: archive } = await blobs.put(await packArchive(files));
      const row: SkillRow = {
        tenant: caller.tenant,
        name,
        version,
        description: definition.description,
        mode: definition.mode,
        lang: definition.lang,
        digest,
        archive,
        size,
        definition: JSON.stringify(definition),
        instructions,
        files: JSON.stringify(files.map(({ path, data }) => ({ path, size: data.length }))),
        lock: usesHostInterpreter(definition) ? (declaredDependencies(files, definition.lang)?.lock ?? null) : null,
        created_at: new Date().toISOString(),
        created_by: caller.actor.id,
      };
      const won = await database.transaction(async (tx) => {
        const result = await tx
          .insertInto('skills')
          .values(row)
          .onConflict((conflict) => conflict.columns(['tenant', 'name', 'version']).doNothing())
          .executeTakeFirst();
        if (Number(result.numInsertedOrUpdatedRows ?? 0) === 0) return false;
        await addUsage(tx, caller.tenant, size);
        // Others may have taken the room since the first look.
        await tenants.requireRoom(caller.tenant, 0, tx);
        const subject = { type: 'skill', id: `${name}@${version}` };
        await events.append(
          { tenant: caller.tenant, actor: caller.actor, subject, type: 'skill.pushed', data: { name, version, digest } },
          tx,
        );
        return true;
      });
      if (won) return pushed(caller, row, true, warnings);
      // Somebody pushed the same version in the meantime.
      const winner = await rowOf(caller.tenant, name, version);
      return pushed(caller, unchanged(winner, digest, await rowsOf(caller.tenant, name)), false, warnings);
    },

    async list(tenant, { limit, cursor }) {
      // Names first, then the versions of just those: a page costs the same however many skills there are.
      let names = kysely
        .selectFrom('skills')
        .select('name')
        .distinct()
        .where('tenant', '=', tenant)
        .orderBy('name')
        .limit(limit + 1);
      if (cursor !== undefined) names = names.where('name', '>', decodeCursor(cursor, 1)[0]);
      const found = (await names.execute()).map(({ name }) => name);
      const shown = found.slice(0, limit);
      if (shown.length === 0) return { items: [], next_cursor: null };
      const rows = await summaries(kysely, tenant).where('name', 'in', shown).orderBy('name').execute();
      const items = await summariesOf(tenant, newestOfEach(rows));
      return { items, next_cursor: found.length > limit ? encodeCursor(shown.at(-1) ?? '') : null };
    },

    async versions(tenant, name) {
      const rows = await summaries(kysely, tenant).where('name', '=', name).execute();
      if (rows.length === 0) throw new BoxError('skill_not_found', `There is no skill ${name}.`);
      return summariesOf(
        tenant,
        rows.sort((a, b) => compareVersions(b.version, a.version)),
      );
    },

    async show(tenant, name, version) {
      return detailOf(await rowOf(tenant, name, version));
    },

    async search(tenant, query, limit) {
      const rows = await kysely.selectFrom('skills').selectAll().where('tenant', '=', tenant).execute();
      return summariesOf(tenant, searchSkills(newestOfEach(rows), query).slice(0, limit));
    },

    async file(tenant, name, version, path) {
      const row = await rowOf(tenant, name, version);
      const files = await readArchive(await blobs.read(row.archive), limits);
      const file = files.find((candidate) => candidate.path === path);
      if (!file) throw new BoxError('not_found', `${name} ${row.version} has no file ${JSON.stringify(path)}.`);
      return file.data;
    },

    async remove(caller, name, version) {
      const row = await rowOf(caller.tenant, name, version);
      await database.transaction(async (tx) => {
        const { numDeletedRows } = await tx
          .deleteFrom('skills')
          .where('tenant', '=', caller.tenant)
          .where('name', '=', name)
          .where('version', '=', row.version)
          .executeTakeFirst();
        if (Number(numDeletedRows) === 0) return;
        await addUsage(tx, caller.tenant, -row.size);
        if (row.lock !== null) await releaseLock(tx, caller.tenant, row.lock);
        const subject = { type: 'skill', id: `${name}@${row.version}` };
        await events.append(
          { tenant: caller.tenant, actor: caller.actor, subject, type: 'skill.deleted', data: { name, version: row.version } },
          tx,
        );
      });
    },

    async resolve(tenant, name, version) {
      const versions = await database.query(selectVersions({ tenant, name }));
      const wanted = version === 'latest' ? latestOf(versions.map((row) => row.version)) : version;
      const found = versions.find((row) => row.version === wanted);
      const known = found && resolved.get(tenant, name, found);
      if (known) return known;
      const row = await rowOf(tenant, name, wanted ?? version);
      const { archive, digest, instructions, lock } = row;
      const definition = JSON.parse(row.definition) as SkillDefinition;
      const skill = { tenant, name, version: row.version, digest, archive, instructions, lock, definition };
      resolved.keep(skill, row.created_at);
      return skill;
    },
  };
}

type SummaryRow = Pick<SkillRow, 'name' | 'version' | 'description' | 'mode' | 'lang' | 'lock' | 'created_at'>;

function summaries(kysely: Database['kysely'], tenant: string) {
  return kysely
    .selectFrom('skills')
    .select(['name', 'version', 'description', 'mode', 'lang', 'lock', 'created_at'])
    .where('tenant', '=', tenant);
}

function newestOfEach<R extends { name: string; version: string }>(rows: readonly R[]): R[] {
  const byName = new Map<string, R[]>();
  for (const row of rows) byName.set(row.name, [...(byName.get(row.name) ?? []), row]);
  return [...byName.values()].map((versions) => {
    const latest = latestOf(versions.map((row) => row.version));
    return versions.find((row) => row.version === latest) as R;
  });
}

/** The same content again is fine; other content under a version that exists is refused with the next free one. */
function unchanged(existing: SkillRow, digest: string, all: readonly SkillRow[]): SkillRow {
  if (existing.digest === digest) return existing;
  const next = nextFree(
    existing.version,
    all.map((row) => row.version),
  );
  throw new BoxError('version_conflict', `${existing.name} ${existing.version} exists with other content, and a version never changes.`, {
    hint: `Set version: ${next} in SKILL.md and push again.`,
    details: { name: existing.name, version: existing.version, next_version: next },
  });
}

function summary(row: SummaryRow): SkillSummary {
  const { name, version, description, mode, lang, created_at } = row;
  return {
    name,
    version,
    description,
    mode: mode as SkillSummary['mode'],
    lang: lang as SkillSummary['lang'],
    created_at,
    dependencies: null,
  };
}

function detail(row: SkillRow): SkillDetail {
  const definition = JSON.parse(row.definition) as SkillDefinition;
  return {
    ...summary(row),
    entrypoint: definition.entrypoint,
    image: definition.image,
    timeout_ms: definition.timeoutMs,
    resources: { cpu: definition.cpu, memory_bytes: definition.memoryBytes },
    preload: [...(definition.preload ?? [])],
    env: definition.env,
    input_schema: definition.inputSchema,
    output_schema: definition.outputSchema,
    license: definition.license,
    metadata: definition.metadata,
    instructions: row.instructions,
    digest: row.digest,
    size: row.size,
    files: JSON.parse(row.files) as SkillDetail['files'],
  };
}
