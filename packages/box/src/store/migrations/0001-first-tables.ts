import { type Kysely, sql } from 'kysely';
import type { DatabaseKind } from '../database.ts';
import type { Migration } from '../migrations.ts';
import { protectEventOrder } from './event-order.ts';

export const firstTables: Migration = {
  name: '0001-first-tables',
  async up(kysely, kind) {
    await createAccess(kysely, kind);
    await createUsage(kysely, kind);
    await createSkills(kysely, kind);
    await createExecutions(kysely, kind);
    await createEvents(kysely, kind);
    await createCoordination(kysely, kind);
  },
};

async function createAccess({ schema }: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const text = textType(kind);
  await schema
    .createTable('api_keys')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('hash', text, (column) => column.notNull().unique())
    .addColumn('name', text, (column) => column.notNull())
    .addColumn('tenant', text, (column) => column.notNull())
    .addColumn('actor', text, (column) => column.notNull())
    .addColumn('scopes', text, (column) => column.notNull())
    .addColumn('created_at', text, (column) => column.notNull())
    .addColumn('expires_at', text)
    .addColumn('revoked_at', text)
    .addColumn('last_used_at', text)
    .execute();
  await schema.createIndex('api_keys_tenant').on('api_keys').columns(['tenant', 'created_at', 'id']).execute();
  await schema
    .createTable('tenants')
    .addColumn('name', text, (column) => column.primaryKey())
    .addColumn('limits', text, (column) => column.notNull())
    .addColumn('updated_at', text, (column) => column.notNull())
    .execute();
}

/** Bytes each tenant keeps; updated in the transactions that store and remove them. */
async function createUsage({ schema }: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await schema
    .createTable('tenant_usage')
    .addColumn('tenant', textType(kind), (column) => column.primaryKey())
    .addColumn('bytes', 'bigint', (column) => column.notNull())
    .execute();
}

async function createSkills({ schema }: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const text = textType(kind);
  await schema
    .createTable('skills')
    .addColumn('tenant', text, (column) => column.notNull())
    .addColumn('name', text, (column) => column.notNull())
    .addColumn('version', text, (column) => column.notNull())
    .addColumn('description', text, (column) => column.notNull())
    .addColumn('mode', text, (column) => column.notNull())
    .addColumn('lang', text)
    .addColumn('digest', text, (column) => column.notNull())
    .addColumn('archive', text, (column) => column.notNull())
    .addColumn('size', 'bigint', (column) => column.notNull())
    .addColumn('definition', text, (column) => column.notNull())
    .addColumn('instructions', text, (column) => column.notNull())
    .addColumn('files', text, (column) => column.notNull())
    .addColumn('created_at', text, (column) => column.notNull())
    .addColumn('created_by', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('skills_key', ['tenant', 'name', 'version'])
    .execute();
  await schema.createIndex('skills_archive').on('skills').columns(['archive']).execute();
}

/** Lists go by `created_at desc, id desc`, and each index is read backwards for that; one without id is passed over for executions_tenant. */
async function createExecutions(kysely: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const text = textType(kind);
  const { schema } = kysely;
  await schema
    .createTable('executions')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('tenant', text, (column) => column.notNull())
    .addColumn('skill_name', text, (column) => column.notNull())
    .addColumn('skill_version', text, (column) => column.notNull())
    .addColumn('status', text, (column) => column.notNull())
    .addColumn('input', text, (column) => column.notNull())
    .addColumn('request', text)
    .addColumn('output', text)
    .addColumn('log', text)
    .addColumn('log_size', 'bigint', (column) => column.notNull())
    .addColumn('error', text)
    .addColumn('exit_code', 'integer')
    .addColumn('signal', text)
    .addColumn('queued_ms', 'bigint', (column) => column.notNull())
    .addColumn('duration_ms', 'bigint')
    .addColumn('peak_memory_bytes', 'bigint')
    .addColumn('cpu_ms', 'bigint')
    .addColumn('provider', text)
    .addColumn('host', text, (column) => column.notNull())
    .addColumn('cancel_requested', 'integer', (column) => column.notNull())
    .addColumn('actor', text, (column) => column.notNull())
    .addColumn('created_at', text, (column) => column.notNull())
    .addColumn('started_at', text)
    .addColumn('finished_at', text)
    .execute();
  await schema.createIndex('executions_tenant').on('executions').columns(['tenant', 'created_at', 'id']).execute();
  await schema.createIndex('executions_skill').on('executions').columns(['tenant', 'skill_name', 'created_at', 'id']).execute();
  await schema.createIndex('executions_status').on('executions').columns(['tenant', 'status', 'created_at', 'id']).execute();
  await schema.createIndex('executions_host').on('executions').columns(['host', 'status']).execute();
  await schema.createIndex('executions_created').on('executions').columns(['created_at', 'id']).execute();
  // For the sweep of blobs: only long logs are blobs, and only those are in it.
  await sql`create index executions_log_blob on executions (log) where log like 'blob:%'`.execute(kysely);

  await schema
    .createTable('execution_files')
    .addColumn('execution_id', text, (column) => column.notNull().references('executions.id').onDelete('cascade'))
    .addColumn('tenant', text, (column) => column.notNull())
    .addColumn('path', text, (column) => column.notNull())
    .addColumn('size', 'bigint', (column) => column.notNull())
    .addColumn('digest', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('execution_files_key', ['execution_id', 'path'])
    .execute();
  await schema.createIndex('execution_files_digest').on('execution_files').columns(['digest']).execute();
  await schema.createIndex('execution_files_tenant').on('execution_files').columns(['tenant', 'size']).execute();

  // No reference to executions: a key is claimed before its execution exists.
  await schema
    .createTable('idempotency_keys')
    .addColumn('tenant', text, (column) => column.notNull())
    .addColumn('key', text, (column) => column.notNull())
    .addColumn('request_hash', text, (column) => column.notNull())
    .addColumn('execution_id', text, (column) => column.notNull())
    .addColumn('created_at', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('idempotency_keys_key', ['tenant', 'key'])
    .execute();
  await schema.createIndex('idempotency_keys_created').on('idempotency_keys').columns(['created_at']).execute();
}

async function createEvents(kysely: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const text = textType(kind);
  const { schema } = kysely;
  await schema
    .createTable('events')
    // Autoincrement, so that a number is not given again after the newest events were deleted.
    .addColumn('seq', kind === 'sqlite' ? 'integer' : 'bigint', (column) =>
      kind === 'sqlite' ? column.primaryKey().autoIncrement() : column.primaryKey().generatedAlwaysAsIdentity(),
    )
    .addColumn('id', text, (column) => column.notNull())
    .addColumn('time', text, (column) => column.notNull())
    .addColumn('tenant', text, (column) => column.notNull())
    .addColumn('actor_kind', text, (column) => column.notNull())
    .addColumn('actor_id', text, (column) => column.notNull())
    .addColumn('host', text, (column) => column.notNull())
    .addColumn('subject_type', text, (column) => column.notNull())
    .addColumn('subject_id', text, (column) => column.notNull())
    .addColumn('type', text, (column) => column.notNull())
    .addColumn('data', text, (column) => column.notNull())
    .execute();
  await schema.createIndex('events_subject').on('events').columns(['subject_type', 'subject_id', 'seq']).execute();
  await schema.createIndex('events_tenant').on('events').columns(['tenant', 'seq']).execute();
  await schema.createIndex('events_tenant_type').on('events').columns(['tenant', 'type', 'seq']).execute();
  await schema.createIndex('events_type').on('events').columns(['type', 'seq']).execute();
  await schema.createIndex('events_time').on('events').columns(['time', 'seq']).execute();
  if (kind === 'postgres') await protectEventOrder(kysely);
}

async function createCoordination({ schema }: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const text = textType(kind);
  await schema
    .createTable('leases')
    .addColumn('name', text, (column) => column.primaryKey())
    .addColumn('owner', text, (column) => column.notNull())
    .addColumn('data', text, (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute();
  await schema
    .createTable('box_facts')
    .addColumn('name', text, (column) => column.primaryKey())
    .addColumn('value', text, (column) => column.notNull())
    .execute();
}

/** Sorted by bytes on both databases, so that pages and prefixes do not depend on the locale of a server. */
function textType(kind: DatabaseKind) {
  return kind === 'postgres' ? sql`text collate "C"` : ('text' as const);
}
