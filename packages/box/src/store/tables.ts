/** The tables, as Kysely sees them. Times are ISO 8601 text in UTC; JSON is text; both databases agree on that. */

import type { Generated } from 'kysely';

export interface Tables {
  api_keys: ApiKeyRow;
  sign_in_codes: SignInCodeRow;
  tenants: TenantRow;
  tenant_usage: TenantUsageRow;
  skills: SkillRow;
  executions: ExecutionRow;
  execution_files: ExecutionFileRow;
  idempotency_keys: IdempotencyRow;
  events: EventRow;
  leases: LeaseRow;
  box_facts: BoxFactRow;
  templates: TemplateRow;
  sandboxes: SandboxRow;
  sandbox_labels: SandboxLabelRow;
  snapshots: SnapshotRow;
  program_limits: ProgramLimitRow;
  dependency_builds: DependencyBuildRow;
  credit_balances: CreditBalanceRow;
  credit_entries: CreditEntryRow;
  credit_meters: CreditMeterRow;
  secrets: SecretRow;
  webhooks: WebhookRow;
  webhook_cursors: WebhookCursorRow;
  webhook_deliveries: WebhookDeliveryRow;
}

export interface ApiKeyRow {
  id: string;
  hash: string;
  name: string;
  tenant: string;
  actor: string;
  scopes: string;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
  /** The key that a person signed in with to get this one. */
  parent: string | null;
}

/** Good once: exchanging one deletes it. */
export interface SignInCodeRow {
  hash: string;
  /** The key it stands for. */
  key_id: string;
  scopes: string;
  expires_at: string;
}

/** Limits set over the API; what the manifest declares is not stored. */
export interface TenantRow {
  name: string;
  limits: string;
  updated_at: string;
}

/** Bytes of skills, artifacts and logs; kept in the transactions that store them. */
export interface TenantUsageRow {
  tenant: string;
  bytes: number;
}

export interface SkillRow {
  tenant: string;
  name: string;
  version: string;
  description: string;
  mode: string;
  lang: string | null;
  digest: string;
  /** Blob of the canonical zip. */
  archive: string;
  size: number;
  /** JSON of the parsed front matter, see skills/format.ts. */
  definition: string;
  instructions: string;
  /** JSON array of {path, size}. */
  files: string;
  /** What it declares as dependencies: the kind, and the SHA-256 of the files that say which. Null when nothing. */
  lock: string | null;
  created_at: string;
  created_by: string;
}

/** What a lock became with one interpreter and one index. */
export interface DependencyBuildRow {
  tenant: string;
  /** SHA-256 of everything it depends on, see skills/dependencies/toolchain.ts. */
  key: string;
  /** As in skills. */
  lock: string;
  state: string;
  /** Grows with every start, so that a builder which was given up cannot write any more. */
  attempt: number;
  /** How often its host went away while it was built. */
  restarts: number;
  log: string;
  error: string | null;
  /** Blob of the tree, a tar.gz. */
  blob: string | null;
  /** Bytes of the blob, which count as the tenant's. */
  packed: number;
  /** Unpacked. */
  size: number | null;
  files: number | null;
  host: string;
  actor: string;
  created_at: string;
  started_at: string;
  finished_at: string | null;
  /** Exact to an hour. */
  used_at: string;
}

export interface ExecutionRow {
  id: string;
  tenant: string;
  skill_name: string;
  skill_version: string;
  status: string;
  /** JSON of the request's input. */
  input: string;
  /** What a queued execution still needs to start: encrypted env, input file blobs, limits. Cleared when it ends. */
  request: string | null;
  output: string | null;
  /** JSON of the log's entries when short, else `blob:` and its digest; null while running or when empty. */
  log: string | null;
  log_size: number;
  error: string | null;
  exit_code: number | null;
  signal: string | null;
  queued_ms: number;
  duration_ms: number | null;
  peak_memory_bytes: number | null;
  cpu_ms: number | null;
  /** JSON of its timings. */
  timings: string | null;
  /** 1 when a sandbox that stood ready served it. */
  warm: number | null;
  provider: string | null;
  /** Host that owns it: the one that accepted it, or took it over. */
  host: string;
  cancel_requested: number;
  actor: string;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
}

export interface ExecutionFileRow {
  execution_id: string;
  tenant: string;
  path: string;
  size: number;
  digest: string;
}

export interface IdempotencyRow {
  tenant: string;
  key: string;
  request_hash: string;
  execution_id: string;
  created_at: string;
}

export interface EventRow {
  seq: Generated<number>;
  id: string;
  time: string;
  tenant: string;
  actor_kind: string;
  actor_id: string;
  host: string;
  subject_type: string;
  subject_id: string;
  type: string;
  data: string;
}

export interface LeaseRow {
  name: string;
  owner: string;
  /** JSON the owner publishes, such as its address. */
  data: string;
  /** Milliseconds since the epoch, by the database's clock. */
  expires_at: number;
}

/** Facts all hosts of a box must agree on, such as the fingerprint of the secret key. */
export interface BoxFactRow {
  name: string;
  value: string;
}

/** Made over the API; what is built in or declared in the manifest is not stored. */
export interface TemplateRow {
  name: string;
  version: number;
  /** JSON of the template, see protocol. */
  definition: string;
  created_at: string;
  created_by: string;
}

export interface SandboxRow {
  id: string;
  tenant: string;
  state: string;
  /** name@version. */
  template_name: string;
  /** JSON of the template as it was then. */
  template: string;
  provider: string | null;
  tier: string | null;
  /** JSON of the provider's own; null until it is provisioned. */
  ref: string | null;
  /** Host that owns it. */
  host: string;
  /** JSON; the same as in sandbox_labels, which is for searching. */
  labels: string;
  /** Sealed: env and inputs, which may hold secrets. */
  request: string;
  /** JSON; null: as its template says. */
  network: string | null;
  /** JSON array of the snapshots its disk may stand on. */
  lineage: string;
  /** JSON of where its first disk came from; null: from its template. */
  origin: string | null;
  on_idle: string;
  idle_ms: number | null;
  on_expiry: string;
  created_at: string;
  ready_at: string | null;
  expires_at: string | null;
  /** Exact to a few seconds. */
  last_used_at: string | null;
  ended_at: string | null;
  reason: string | null;
  /** asked, idle or expired while it is paused. */
  pause_cause: string | null;
  /** JSON of why each candidate was taken or passed over. */
  route: string;
  actor: string;
}

/** A program that is to be ended, whatever becomes of the server. */
export interface ProgramLimitRow {
  sandbox: string;
  program: number;
  /** Milliseconds since the epoch. */
  kill_at: number;
}

export interface SandboxLabelRow {
  sandbox: string;
  name: string;
  value: string;
}

export interface SnapshotRow {
  id: string;
  tenant: string;
  sandbox: string;
  name: string | null;
  template_name: string;
  template: string;
  provider: string;
  host: string;
  /** JSON array of the snapshots below it. */
  lineage: string;
  /** 1: of a fork, or removed by its owner; goes when nothing stands on it. */
  hidden: number;
  created_at: string;
}

/** Amounts are whole millionths of a credit. The sums of the entries, kept in the transactions that append them; neither can be negative. */
export interface CreditBalanceRow {
  tenant: string;
  available: number;
  held: number;
}

/** Only ever appended. */
export interface CreditEntryRow {
  seq: Generated<number>;
  tenant: string;
  kind: string;
  amount: number;
  sandbox: string | null;
  /** What it is for, once per tenant: a second entry for the same hour of the same sandbox cannot be. */
  key: string;
  note: string | null;
  actor: string;
  created_at: string;
}

/** What one life of a priced sandbox has cost so far. */
export interface CreditMeterRow {
  sandbox: string;
  /** Which life: one that is made again after its end has another. */
  life: number;
  tenant: string;
  price_per_hour: number;
  /** Milliseconds since the epoch. */
  started_at: number;
  /** Up to here the hold pays. */
  paid_until: number;
  /** Number of the hold that is open. */
  period: number;
  held: number;
  settled: number;
  closed_at: string | null;
}

/** Named secrets of tenants, see vault/. */
export interface SecretRow {
  tenant: string;
  name: string;
  /** Sealed for this tenant and name: in another row it does not open. */
  sealed: string;
  created_at: string;
  updated_at: string;
  /** Who set the value. */
  actor: string;
}

/** Made over the API; what the manifest declares is not stored. */
export interface WebhookRow {
  tenant: string;
  name: string;
  url: string;
  /** JSON array of patterns. */
  events: string;
  /** Sealed. */
  secret: string;
  created_at: string;
  created_by: string;
}

/** How far the events were looked at for a webhook, and how its hub does. */
export interface WebhookCursorRow {
  /** tenant/name; of the manifest: /name. */
  hook: string;
  position: number;
  away_since: string | null;
}

/** An event that a webhook wants. What the event is stands in events. */
export interface WebhookDeliveryRow {
  hook: string;
  seq: number;
  /** type:id; its deliveries go one after the other. */
  subject: string;
  state: Generated<string>;
  attempts: Generated<number>;
  /** Milliseconds since the epoch, by the database's clock. */
  next_at: Generated<number>;
  /** The same; null until it fails, and again when its hub is back. */
  failing_since: number | null;
  status: number | null;
  error: string | null;
  finished_at: string | null;
}
