/** Made from the schemas of the box by scripts/generate-docs.ts. Do not edit: run make docs. */

export interface Page<T> {
  items: T[];
  /** null on the last page */
  next_cursor: string | null;
}

export interface ApiKey {
  /** Id of the key (not the key) */
  id: string;
  name: string;
  /** Tenant */
  tenant: string;
  /** Who acts: adm a person, agt an agent, atm automation */
  actor: 'adm' | 'agt' | 'atm';
  scopes: ('skills:read' | 'skills:write' | 'executions:read' | 'executions:run' | 'sandboxes:read' | 'sandboxes:use' | 'secrets:manage' | 'graph:read' | 'graph:use' | 'admin')[];
  /** Time in ISO 8601, UTC */
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  /** Exact to a minute */
  last_used_at: string | null;
  /** The key that this one was signed in with, and ends with; null for one that was made */
  parent: string | null;
}

export interface Artifact {
  path: string;
  size: number;
  sha256: string;
}

export interface ArtifactStatus {
  id: string;
  /** Overlay that declares it; null: the box itself */
  client: string | null;
  /** Empty: always */
  profiles: string[];
  required: boolean;
  notes: string | null;
  /** As the workspace sees it; the path of the host for what the workspace does not see */
  path: string;
  host_path: string;
  /** present: there, with nothing to compare to */
  state: 'ok' | 'missing' | 'stale' | 'present';
}

export interface Attention {
  severity: 'error' | 'warning';
  /** What it is about, such as service:web */
  subject: string;
  message: string;
  /** The command that mends it or shows more */
  fix: string | null;
}

export interface BootstrapReport {
  ok: boolean;
  sync: SyncReport;
  tasks: TaskOutcome[];
}

export interface BoxModel {
  name: string;
  version: string;
  purpose: string | null;
  runtime: {
    mode: string;
    agent_user: string;
    provider: string;
    network: string;
  };
  ports: Record<string, number>;
  paths: {
    variable: string;
    path: string;
    host_path: string;
  }[];
  manifest: string | null;
  state_root: string;
  clients: string[];
  /** All that the manifest and the overlays name */
  profiles: string[];
}

export interface BridgeStatus {
  id: string;
  /** Overlay that declares it; null: the box itself */
  client: string | null;
  /** Empty: always */
  profiles: string[];
  required: boolean;
  notes: string | null;
  state: 'fresh' | 'stale' | 'missing';
  outputs: {
    /** As the workspace sees it; the path of the host for what the workspace does not see */
    path: string;
    host_path: string;
    present: boolean;
  }[];
}

export interface CanaryRun {
  /** Time in ISO 8601, UTC */
  time: string;
  ok: boolean;
  /** How long each step took, as far as it came */
  steps: {
    step: 'create' | 'exec' | 'destroy';
    ms: number;
  }[];
  error: string | null;
}

export interface CheckStatus {
  id: string;
  /** Overlay that declares it; null: the box itself */
  client: string | null;
  /** Empty: always */
  profiles: string[];
  required: boolean;
  notes: string | null;
  state: 'ok' | 'fail';
  detail: string;
}

export interface ContextReport {
  client: string | null;
  files: {
    path: string;
    changed: boolean;
  }[];
  bytes: number;
}

export interface CreateSandbox {
  /** Default: the canary */
  template?: string;
  /** Names and values of your own */
  labels?: Record<string, string>;
  /** Variables of every program in it */
  env?: Record<string, string>;
  /** Time until it ends; at most the template’s maximum */
  ttl?: string | number;
  on_expiry?: 'destroy' | 'pause';
  /** Start from this disk */
  snapshot?: string;
  /** Default: what the template says */
  network?: NetworkChoice;
  /** What the template asks for */
  inputs?: Record<string, unknown>;
}

export interface CreatedApiKey {
  /** Id of the key (not the key) */
  id: string;
  name: string;
  /** Tenant */
  tenant: string;
  /** Who acts: adm a person, agt an agent, atm automation */
  actor: 'adm' | 'agt' | 'atm';
  scopes: ('skills:read' | 'skills:write' | 'executions:read' | 'executions:run' | 'sandboxes:read' | 'sandboxes:use' | 'secrets:manage' | 'graph:read' | 'graph:use' | 'admin')[];
  /** Time in ISO 8601, UTC */
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  /** Exact to a minute */
  last_used_at: string | null;
  /** The key that this one was signed in with, and ends with; null for one that was made */
  parent: string | null;
  /** The key itself; shown this once */
  key: string;
}

export interface CreatedWebhook {
  /** Name of the webhook */
  name: string;
  /** Whose events it gets; null: those of all tenants, as the manifest declares */
  tenant: string | null;
  url: string;
  events: string[];
  source: 'api' | 'manifest';
  /** null for those of the manifest */
  created_at: string | null;
  /** failing: the oldest delivery was refused; away: the hub does not answer, and is asked now and then */
  state: 'ok' | 'failing' | 'away';
  /** Since when it fails or is away */
  since: string | null;
  /** What the last failure was */
  error: string | null;
  /** Deliveries that wait */
  pending: number;
  /** Deliveries that were given up; skillbox webhook retry sends them again */
  dead: number;
  /** Events of the box that were not looked at yet for this webhook */
  events_behind: number;
  /** Key that signs deliveries. It is in this answer and nowhere else */
  secret: string;
}

export interface CredentialRule {
  host: string;
  scheme: 'https' | 'http';
  port: number;
  header: string;
  /** Text of the header; ${secret} stands for the value of the secret */
  value: string;
  /** Name of a secret of the tenant; default/NAME is one of the operator */
  secret: string;
}

export interface CreditBalance {
  /** Tenant */
  tenant: string;
  /** What new sandboxes can be paid with */
  available: number;
  /** Set aside for sandboxes that live */
  held: number;
  /** Settled so far */
  spent: number;
  /** available + held + spent */
  granted: number;
}

export interface CreditEntry {
  /** Order in the ledger */
  seq: number;
  /** Time in ISO 8601, UTC */
  time: string;
  /** Tenant */
  tenant: string;
  /** grant: added; hold: set aside; settle: spent of what was held; release: held no longer */
  kind: 'grant' | 'hold' | 'settle' | 'release';
  amount: number;
  sandbox: string | null;
  note: string | null;
  actor: string;
}

export interface DownReport {
  ok: boolean;
  dry_run: boolean;
  services: ServiceOutcome[];
}

/** example.com, *.example.com (names below it), * (any name), 192.0.2.7; with :port, or as an object */
export type EgressRule = string | {
  /** As the text form, without a port */
  host: string;
  /** Default: 80 and 443 */
  ports?: number[];
  /** Only these; over https only where network.tls is true */
  methods?: string[];
  /** Only these; over https only where network.tls is true. /v1/* is a beginning */
  paths?: string[];
};

export interface EnvFileStatus {
  id: string;
  /** Overlay that declares it; null: the box itself */
  client: string | null;
  /** Empty: always */
  profiles: string[];
  required: boolean;
  notes: string | null;
  /** As the workspace sees it; the path of the host for what the workspace does not see */
  path: string;
  host_path: string;
  repo: string | null;
  state: 'ok' | 'missing' | 'stale' | 'source-missing';
}

export interface ErrorBody {
  /** Stable code */
  error: string;
  message: string;
  hint?: string;
  details?: unknown;
  request_id: string;
}

export type ErrorCode = 'LOCAL_RUNTIME_COVERAGE_GAP' | 'LOCAL_RUNTIME_ENV_BRIDGE_FAILED' | 'LOCAL_RUNTIME_ENV_OUTPUT_MISSING' | 'LOCAL_RUNTIME_MODE_UNSUPPORTED' | 'LOCAL_RUNTIME_PROFILE_UNKNOWN' | 'LOCAL_RUNTIME_SERVICE_DEFERRED' | 'LOCAL_RUNTIME_START_BLOCKED' | 'SKILL_CONFIG_INVALID' | 'SKILL_EXTRA_INSTALLED' | 'SKILL_INSTALL_STALE' | 'SKILL_NOT_FOUND_IN_REPO' | 'SKILL_NOT_INSTALLED' | 'SKILL_REPO_CLONE_FAILED' | 'SKILL_REPO_DIRTY' | 'SKILL_REPO_UNREACHABLE' | 'already_exists' | 'already_finished' | 'already_running' | 'artifact_too_large' | 'bad_request' | 'cancelled' | 'capability_missing' | 'client_not_found' | 'command_missing' | 'config_invalid' | 'declared_in_manifest' | 'dependencies_building' | 'dependencies_failed' | 'doctor_failed' | 'exit_nonzero' | 'forbidden' | 'graph_busy' | 'graph_invalid' | 'graph_item_not_found' | 'idempotency_conflict' | 'image_unsupported' | 'insufficient_credits' | 'internal' | 'interrupted' | 'invalid_cursor' | 'invalid_env' | 'invalid_input' | 'invalid_json' | 'invalid_skill' | 'invalid_state' | 'invalid_template' | 'killed_by_signal' | 'link_expired' | 'lint_failed' | 'manifest_invalid' | 'memory_exceeded' | 'method_not_allowed' | 'needs_input' | 'no_provider' | 'not_acceptable' | 'not_executable' | 'not_finished' | 'not_found' | 'nothing_listens' | 'on_another_host' | 'output_invalid' | 'output_schema_mismatch' | 'output_too_large' | 'overloaded' | 'port_in_use' | 'queue_full' | 'queue_timeout' | 'quota_exceeded' | 'rate_limited' | 'sandbox_failed' | 'sandbox_limit' | 'sandbox_unavailable' | 'secret_missing' | 'security_scan_failed' | 'service_failed' | 'session_not_found' | 'session_state_conflict' | 'shutting_down' | 'sign_in_expired' | 'skill_not_found' | 'start_failed' | 'sync_failed' | 'task_failed' | 'template_not_found' | 'tenant_mismatch' | 'timeout' | 'too_large' | 'too_many_artifacts' | 'unauthorized' | 'unavailable' | 'unreachable' | 'unsupported_media_type' | 'usage' | 'version_conflict';

export interface BoxEvent {
  /** Position in the box; grows, may have gaps */
  seq: number;
  /** Unique id */
  id: string;
  /** Time in ISO 8601, UTC */
  time: string;
  /** Tenant */
  tenant: string;
  /** Who caused it */
  actor: {
    /** Who acts: adm a person, agt an agent, atm automation */
    kind: 'adm' | 'agt' | 'atm';
    id: string;
  };
  /** Host that recorded it */
  host: string;
  /** What it is about */
  subject: {
    type: string;
    id: string;
  };
  /** What happened, such as execution.finished */
  type: string;
  /** The particulars */
  data: Record<string, unknown>;
}

export interface Execution {
  /** Id of the execution */
  execution_id: string;
  /** Name of the skill */
  skill_name: string;
  /** Semantic version of the skill */
  skill_version: string;
  /** Tenant */
  tenant_id: string;
  status: 'queued' | 'running' | 'success' | 'failed' | 'timeout' | 'cancelled';
  input: unknown;
  /** What the skill wrote to SANDBOX_OUTPUT; null when it wrote nothing */
  output: unknown;
  /** stdout and stderr in order, cut with a mark when too long */
  logs: string;
  files_list: Artifact[];
  /** Link to all artifacts as tar.gz, good for an hour without a key; made when read */
  files_url: string | null;
  error: {
    code: string;
    message: string;
    details?: unknown;
  } | null;
  exit_code: number | null;
  signal: string | null;
  /** Time spent waiting for a slot */
  queued_ms: number;
  /** Time of the run itself, without the queue */
  duration_ms: number | null;
  /** null until it has ended, and when the server that ran it is gone */
  timings: ExecutionTimings | null;
  /** Whether a sandbox that stood ready served it; null when it got none */
  warm: boolean | null;
  peak_memory_bytes: number | null;
  cpu_ms: number | null;
  provider: string | null;
  host: string | null;
  /** Time in ISO 8601, UTC */
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
}

/** event: stdout, stderr or status; id: its number, to be sent as Last-Event-ID to go on from there */
export interface ExecutionEvent {
  /** Time in ISO 8601, UTC */
  time: string;
  text: string;
}

export interface ExecutionFigures {
  /** Time in ISO 8601, UTC */
  since: string;
  /** Time in ISO 8601, UTC */
  until: string;
  /** Length of a point in time */
  step_seconds: number;
  /** false: so much ran that only the newest part of the time was counted */
  complete: boolean;
  /** That run now */
  running: number;
  /** That wait now */
  queued: number;
  /** By when they were created; failed includes timeout, other is cancelled or not ended; times without any are left out */
  points: {
    /** Time in ISO 8601, UTC */
    time: string;
    success: number;
    failed: number;
    other: number;
  }[];
  /** The newest ones, of which the times below are */
  sampled: number;
  /** All phases together; null when none has ended */
  total: Spread | null;
  /** Those that were reached */
  phases: {
    p50: number;
    p95: number;
    phase: 'queue' | 'claim' | 'sandbox' | 'run' | 'collect' | 'record';
  }[];
  /** Share that a sandbox that stood ready served */
  warm: number | null;
  /** Most frequent first */
  errors: {
    code: string;
    count: number;
  }[];
  /** Most used first */
  skills: {
    /** Name of the skill */
    skill: string;
    runs: number;
    failed: number;
    total: Spread | null;
    /** Time in ISO 8601, UTC */
    last_at: string;
  }[];
}

export interface ExecutionRequest {
  /** Name of the skill */
  skill: string;
  /** A version, or latest: the highest one, pre-releases only when there is nothing else */
  version?: string;
  /** Any JSON; the skill finds it in /sandbox/input.json and SANDBOX_INPUT. Default {} */
  input?: unknown;
  /** Extra environment variables */
  env?: Record<string, string>;
  /** Input files, path to contents; the skill finds them under SANDBOX_INPUT_DIR */
  files?: Record<string, string>;
  /** Time limit of the run: seconds, or a text such as 90s or 2m; cut to the server maximum */
  timeout?: string | number;
  /** true: answer with the finished record; false: 202 at once */
  wait?: boolean;
}

export interface ExecutionSummary {
  /** Id of the execution */
  execution_id: string;
  /** Name of the skill */
  skill_name: string;
  /** Semantic version of the skill */
  skill_version: string;
  /** Tenant */
  tenant_id: string;
  status: 'queued' | 'running' | 'success' | 'failed' | 'timeout' | 'cancelled';
  error: {
    code: string;
    message: string;
    details?: unknown;
  } | null;
  exit_code: number | null;
  signal: string | null;
  /** Time spent waiting for a slot */
  queued_ms: number;
  /** Time of the run itself, without the queue */
  duration_ms: number | null;
  /** null until it has ended, and when the server that ran it is gone */
  timings: ExecutionTimings | null;
  /** Whether a sandbox that stood ready served it; null when it got none */
  warm: boolean | null;
  peak_memory_bytes: number | null;
  cpu_ms: number | null;
  provider: string | null;
  host: string | null;
  /** Time in ISO 8601, UTC */
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
}

/** Where the time went, in milliseconds to the microsecond; null for a phase that was not reached. What comes after the commit is in the header Server-Timing of the answer and in /metrics */
export interface ExecutionTimings {
  /** Waiting for a slot, and for dependencies that are being installed */
  queue: number;
  /** Finding the skill, checking the input, writing the row that accepts it */
  claim: number | null;
  /** Getting a sandbox: one that stood ready, or a new one until its program can start */
  sandbox: number | null;
  /** The program, from its job to its exit */
  run: number | null;
  /** Fetching output and artifacts, storing them, checking the output */
  collect: number | null;
  /** Writing the end, up to its commit */
  record: number | null;
}

export interface FileEntry {
  path: string;
  kind: 'file' | 'directory' | 'symlink' | 'other';
  size: number;
  mode: number;
  /** Time in ISO 8601, UTC */
  modified_at: string;
  target?: string;
}

export interface FocusReport {
  ok: boolean;
  client: string;
  profiles: string[];
  resumed: boolean;
  /** Time in ISO 8601, UTC */
  focused_at: string;
  steps: {
    step: 'sync' | 'bootstrap' | 'up' | 'collect' | 'context' | 'persist';
    result: 'done' | 'unchanged' | 'failed' | 'skipped';
    duration_ms: number;
    detail: string | null;
  }[];
  attention: Attention[];
  services: ServiceStatus[];
  repos: RepoState[];
  /** Of late, from logs */
  errors: {
    log: string;
    line: string;
  }[];
  activity: RuntimeActivity[];
  /** Those that are open */
  sessions: string[];
  /** Files that agents read */
  context: string[];
}

export interface GraphAction {
  section: 'repos' | 'artifacts' | 'env_files' | 'skills' | 'tasks' | 'services' | 'logs' | 'checks' | 'bridges' | 'parity_ledger' | 'context';
  id: string;
  /** Such as clone, fetch, download, copy, write, install, mkdir, expire */
  action: string;
  result: 'done' | 'unchanged' | 'planned' | 'skipped' | 'failed';
  path: string | null;
  detail: string | null;
  error: {
    error: string;
    message: string;
    hint: string;
  } | null;
}

export interface GraphCheck {
  name: string;
  /** Of the registry of errors */
  code: string | null;
  state: 'ok' | 'warn' | 'fail';
  detail: string;
  fix: string | null;
}

export interface GraphExamination {
  healthy: boolean;
  checks: GraphCheck[];
}

export interface Health {
  /** degraded: the box runs, and something an operator accepted or should mend is missing */
  status: 'ok' | 'degraded';
  version: string;
  host: string;
  /** Layers of the sandbox this host lacks and the manifest accepts */
  missing_layers: string[];
}

export interface HostCheck {
  name: string;
  /** missing: the box cannot do its work; warn: it can, but look at it */
  state: 'ok' | 'warn' | 'missing';
  detail: string;
  /** The line that mends it */
  fix?: string;
}

export interface HostExamination {
  /** Nothing is missing */
  healthy: boolean;
  checks: HostCheck[];
}

export interface HostReport {
  host: string;
  version: string;
  cpus: number;
  /** Share of all processors that was busy in the last seconds */
  cpu_used: number;
  /** Programs that ran or wanted to, over 1, 5 and 15 minutes */
  load: number[];
  memory: {
    total_bytes: number;
    free_bytes: number;
  };
  /** Where the state root is */
  disk: {
    total_bytes: number;
    free_bytes: number;
  };
  /** Of this host, by state */
  sandboxes: Record<string, number>;
  /** Sandboxes made ready ahead */
  warm: {
    /** SKILLBOX_WARM_MEMORY, for both */
    budget_bytes: number;
    /** For runs of skills */
    executions: {
      /** That stand ready now */
      ready: number;
      /** That the demand of late asks for */
      wanted: number;
      pools: number;
      memory_bytes: number;
      /** Since the start */
      served: number;
      /** Since the start: none was ready */
      missed: number;
    };
    /** For creates of living sandboxes */
    sandboxes: {
      /** That stand ready now */
      ready: number;
      /** That the demand of late asks for */
      wanted: number;
      pools: number;
      memory_bytes: number;
      /** Since the start */
      served: number;
      /** Since the start: none was ready */
      missed: number;
      templates: {
        template: string;
        /** That stand ready now */
        ready: number;
        /** That the demand of late asks for */
        wanted: number;
      }[];
    };
  };
  providers: {
    name: string;
    tier: string;
    healthy: boolean;
    detail: string;
  }[];
  /** The last run here; null before the first */
  canary: CanaryRun | null;
  /** Those of the box whose hub refuses or does not answer, or that gave up deliveries */
  webhooks: Webhook[];
}

export interface LastFocus {
  ok: boolean;
  client: string;
  /** As they were asked for, core aside */
  profiles: string[];
  /** Those that were named; empty: all */
  services: string[];
  /** reuse: with the local state there is; prod: the way that is backed by production; fresh: from a reset */
  mode: 'reuse' | 'prod' | 'fresh';
  /** Time in ISO 8601, UTC */
  focused_at: string;
  steps: {
    step: 'sync' | 'bootstrap' | 'up' | 'collect' | 'context' | 'persist';
    result: 'done' | 'unchanged' | 'failed' | 'skipped';
    duration_ms: number;
    detail: string | null;
  }[];
  repos: RepoState[];
  /** Of late, from logs */
  errors: {
    log: string;
    line: string;
  }[];
  activity: RuntimeActivity[];
  /** Those that are open */
  sessions: string[];
  /** Files that agents read */
  context: string[];
}

export interface LedgerEntry {
  legacy_surface: string;
  client: string | null;
  surface_type: 'service' | 'env_target' | 'helper' | 'flag';
  action: 'declare' | 'bridge' | 'build' | 'drop';
  ownership_state: 'covered' | 'bridge-only' | 'deferred' | 'external';
  intended_profiles: string[];
  bridge_dependency: string | null;
  request_error: string | null;
}

export interface LintFinding {
  severity: 'error' | 'warning';
  code: string;
  file: string;
  line: number;
  message: string;
  fix: string;
}

export interface LogStatus {
  id: string;
  /** Overlay that declares it; null: the box itself */
  client: string | null;
  /** Empty: always */
  profiles: string[];
  required: boolean;
  notes: string | null;
  /** As the workspace sees it; the path of the host for what the workspace does not see */
  path: string;
  host_path: string;
  retention_days: number | null;
  state: 'ok' | 'missing';
  bytes: number;
}

export interface NetworkChoice {
  /** none, or allow: what the list names, through the box */
  mode: 'none' | 'allow';
  /** Default with mode allow: what the template allows */
  allow?: EgressRule[];
}

export interface PreviewLink {
  url: string;
  /** Time in ISO 8601, UTC */
  expires_at: string;
}

export interface Program {
  program_id: number;
  pid: number;
  argv: string[];
  cwd: string;
  tag: string;
  /** Time in ISO 8601, UTC */
  started_at: string;
  ended: boolean;
  exit_code: number | null;
  signal: string | null;
  /** Number of its last output so far */
  last_event: number;
}

/** event: stdout or stderr with text or base64, pty with base64, lost when output before a number is gone, end with exit_code and signal, error when the sandbox went away; id: to be sent as Last-Event-ID to go on from there */
export interface ProgramEvent {
  text?: string;
  base64?: string;
  before?: number;
  exit_code?: number | null;
  signal?: string | null;
  error?: string;
  message?: string;
}

export interface ProgramResult {
  program_id: number;
  pid: number;
  ended: boolean;
  exit_code: number | null;
  signal: string | null;
  /** What a terminal shows, for a program that has one */
  stdout: string;
  stderr: string;
  timed_out: boolean;
}

export interface PulseStatus {
  running: boolean;
  pid: number | null;
  updated_at: string | null;
  /** Seconds between two whole looks; a process that ends is seen at once */
  interval: number;
  auto_restart: boolean;
  cycle_count: number;
  heals: number;
  events_emitted: number;
  config_hash: string | null;
  service_states: Record<string, string>;
  check_states: Record<string, string>;
  /** Services that fell too often; up or restart tries them again */
  given_up: string[];
  /** Services that wait for their next start */
  next_attempts: Record<string, string>;
}

export interface PushedSkill {
  /** Name of the skill */
  name: string;
  /** Semantic version of the skill */
  version: string;
  description: string;
  /** executable: has an entrypoint; cognitive: instructions only */
  mode: 'executable' | 'cognitive';
  lang: 'python' | 'node' | 'bash' | null;
  /** Time in ISO 8601, UTC */
  created_at: string;
  /** null when it declares none */
  dependencies: SkillDependencies | null;
  /** Path of the program inside the skill */
  entrypoint: string | null;
  image: string | null;
  timeout_ms: number | null;
  resources: {
    cpu: number | null;
    memory_bytes: number | null;
  };
  /** Modules that are imported before a job comes */
  preload: string[];
  env: Record<string, string>;
  input_schema: Record<string, unknown> | null;
  output_schema: Record<string, unknown> | null;
  license: string | null;
  metadata: Record<string, unknown>;
  /** The Markdown body of SKILL.md */
  instructions: string;
  /** SHA-256 over the paths, modes and contents of its files */
  digest: string;
  /** Unpacked bytes */
  size: number;
  files: SkillFile[];
  /** false when exactly this content was there already */
  created: boolean;
  warnings: LintFinding[];
}

export interface Readiness {
  status: 'ok' | 'unavailable';
  /** ok, or what is wrong */
  checks: Record<string, string>;
}

export interface RenderedGraph {
  client: string | null;
  profiles: string[];
  /** Sections with their items, placeholders filled in */
  graph: Record<string, unknown>;
  /** What ${NAME} stands for; secrets are never among them */
  variables: Record<string, string>;
  /** With why: the file and line of each value */
  why: {
    /** Such as services.web.command */
    path: string;
    file: string;
    line: number;
  }[];
}

export interface RepoState {
  id: string;
  path: string;
  branch: string | null;
  dirty: number | null;
  last_commit: string | null;
}

export interface RepoStatus {
  id: string;
  /** Overlay that declares it; null: the box itself */
  client: string | null;
  /** Empty: always */
  profiles: string[];
  required: boolean;
  notes: string | null;
  /** As the workspace sees it; the path of the host for what the workspace does not see */
  path: string;
  host_path: string;
  source: 'bind' | 'directory' | 'git' | 'manual';
  /** dirty: local changes; behind: the last sync fetched more */
  state: 'ok' | 'missing' | 'dirty' | 'behind' | 'unknown';
  branch: string | null;
  commit: string | null;
  /** Why its state is unknown */
  detail: string | null;
}

export interface RouteExplanation {
  /** Exactly what would be made: name@version */
  template: string;
  price_per_hour: number;
  /** Candidates in order; taken: this one would make it now */
  route: {
    provider: string;
    taken: boolean;
    reason: string;
  }[];
}

export interface RuntimeActivity {
  /** Time in ISO 8601, UTC */
  time: string;
  type: string;
  subject: string;
  data: Record<string, unknown>;
}

export interface RuntimeStatus {
  client: string | null;
  profiles: string[];
  /** Overlays there are */
  clients: string[];
  /** Nothing needs attention */
  healthy: boolean;
  config_hash: string;
  repos: RepoStatus[];
  artifacts: ArtifactStatus[];
  env_files: EnvFileStatus[];
  skills: SkillSetStatus[];
  tasks: TaskStatus[];
  services: ServiceStatus[];
  logs: LogStatus[];
  checks: CheckStatus[];
  bridges: BridgeStatus[];
  parity_ledger: LedgerEntry[];
  connectors: string[];
  pulse: PulseStatus;
  /** What was focused last, whichever client is selected, and what was found then; null: nothing yet */
  focus: LastFocus | null;
  attention: Attention[];
}

export interface Sandbox {
  /** Id of the sandbox */
  id: string;
  /** Tenant */
  tenant: string;
  state: 'requested' | 'provisioning' | 'ready' | 'paused' | 'destroying' | 'destroyed' | 'failed';
  /** Exactly what it was made from: name@version */
  template: string;
  provider: string | null;
  /** How strong the walls of its provider are */
  tier: string | null;
  /** Host that owns it */
  host: string;
  /** Whose disk it began with; null: that of its template */
  origin: {
    /** Id of the sandbox */
    sandbox: string;
    /** null: it was forked */
    snapshot: string | null;
  } | null;
  /** Names and values of your own */
  labels: Record<string, string>;
  network: 'none' | 'allow' | 'full';
  /** What it reaches with network allow */
  network_allow: EgressRule[];
  limits: {
    memory_bytes: number;
    cpu: number;
    processes: number;
    disk_bytes: number;
  };
  /** What happens when nothing uses it for idle_ms */
  on_idle: 'destroy' | 'pause' | 'keep';
  idle_ms: number | null;
  on_expiry: 'destroy' | 'pause';
  /** Time in ISO 8601, UTC */
  created_at: string;
  ready_at: string | null;
  expires_at: string | null;
  ended_at: string | null;
  /** Why it is in this state */
  reason: string | null;
  /** Why it is paused: somebody asked, nothing used it, or its time was over */
  pause_cause: 'asked' | 'idle' | 'expired' | null;
  /** Why each candidate was taken or passed over */
  route: {
    provider: string;
    taken: boolean;
    reason: string;
  }[];
  /** Servers that are in it from the start */
  endpoints: {
    service: string;
    /** Its number for previews */
    port: number;
    /** Path of the box that leads to it */
    preview: string;
    /** A line for the shell of who may log in to its host, that reaches it without the box */
    tunnel: string | null;
  }[];
}

export interface SandboxMetrics {
  now: SandboxUsage;
  history: SandboxUsage[];
}

export interface SandboxUsage {
  /** Time in ISO 8601, UTC */
  time: string;
  /** CPU time since it was last started */
  cpu_ms: number;
  memory_bytes: number;
  memory_limit_bytes: number;
  disk_bytes: number;
  disk_limit_bytes: number;
  processes: number;
}

export interface Secret {
  /** Name of the secret */
  name: string;
  /** Time in ISO 8601, UTC */
  created_at: string;
  /** When its value was set last */
  updated_at: string;
  /** Who set it: kind and id of the key */
  updated_by: string;
}

export interface ServiceLog {
  service: string;
  path: string;
  lines: string[];
}

export interface ServiceLogLine {
  service: string;
  line: string;
}

export interface ServiceLogs {
  items: ServiceLog[];
}

export interface ServiceOutcome {
  id: string;
  result: 'started' | 'already-running' | 'failed' | 'timeout' | 'skipped' | 'dry-run' | 'stopped' | 'killed' | 'stuck' | 'external' | 'not-running';
  pid: number | null;
  duration_ms: number;
  detail: string | null;
  error: {
    error: string;
    message: string;
    hint: string;
  } | null;
  /** Last lines of its log, where it failed */
  tail: string[];
}

export interface ServiceStatus {
  id: string;
  /** Overlay that declares it; null: the box itself */
  client: string | null;
  /** Empty: always */
  profiles: string[];
  required: boolean;
  notes: string | null;
  kind: string;
  /** running: its process lives and its health holds; starting: lives, health not yet; down: was started and is gone or unhealthy; declared: never started or stopped; ok: managed elsewhere and healthy; idle: nothing to run; unknown: managed elsewhere, no way to tell */
  state: 'running' | 'starting' | 'down' | 'declared' | 'ok' | 'idle' | 'unknown';
  /** up asked for it and down did not since: pulse keeps it alive */
  wanted: boolean;
  pid: number | null;
  /** Sandbox it runs in; null: on the host */
  sandbox: string | null;
  /** null: no healthcheck, or nothing runs */
  healthy: boolean | null;
  mode: 'reuse' | 'prod' | 'fresh' | null;
  /** Those it supports */
  modes: ('reuse' | 'prod' | 'fresh')[];
  depends_on: string[];
  started_at: string | null;
  /** By pulse, since it was last started by hand */
  restarts: number;
  /** Path of its log on the host */
  log: string | null;
  /** Why it is not well */
  detail: string | null;
}

export interface SessionEvent {
  /** Time in ISO 8601, UTC */
  ts: string;
  type: string;
  client_id: string;
  /** Id of the session */
  session_id: string;
  detail: Record<string, unknown>;
}

export interface SignInLink {
  /** Good once; exchanged for a key at /v1/sign-in */
  code: string;
  /** The dashboard, with the code behind the #, where no server and no log sees it */
  url: string;
  /** Time in ISO 8601, UTC */
  expires_at: string;
}

export interface Skill {
  /** Name of the skill */
  name: string;
  /** Semantic version of the skill */
  version: string;
  description: string;
  /** executable: has an entrypoint; cognitive: instructions only */
  mode: 'executable' | 'cognitive';
  lang: 'python' | 'node' | 'bash' | null;
  /** Time in ISO 8601, UTC */
  created_at: string;
  /** null when it declares none */
  dependencies: SkillDependencies | null;
  /** Path of the program inside the skill */
  entrypoint: string | null;
  image: string | null;
  timeout_ms: number | null;
  resources: {
    cpu: number | null;
    memory_bytes: number | null;
  };
  /** Modules that are imported before a job comes */
  preload: string[];
  env: Record<string, string>;
  input_schema: Record<string, unknown> | null;
  output_schema: Record<string, unknown> | null;
  license: string | null;
  metadata: Record<string, unknown>;
  /** The Markdown body of SKILL.md */
  instructions: string;
  /** SHA-256 over the paths, modes and contents of its files */
  digest: string;
  /** Unpacked bytes */
  size: number;
  files: SkillFile[];
}

export interface SkillDependencies {
  /** python: requirements.txt; node: package.json with its lock file */
  kind: 'python' | 'node';
  /** building, available or failed; not_built: not with the interpreter this host has now, the next run or build starts it */
  state: 'not_built' | 'building' | 'available' | 'failed';
  /** Why it failed, in one line; the build log has the rest */
  error: string | null;
  /** Unpacked bytes */
  size_bytes: number | null;
  files: number | null;
  started_at: string | null;
  finished_at: string | null;
}

export interface SkillFile {
  path: string;
  size: number;
}

export interface SkillSetStatus {
  id: string;
  /** Overlay that declares it; null: the box itself */
  client: string | null;
  /** Empty: always */
  profiles: string[];
  required: boolean;
  notes: string | null;
  state: 'ok' | 'missing' | 'stale' | 'invalid';
  skills: {
    name: string;
    state: 'ok' | 'not-installed' | 'stale' | 'extra';
    commit: string | null;
  }[];
  detail: string | null;
}

export interface SkillSummary {
  /** Name of the skill */
  name: string;
  /** Semantic version of the skill */
  version: string;
  description: string;
  /** executable: has an entrypoint; cognitive: instructions only */
  mode: 'executable' | 'cognitive';
  lang: 'python' | 'node' | 'bash' | null;
  /** Time in ISO 8601, UTC */
  created_at: string;
  /** null when it declares none */
  dependencies: SkillDependencies | null;
}

export interface Snapshot {
  /** Id of the snapshot */
  id: string;
  /** Id of the sandbox */
  sandbox: string;
  name: string | null;
  template: string;
  /** Time in ISO 8601, UTC */
  created_at: string;
}

/** In milliseconds */
export interface Spread {
  p50: number;
  p95: number;
}

export interface StaleSandbox {
  sandbox: string;
  provider: string | null;
  /** orphan: no living record owns it; expired: its time is over; unfinished: a server stopped while it was made or ended */
  why: 'orphan' | 'expired' | 'unfinished';
  reaped: boolean;
}

export interface SyncReport {
  dry_run: boolean;
  changed: boolean;
  ok: boolean;
  actions: GraphAction[];
  duration_ms: number;
}

export interface TaskOutcome {
  id: string;
  /** ready: it was; done: it ran and its check holds now */
  result: 'ready' | 'done' | 'failed' | 'blocked' | 'dry-run';
  duration_ms: number;
  detail: string | null;
  error: {
    error: string;
    message: string;
    hint: string;
  } | null;
  /** Last lines of its log, where it failed */
  tail: string[];
}

export interface TaskStatus {
  id: string;
  /** Overlay that declares it; null: the box itself */
  client: string | null;
  /** Empty: always */
  profiles: string[];
  required: boolean;
  notes: string | null;
  /** ready: its success check holds */
  state: 'ready' | 'pending' | 'blocked';
  depends_on: string[];
  blocked_by: string[];
}

export interface Template {
  name: string;
  version: number;
  description: string;
  /** Candidates, in order */
  providers: string[];
  image: string | null;
  resources: {
    cpu: number;
    memory_bytes: number;
    disk_bytes: number;
    processes: number;
    tmp_bytes: number;
  };
  network: {
    mode: 'none' | 'allow' | 'full';
    allow: EgressRule[];
    credentials?: CredentialRule[];
    /** Whether it trusts the box, which looks into TLS where a rule needs it */
    tls?: boolean;
    /** What it finds at http://box.internal */
    internal?: ('network' | 'graph' | 'graph-read')[];
  };
  ttl: {
    default_ms: number;
    max_ms: number;
  };
  idle: {
    action: 'destroy' | 'pause' | 'keep';
    after_ms: number | null;
  };
  placement: string[];
  /** Commands run once, before it is ready */
  setup: string[];
  /** JSON Schema of the inputs */
  inputs: Record<string, unknown> | null;
  price_per_hour: number;
  /** Names and values of your own */
  labels: Record<string, string>;
  admin_only: boolean;
  /** What its provider wants to know */
  options: Record<string, unknown>;
  source: 'built-in' | 'manifest' | 'api';
}

export interface Tenant {
  /** Tenant */
  name: string;
  limits: TenantLimits;
  storage_used_bytes: number;
  /** true when the manifest declares it; then it is read-only here */
  declared: boolean;
}

export interface TenantLimits {
  /** Requests allowed per second, with bursts of twice that */
  requests_per_second: number;
  /** Executions that may run at once */
  slots: number;
  /** Bytes of skills, artifacts and logs the tenant may keep */
  storage_bytes: number;
}

export interface UpReport {
  ok: boolean;
  dry_run: boolean;
  /** reuse: with the local state there is; prod: the way that is backed by production; fresh: from a reset */
  mode: 'reuse' | 'prod' | 'fresh';
  sync: SyncReport;
  tasks: TaskOutcome[];
  services: ServiceOutcome[];
  /** Where the box answers */
  url: string | null;
  admin_key_file: string | null;
}

/** event: create, write, remove, rename or attributes */
export interface WatchEvent {
  /** Relative to the watched folder */
  path: string;
}

export interface Webhook {
  /** Name of the webhook */
  name: string;
  /** Whose events it gets; null: those of all tenants, as the manifest declares */
  tenant: string | null;
  url: string;
  events: string[];
  source: 'api' | 'manifest';
  /** null for those of the manifest */
  created_at: string | null;
  /** failing: the oldest delivery was refused; away: the hub does not answer, and is asked now and then */
  state: 'ok' | 'failing' | 'away';
  /** Since when it fails or is away */
  since: string | null;
  /** What the last failure was */
  error: string | null;
  /** Deliveries that wait */
  pending: number;
  /** Deliveries that were given up; skillbox webhook retry sends them again */
  dead: number;
  /** Events of the box that were not looked at yet for this webhook */
  events_behind: number;
}

export interface WebhookDelivery {
  /** The webhook-id of the delivery, the same at every attempt */
  event_id: string;
  /** Position of the event in the box */
  seq: number;
  type: string;
  subject: {
    type: string;
    id: string;
  };
  state: 'pending' | 'delivered' | 'dead';
  attempts: number;
  /** HTTP status of the last answer; null when there was none */
  status: number | null;
  error: string | null;
  /** null when it is over, or when it comes as soon as those before it */
  next_attempt_at: string | null;
  finished_at: string | null;
}

export interface WebhookRetry {
  retried: number;
}

export interface WebhookTest {
  ok: boolean;
  /** HTTP status of the answer; null when there was none */
  status: number | null;
  error: string | null;
  ms: number;
}

export interface WorkProgress {
  /** Time in ISO 8601, UTC */
  time: string;
  /** One line about what goes on now */
  text: string;
  /** A part of the work that began or ended; null: only the line is new */
  step: WorkStep | null;
}

export interface WorkSession {
  /** Id of the session */
  session_id: string;
  client_id: string;
  label: string | null;
  goal: string | null;
  state: 'active' | 'completed' | 'failed' | 'abandoned';
  /** Time in ISO 8601, UTC */
  started_at: string;
  /** Time in ISO 8601, UTC */
  updated_at: string;
  ended_at: string | null;
  /** How often */
  resumed: number;
  events: number;
  /** Active, but nobody was heard of for an hour */
  stale: boolean;
  summary: string | null;
  /** Folder with meta.json, events.jsonl and handoff.md */
  path: string;
}

export interface WorkSessionDetail {
  /** Id of the session */
  session_id: string;
  client_id: string;
  label: string | null;
  goal: string | null;
  state: 'active' | 'completed' | 'failed' | 'abandoned';
  /** Time in ISO 8601, UTC */
  started_at: string;
  /** Time in ISO 8601, UTC */
  updated_at: string;
  ended_at: string | null;
  /** How often */
  resumed: number;
  events: number;
  /** Active, but nobody was heard of for an hour */
  stale: boolean;
  summary: string | null;
  /** Folder with meta.json, events.jsonl and handoff.md */
  path: string;
  timeline: SessionEvent[];
  handoff: string | null;
}

export interface WorkSessions {
  items: WorkSession[];
}

export interface WorkStep {
  /** Such as sync, run site or start web; the same from its beginning to its end */
  name: string;
  /** phase: what the others are parts of */
  kind: 'phase' | 'sync' | 'bridge' | 'task' | 'service';
  state: 'running' | 'done' | 'unchanged' | 'planned' | 'skipped' | 'failed';
  /** null: not known, or not over */
  duration_ms: number | null;
  /** Why it failed, or what there is to say */
  detail: string | null;
  /** Last lines of its log, where it failed */
  tail: string[];
}

/** Every route: what goes in, wherever it stands in the request, and what comes out. */
export interface Routes {
  /** Add a skill */
  'POST /v1/skills': {
    input: Record<string, never>;
    output: PushedSkill;
  };
  /** List skills, each in its latest version */
  'GET /v1/skills': {
    input: {
      /** Most items per page */
      limit?: number;
      /** next_cursor of the page before */
      cursor?: string;
    };
    output: Page<SkillSummary>;
  };
  /** Find skills by words in name, description and instructions */
  'GET /v1/skills/search': {
    input: {
      /** Words to look for */
      q: string;
      /** Most items per page */
      limit?: number;
    };
    output: Page<SkillSummary>;
  };
  /** List the versions of a skill, highest first */
  'GET /v1/skills/{name}/versions': {
    input: {
      /** Name of the skill */
      name: string;
    };
    output: Page<SkillSummary>;
  };
  /** Show one skill with its instructions and schemas */
  'GET /v1/skills/{name}/{version}': {
    input: {
      /** Name of the skill */
      name: string;
      /** A version, or latest: the highest one, pre-releases only when there is nothing else */
      version: string;
    };
    output: Skill;
  };
  /** Delete one version of a skill */
  'DELETE /v1/skills/{name}/{version}': {
    input: {
      /** Name of the skill */
      name: string;
      /** A version, or latest: the highest one, pre-releases only when there is nothing else */
      version: string;
    };
    output: undefined;
  };
  /** Read one file of a skill, as it was pushed */
  'GET /v1/skills/{name}/{version}/files/{path}': {
    input: {
      /** Name of the skill */
      name: string;
      /** A version, or latest: the highest one, pre-releases only when there is nothing else */
      version: string;
      /** Path of the file inside the skill */
      path: string;
    };
    output: Uint8Array;
  };
  /** Install the dependencies of a skill, once more if that failed */
  'POST /v1/skills/{name}/{version}/build': {
    input: {
      /** Name of the skill */
      name: string;
      /** A version, or latest: the highest one, pre-releases only when there is nothing else */
      version: string;
    };
    output: SkillDependencies;
  };
  /** Read what the installer said about the dependencies of a skill */
  'GET /v1/skills/{name}/{version}/build': {
    input: {
      /** Name of the skill */
      name: string;
      /** A version, or latest: the highest one, pre-releases only when there is nothing else */
      version: string;
    };
    output: string;
  };
  /** Run a skill */
  'POST /v1/executions': {
    input: ExecutionRequest;
    output: Execution;
  };
  /** List executions, newest first */
  'GET /v1/executions': {
    input: {
      /** Only of this skill */
      skill?: string;
      /** Only in this status */
      status?: 'queued' | 'running' | 'success' | 'failed' | 'timeout' | 'cancelled';
      /** Only created at or after this time */
      since?: string;
      /** Only of this tenant (administrators; others see their own) */
      tenant?: string;
      /** Most items per page */
      limit?: number;
      /** next_cursor of the page before */
      cursor?: string;
    };
    output: Page<ExecutionSummary>;
  };
  /** Tell how executions did of late: how many, how they ended, where their time went */
  'GET /v1/executions/figures': {
    input: {
      /** How far back */
      window?: '15m' | '1h' | '6h' | '24h';
      /** Only of this skill */
      skill?: string;
    };
    output: ExecutionFigures;
  };
  /** Show one execution */
  'GET /v1/executions/{id}': {
    input: {
      /** Id of the execution */
      id: string;
    };
    output: Execution;
  };
  /** Delete an execution that has ended, with its log and artifacts */
  'DELETE /v1/executions/{id}': {
    input: {
      /** Id of the execution */
      id: string;
    };
    output: undefined;
  };
  /** Read the log of an execution as text */
  'GET /v1/executions/{id}/logs': {
    input: {
      /** Id of the execution */
      id: string;
    };
    output: string;
  };
  /** Follow output and states of an execution */
  'GET /v1/executions/{id}/events': {
    input: {
      /** Id of the execution */
      id: string;
    };
    output: ExecutionEvent;
  };
  /** Stop an execution */
  'POST /v1/executions/{id}/cancel': {
    input: {
      /** Id of the execution */
      id: string;
    };
    output: Execution;
  };
  /** List the artifacts of an execution */
  'GET /v1/executions/{id}/files': {
    input: {
      /** Id of the execution */
      id: string;
    };
    output: Page<Artifact>;
  };
  /** Download all artifacts as tar.gz */
  'GET /v1/executions/{id}/files.tar.gz': {
    input: {
      /** Id of the execution */
      id: string;
    };
    output: Uint8Array;
  };
  /** Download one artifact */
  'GET /v1/executions/{id}/files/{path}': {
    input: {
      /** Id of the execution */
      id: string;
      /** Path of the artifact */
      path: string;
    };
    output: Uint8Array;
  };
  /** Make a sandbox that lives until it is destroyed or its time is over */
  'POST /v1/sandboxes': {
    input: CreateSandbox;
    output: Sandbox;
  };
  /** List sandboxes, newest first */
  'GET /v1/sandboxes': {
    input: {
      /** Only in this state */
      state?: 'requested' | 'provisioning' | 'ready' | 'paused' | 'destroying' | 'destroyed' | 'failed';
      /** Only of this template, of one version or all */
      template?: string;
      /** Only with these labels: name=value, several joined by &, as in a query */
      labels?: string;
      /** Only of this tenant (administrators; others see their own) */
      tenant?: string;
      /** Most items per page */
      limit?: number;
      /** next_cursor of the page before */
      cursor?: string;
    };
    output: Page<Sandbox>;
  };
  /** Show one sandbox */
  'GET /v1/sandboxes/{id}': {
    input: {
      /** Id of the sandbox */
      id: string;
    };
    output: Sandbox;
  };
  /** End a sandbox and remove its disk */
  'DELETE /v1/sandboxes/{id}': {
    input: {
      /** Id of the sandbox */
      id: string;
    };
    output: Sandbox;
  };
  /** Give a sandbox a fresh disk */
  'POST /v1/sandboxes/{id}/recreate': {
    input: {
      /** Id of the sandbox */
      id: string;
    };
    output: Sandbox;
  };
  /** Set the time until a sandbox ends */
  'POST /v1/sandboxes/{id}/ttl': {
    input: {
      /** Id of the sandbox */
      id: string;
      /** Seconds, or a text such as 90s or 2h */
      ttl: string | number;
    };
    output: Sandbox;
  };
  /** Change what a sandbox reaches, while it lives */
  'PUT /v1/sandboxes/{id}/network': {
    input: {
      /** Id of the sandbox */
      id: string;
      /** none, or allow: what the list names. Default: allow with a list, else as the template has it */
      mode?: 'none' | 'allow';
      /** Hosts, such as example.com or *.example.com:8443; default: what the template allows */
      allow?: EgressRule[];
    };
    output: Sandbox;
  };
  /** Free the memory of a sandbox, keep its disk */
  'POST /v1/sandboxes/{id}/pause': {
    input: {
      /** Id of the sandbox */
      id: string;
    };
    output: Sandbox;
  };
  /** Make a paused sandbox ready again */
  'POST /v1/sandboxes/{id}/resume': {
    input: {
      /** Id of the sandbox */
      id: string;
    };
    output: Sandbox;
  };
  /** Keep the disk of a sandbox as it is now */
  'POST /v1/sandboxes/{id}/snapshots': {
    input: {
      /** Id of the sandbox */
      id: string;
      /** What it is, for people */
      name?: string;
    };
    output: Snapshot;
  };
  /** List snapshots, newest first */
  'GET /v1/snapshots': {
    input: {
      /** Only of this sandbox */
      sandbox?: string;
      /** Most items per page */
      limit?: number;
      /** next_cursor of the page before */
      cursor?: string;
    };
    output: Page<Snapshot>;
  };
  /** Delete a snapshot */
  'DELETE /v1/snapshots/{id}': {
    input: {
      /** Id of the snapshot */
      id: string;
    };
    output: undefined;
  };
  /** Put the disk of a snapshot into a sandbox */
  'POST /v1/sandboxes/{id}/restore': {
    input: {
      /** Id of the sandbox */
      id: string;
      /** Id of the snapshot */
      snapshot: string;
    };
    output: Sandbox;
  };
  /** Make sandboxes that start from the disk of this one */
  'POST /v1/sandboxes/{id}/fork': {
    input: {
      /** Id of the sandbox */
      id: string;
      /** How many */
      count?: number;
      /** Time until they end; default: as the first one had */
      ttl?: string | number;
    };
    output: Page<Sandbox>;
  };
  /** Read what happened to a sandbox, oldest first */
  'GET /v1/sandboxes/{id}/events': {
    input: {
      /** Id of the sandbox */
      id: string;
      /** Most items per page */
      limit?: number;
      /** next_cursor of the page before */
      cursor?: string;
    };
    output: Page<BoxEvent>;
  };
  /** List templates of sandboxes, the newest version of each */
  'GET /v1/templates': {
    input: Record<string, never>;
    output: Page<Template>;
  };
  /** Show a template */
  'GET /v1/templates/{name}': {
    input: {
      /** Template; without @version the newest */
      name: string;
    };
    output: Template;
  };
  /** Make a template, or a new version of it */
  'PUT /v1/templates/{name}': {
    input: {
      name: string;
      /** What it is for */
      description?: string;
      /** Candidates: the first that can makes it, what costs nothing before what is paid for. Default: bubblewrap */
      providers?: string[];
      /** Image, for providers that take one */
      image?: string;
      /** What a sandbox may use */
      resources?: {
        /** CPUs. Default: 2 */
        cpu?: number;
        /** Memory. Default: 1Gi */
        memory?: string | number;
        /** Disk. Default: 2Gi */
        disk?: string | number;
        /** Processes and threads. Default: 512 */
        processes?: number;
        /** /tmp, which is memory. Default: 512Mi */
        tmp?: string | number;
      };
      /** What a sandbox reaches */
      network?: {
        /** none, allow (only the list) or full. Default: none */
        mode?: 'none' | 'allow' | 'full';
        /** What mode allow lets through. See docs/network.md */
        allow?: EgressRule[];
        /** Headers that the box adds to requests, from secrets that the sandbox never sees. See docs/secrets.md */
        credentials?: {
          /** The one host that gets it, covered by the list; no star */
          host: string;
          /** https needs network.tls. Default: https */
          scheme?: 'https' | 'http';
          /** Default: that of the scheme */
          port?: number;
          /** The header; what the inside sends under this name is replaced */
          header: string;
          /** Text with ${secret} in it. Default: ${secret} */
          value?: string;
          /** Secret of the tenant whose sandbox it is; default/NAME is one of the operator */
          secret: string;
        }[];
        /** Whether the box looks into TLS, where credentials or rules on methods and paths need it; the sandbox then trusts its authority. Default: false */
        tls?: boolean;
        /** What a sandbox finds at http://box.internal, beside the egress proxy. network: what it may reach; graph, graph-read: commands of the graph, for the workspace only. Default: network with mode allow, else nothing; in the workspace network and graph */
        internal?: ('network' | 'graph' | 'graph-read')[];
      };
      /** How long a sandbox lives */
      ttl?: {
        /** Time a sandbox lives that asks for none. Default: 1h */
        default?: string | number;
        /** Longest time it can ask for. Default: 24h */
        max?: string | number;
      };
      /** What happens to a sandbox that nobody uses */
      idle?: {
        /** destroy, pause or keep. Default: pause */
        action?: 'destroy' | 'pause' | 'keep';
        /** Time without a use or a running program. Default: 10m */
        after?: string | number;
      };
      /** Hosts, in order of preference, for providers that work on others */
      placement?: string[];
      /** Shell commands that run before it is ready; one that fails ends it */
      setup?: string[];
      /** JSON Schema of what a create must give as inputs */
      inputs?: Record<string, unknown>;
      /** Credits for an hour. Default: 0 */
      price_per_hour?: number;
      /** Labels of every sandbox made from it */
      labels?: Record<string, string>;
      /** Whether only administrators may use it. Default: false */
      admin_only?: boolean;
      /** What its provider wants to know */
      options?: Record<string, unknown>;
    };
    output: Template;
  };
  /** Run a program in a sandbox */
  'POST /v1/sandboxes/{id}/programs': {
    input: {
      /** Id of the sandbox */
      id: string;
      /** A line for bash */
      cmd?: string;
      /** Words, instead of cmd; the first is the program */
      argv?: string[];
      /** Variables of this program */
      env?: Record<string, string>;
      /** Folder it starts in */
      cwd?: string;
      /** There is one user: user */
      user?: string;
      /** Text that it reads, or true to keep stdin open for …/stdin */
      stdin?: string | boolean;
      /** Give it a terminal */
      pty?: {
        /** Width of the terminal */
        cols?: number;
        /** Height of the terminal */
        rows?: number;
      };
      /** Time limit: seconds, or a text such as 90s; then it is killed */
      timeout?: string | number;
      /** Answer when it has ended */
      wait?: boolean;
      /** A name of your own */
      tag?: string;
    };
    output: ProgramResult;
  };
  /** List the programs of a sandbox */
  'GET /v1/sandboxes/{id}/programs': {
    input: {
      /** Id of the sandbox */
      id: string;
    };
    output: Page<Program>;
  };
  /** Show one program of a sandbox */
  'GET /v1/sandboxes/{id}/programs/{program}': {
    input: {
      /** Id of the sandbox */
      id: string;
      /** Number of the program */
      program: number;
    };
    output: Program;
  };
  /** Read the output of a program */
  'GET /v1/sandboxes/{id}/programs/{program}/events': {
    input: {
      /** Id of the sandbox */
      id: string;
      /** Number of the program */
      program: number;
      /** How output is written */
      encoding?: 'text' | 'base64';
      /** false: end with what there is so far */
      follow?: boolean;
    };
    output: ProgramEvent;
  };
  /** Write to the stdin of a program */
  'POST /v1/sandboxes/{id}/programs/{program}/stdin': {
    input: {
      /** Id of the sandbox */
      id: string;
      /** Number of the program */
      program: number;
      data?: string;
      /** How data is written */
      encoding?: 'text' | 'base64';
      /** End it after that */
      close?: boolean;
    };
    output: undefined;
  };
  /** End the stdin of a program */
  'DELETE /v1/sandboxes/{id}/programs/{program}/stdin': {
    input: {
      /** Id of the sandbox */
      id: string;
      /** Number of the program */
      program: number;
    };
    output: undefined;
  };
  /** Send a signal to a program and what it started */
  'POST /v1/sandboxes/{id}/programs/{program}/signal': {
    input: {
      /** Id of the sandbox */
      id: string;
      /** Number of the program */
      program: number;
      /** Name or number */
      signal?: string | number;
    };
    output: undefined;
  };
  /** Resize the terminal of a program */
  'POST /v1/sandboxes/{id}/programs/{program}/resize': {
    input: {
      /** Id of the sandbox */
      id: string;
      /** Number of the program */
      program: number;
      /** Width of the terminal */
      cols: number;
      /** Height of the terminal */
      rows: number;
    };
    output: undefined;
  };
  /** Read a file of a sandbox */
  'GET /v1/sandboxes/{id}/files': {
    input: {
      /** Id of the sandbox */
      id: string;
      /** Path in the sandbox; a relative one starts at /home/user */
      path: string;
      /** Byte to start at */
      offset?: number;
      /** Most bytes */
      limit?: number;
    };
    output: Uint8Array;
  };
  /** Write a file of a sandbox */
  'PUT /v1/sandboxes/{id}/files': {
    input: {
      /** Id of the sandbox */
      id: string;
      /** Path in the sandbox; a relative one starts at /home/user */
      path: string;
      /** Permissions, such as 755 */
      mode?: string;
      /** Add to what is there */
      append?: boolean;
      /** Fail when there is something already */
      new?: boolean;
    };
    output: FileEntry;
  };
  /** Remove a file or folder of a sandbox */
  'DELETE /v1/sandboxes/{id}/files': {
    input: {
      /** Id of the sandbox */
      id: string;
      /** Path in the sandbox; a relative one starts at /home/user */
      path: string;
    };
    output: undefined;
  };
  /** Show what a path of a sandbox is */
  'GET /v1/sandboxes/{id}/files/stat': {
    input: {
      /** Id of the sandbox */
      id: string;
      /** Path in the sandbox; a relative one starts at /home/user */
      path: string;
    };
    output: FileEntry;
  };
  /** List a folder of a sandbox */
  'GET /v1/sandboxes/{id}/files/list': {
    input: {
      /** Id of the sandbox */
      id: string;
      /** Path in the sandbox; a relative one starts at /home/user */
      path?: string;
      /** Folders in folders, this deep */
      depth?: number;
      /** Most entries; more is an error */
      limit?: number;
    };
    output: Page<FileEntry>;
  };
  /** Make a folder in a sandbox */
  'POST /v1/sandboxes/{id}/files/mkdir': {
    input: {
      /** Id of the sandbox */
      id: string;
      /** Path in the sandbox; a relative one starts at /home/user */
      path: string;
    };
    output: FileEntry;
  };
  /** Move or rename a file or folder of a sandbox */
  'POST /v1/sandboxes/{id}/files/move': {
    input: {
      /** Id of the sandbox */
      id: string;
      /** Path in the sandbox; a relative one starts at /home/user */
      from: string;
      /** Path in the sandbox; a relative one starts at /home/user */
      to: string;
    };
    output: FileEntry;
  };
  /** Watch a folder of a sandbox */
  'GET /v1/sandboxes/{id}/files/watch': {
    input: {
      /** Id of the sandbox */
      id: string;
      /** Path in the sandbox; a relative one starts at /home/user */
      path?: string;
      /** Folders in it too */
      recursive?: boolean;
    };
    output: WatchEvent;
  };
  /** Make a link to a server in a sandbox */
  'POST /v1/sandboxes/{id}/ports/{port}/link': {
    input: {
      /** Id of the sandbox */
      id: string;
      /** Port that the server inside listens on */
      port: number;
    };
    output: PreviewLink;
  };
  /** Show what a sandbox uses */
  'GET /v1/sandboxes/{id}/metrics': {
    input: {
      /** Id of the sandbox */
      id: string;
    };
    output: SandboxMetrics;
  };
  /** Show the credits of the tenant */
  'GET /v1/credits': {
    input: Record<string, never>;
    output: CreditBalance;
  };
  /** Give credits to a tenant */
  'POST /v1/credits/grants': {
    input: {
      /** Tenant */
      tenant: string;
      /** Credits, exact to a millionth */
      amount: number;
      /** What it is for */
      note?: string;
    };
    output: CreditEntry;
  };
  /** List what was granted, held, settled and released, newest first */
  'GET /v1/credits/history': {
    input: {
      /** Most items per page */
      limit?: number;
      /** next_cursor of the page before */
      cursor?: string;
    };
    output: Page<CreditEntry>;
  };
  /** Keep a secret, or change its value */
  'PUT /v1/secrets/{name}': {
    input: {
      /** Name of the secret */
      name: string;
      /** The value; no answer ever has it */
      value: string;
    };
    output: Secret;
  };
  /** Delete a secret */
  'DELETE /v1/secrets/{name}': {
    input: {
      /** Name of the secret */
      name: string;
    };
    output: undefined;
  };
  /** List the names of the secrets of the tenant */
  'GET /v1/secrets': {
    input: {
      /** Most items per page */
      limit?: number;
      /** next_cursor of the page before */
      cursor?: string;
    };
    output: Page<Secret>;
  };
  /** Tell which provider would make a sandbox of a template now, and why not the others */
  'GET /v1/templates/{name}/route': {
    input: {
      /** Template; without @version the newest */
      name: string;
    };
    output: RouteExplanation;
  };
  /** Show the machine, its sandboxes by state, what stands ready, the health of providers, the last canary and webhooks in trouble */
  'GET /v1/host': {
    input: Record<string, never>;
    output: HostReport;
  };
  /** List sandboxes on this host that no record owns, whose time is over, or that a crash left unfinished */
  'GET /v1/host/stale': {
    input: Record<string, never>;
    output: Page<StaleSandbox>;
  };
  /** Look at this host anew: what it has and lacks, and the line that mends each */
  'GET /v1/host/doctor': {
    input: Record<string, never>;
    output: HostExamination;
  };
  /** Make a canary sandbox now, run a program in it, end it, and tell how long each step took */
  'POST /v1/host/canary': {
    input: Record<string, never>;
    output: CanaryRun;
  };
  /** End and remove what inspect stale shows */
  'POST /v1/host/reap': {
    input: {
      /** Only tell what would go */
      dry_run?: boolean;
    };
    output: Page<StaleSandbox>;
  };
  /** Make a link that signs in to the dashboard, once, within five minutes */
  'POST /v1/sign-in/links': {
    input: {
      /** Sign in to less than this key may do */
      scopes?: ('skills:read' | 'skills:write' | 'executions:read' | 'executions:run' | 'sandboxes:read' | 'sandboxes:use' | 'secrets:manage' | 'graph:read' | 'graph:use' | 'admin')[];
    };
    output: SignInLink;
  };
  /** Exchange the code of a sign-in link for a key */
  'POST /v1/sign-in': {
    input: {
      code: string;
    };
    output: CreatedApiKey;
  };
  /** Sign out: the key of this request stops working if it came from a sign-in link */
  'DELETE /v1/sign-in': {
    input: Record<string, never>;
    output: undefined;
  };
  /** Show the key of this request: its tenant and what it may do */
  'GET /v1/keys/self': {
    input: Record<string, never>;
    output: ApiKey;
  };
  /** Make an API key */
  'POST /v1/keys': {
    input: {
      /** What the key is for */
      name: string;
      /** Tenant */
      tenant?: string;
      /** Who acts: adm a person, agt an agent, atm automation */
      actor?: 'adm' | 'agt' | 'atm';
      /** What it may do */
      scopes?: ('skills:read' | 'skills:write' | 'executions:read' | 'executions:run' | 'sandboxes:read' | 'sandboxes:use' | 'secrets:manage' | 'graph:read' | 'graph:use' | 'admin')[];
      /** Time until it stops working, such as 24h; without it the key does not expire */
      expires_in?: string;
    };
    output: CreatedApiKey;
  };
  /** List API keys, newest first */
  'GET /v1/keys': {
    input: {
      /** Only of this tenant */
      tenant?: string;
      /** Most items per page */
      limit?: number;
      /** next_cursor of the page before */
      cursor?: string;
    };
    output: Page<ApiKey>;
  };
  /** Make an API key stop working */
  'DELETE /v1/keys/{id}': {
    input: {
      /** Id of the key (not the key) */
      id: string;
    };
    output: ApiKey;
  };
  /** List tenants with their limits and use */
  'GET /v1/tenants': {
    input: Record<string, never>;
    output: Page<Tenant>;
  };
  /** Set the limits of a tenant */
  'PUT /v1/tenants/{name}': {
    input: {
      /** Tenant */
      name: string;
      /** Requests allowed per second, with bursts of twice that */
      requests_per_second?: number;
      /** Executions that may run at once */
      slots?: number;
      /** Bytes of skills, artifacts and logs the tenant may keep */
      storage_bytes?: number;
    };
    output: Tenant;
  };
  /** Follow what happens, as it happens */
  'GET /v1/events/stream': {
    input: {
      /** Only this type, or a beginning of it that ends with a dot, such as audit. */
      type?: string;
      /** Begin with so many that were before */
      recent?: number;
    };
    output: BoxEvent;
  };
  /** Read what happened, newest first */
  'GET /v1/events': {
    input: {
      /** Only this type, or a beginning of it that ends with a dot, such as audit. */
      type?: string;
      /** Only about this, such as execution:ID */
      subject?: string;
      /** Only at or after this time */
      since?: string;
      /** Most items per page */
      limit?: number;
      /** next_cursor of the page before */
      cursor?: string;
    };
    output: Page<BoxEvent>;
  };
  /** Have events of the tenant posted to a hub, signed */
  'POST /v1/webhooks': {
    input: {
      /** Name of the webhook */
      name: string;
      /** Where events are posted */
      url: string;
      /** Which events are sent */
      events?: string[];
    };
    output: CreatedWebhook;
  };
  /** List the webhooks of the tenant and of the manifest, and how their hubs do */
  'GET /v1/webhooks': {
    input: Record<string, never>;
    output: Page<Webhook>;
  };
  /** Show a webhook */
  'GET /v1/webhooks/{name}': {
    input: {
      /** Name of the webhook */
      name: string;
    };
    output: Webhook;
  };
  /** Delete a webhook, and what still waited for its hub */
  'DELETE /v1/webhooks/{name}': {
    input: {
      /** Name of the webhook */
      name: string;
    };
    output: undefined;
  };
  /** Send the hub an event of type webhook.test now, and tell what it answered */
  'POST /v1/webhooks/{name}/test': {
    input: {
      /** Name of the webhook */
      name: string;
    };
    output: WebhookTest;
  };
  /** List deliveries of a webhook, newest first */
  'GET /v1/webhooks/{name}/deliveries': {
    input: {
      /** Name of the webhook */
      name: string;
      /** Only those that wait, that were delivered, or that were given up */
      state?: 'pending' | 'delivered' | 'dead';
      /** Most items per page */
      limit?: number;
      /** next_cursor of the page before */
      cursor?: string;
    };
    output: Page<WebhookDelivery>;
  };
  /** Send again what was given up, and at once what waits for its next attempt */
  'POST /v1/webhooks/{name}/retry': {
    input: {
      /** Name of the webhook */
      name: string;
      /** Only the delivery of this event */
      event?: string;
    };
    output: WebhookRetry;
  };
  /** Show the model of the box: its paths inside and on the host, ports, clients and profiles */
  'GET /v1/sandbox': {
    input: Record<string, never>;
    output: BoxModel;
  };
  /** Show the graph that is declared, after overlays, profiles and placeholders */
  'GET /v1/runtime/graph': {
    input: {
      /** Client whose overlay is added to the graph */
      client?: string;
      /** Profiles beside core, such as surfaces or local-core, with commas between them */
      profile?: string;
      /** Tell the file and line that each value came from */
      why?: boolean;
    };
    output: RenderedGraph;
  };
  /** Show the state of repos, artifacts, env files, skills, tasks, services, logs and checks */
  'GET /v1/runtime': {
    input: {
      /** Client whose overlay is added to the graph */
      client?: string;
      /** Profiles beside core, such as surfaces or local-core, with commas between them */
      profile?: string;
    };
    output: RuntimeStatus;
  };
  /** Bring repos, artifacts, env files, log folders and skills to what is declared */
  'POST /v1/runtime/sync': {
    input: {
      /** Client whose overlay is added to the graph */
      client?: string;
      /** Profiles beside core, such as surfaces or local-core, with commas between them */
      profile?: string;
      /** Tell what would be done, and do nothing */
      dry_run?: boolean;
    };
    output: SyncReport;
  };
  /** Sync, then run the tasks whose success check does not hold yet, in order */
  'POST /v1/runtime/bootstrap': {
    input: {
      /** Client whose overlay is added to the graph */
      client?: string;
      /** Profiles beside core, such as surfaces or local-core, with commas between them */
      profile?: string;
      /** Tasks, with commas between them; what they need comes along. Default: all that are selected */
      task?: string;
      /** Tell what would be done, and do nothing */
      dry_run?: boolean;
    };
    output: BootstrapReport;
  };
  /** Stop services with those that need them, then start all of these again */
  'POST /v1/runtime/restart': {
    input: {
      /** Client whose overlay is added to the graph */
      client?: string;
      /** Profiles beside core, such as surfaces or local-core, with commas between them */
      profile?: string;
      /** Services, with commas between them; what they need comes along. Default: all that are selected */
      service?: string;
      /** Default: the mode each service runs in */
      mode?: 'reuse' | 'prod' | 'fresh';
      /** Tell what would be done, and do nothing */
      dry_run?: boolean;
      /** How long to wait for the health of each service, in seconds. Default: what it declares, else 30 */
      wait_seconds?: number;
    };
    output: UpReport;
  };
  /** Show the last lines that services and tasks wrote */
  'GET /v1/runtime/logs': {
    input: {
      /** Client whose overlay is added to the graph */
      client?: string;
      /** Profiles beside core, such as surfaces or local-core, with commas between them */
      profile?: string;
      /** Services, with commas between them; what they need comes along. Default: all that are selected */
      service?: string;
      /** How many of each */
      lines?: number;
    };
    output: ServiceLogs;
  };
  /** Write CLAUDE.md and AGENTS.md, which tell agents where they are */
  'POST /v1/runtime/context': {
    input: {
      /** Client whose overlay is added to the graph */
      client?: string;
      /** Profiles beside core, such as surfaces or local-core, with commas between them */
      profile?: string;
      /** Tell what would be done, and do nothing */
      dry_run?: boolean;
    };
    output: ContextReport;
  };
  /** Activate a client: sync, bootstrap, up, collect live state, write context, remember it */
  'POST /v1/runtime/focus': {
    input: {
      /** Client to activate. Default with --resume: the last one */
      client_id?: string;
      /** Profiles beside core, such as surfaces or local-core, with commas between them */
      profile?: string;
      /** Services, with commas between them; what they need comes along. Default: all that are selected */
      service?: string;
      /** reuse: with the local state there is; prod: the way that is backed by production; fresh: from a reset */
      mode?: 'reuse' | 'prod' | 'fresh';
      /** Activate the last focus again, without redoing what still holds */
      resume?: boolean;
      /** How long to wait for the health of each service, in seconds. Default: what it declares, else 30 */
      wait_seconds?: number;
    };
    output: FocusReport;
  };
  /** Sync, run the tasks that services need, start them in order, and wait until they are healthy */
  'POST /v1/runtime/up': {
    input: {
      /** Client whose overlay is added to the graph */
      client?: string;
      /** Profiles beside core, such as surfaces or local-core, with commas between them */
      profile?: string;
      /** Services, with commas between them; what they need comes along. Default: all that are selected */
      service?: string;
      /** reuse: with the local state there is; prod: the way that is backed by production; fresh: from a reset */
      mode?: 'reuse' | 'prod' | 'fresh';
      /** Tell what would be done, and do nothing */
      dry_run?: boolean;
      /** How long to wait for the health of each service, in seconds. Default: what it declares, else 30 */
      wait_seconds?: number;
    };
    output: UpReport;
  };
  /** Stop services, those that need others first */
  'POST /v1/runtime/down': {
    input: {
      /** Client whose overlay is added to the graph */
      client?: string;
      /** Profiles beside core, such as surfaces or local-core, with commas between them */
      profile?: string;
      /** Services, with commas between them; what they need comes along. Default: all that are selected */
      service?: string;
      /** Tell what would be done, and do nothing */
      dry_run?: boolean;
      /** How long to wait for the health of each service, in seconds. Default: what it declares, else 30 */
      wait_seconds?: number;
    };
    output: DownReport;
  };
  /** Check the machine and the graph, with the line that mends each fault */
  'GET /v1/runtime/doctor': {
    input: {
      /** Client whose overlay is added to the graph */
      client?: string;
      /** Profiles beside core, such as surfaces or local-core, with commas between them */
      profile?: string;
    };
    output: GraphExamination;
  };
  /** Show what pulse sees and did */
  'GET /v1/runtime/pulse': {
    input: Record<string, never>;
    output: PulseStatus;
  };
  /** Start pulse in the background; up does so by itself */
  'POST /v1/runtime/pulse/start': {
    input: {
      /** Seconds between two whole looks (SKILLBOX_PULSE_INTERVAL). Default 30 */
      interval?: number;
    };
    output: PulseStatus;
  };
  /** Stop pulse; services go on, and nobody starts them again when they fall */
  'POST /v1/runtime/pulse/stop': {
    input: Record<string, never>;
    output: PulseStatus;
  };
  /** Begin a session of a client */
  'POST /v1/runtime/sessions': {
    input: {
      /** Client whose overlay is added to the graph */
      client_id: string;
      /** What it is about, in a few words */
      label?: string;
      /** What should be true at its end */
      goal?: string;
    };
    output: WorkSession;
  };
  /** List sessions, the newest first */
  'GET /v1/runtime/sessions': {
    input: {
      /** Client whose overlay is added to the graph */
      client_id?: string;
      /** Only these */
      state?: 'active' | 'completed' | 'failed' | 'abandoned';
      limit?: number;
    };
    output: WorkSessions;
  };
  /** Add an event to a session that is active */
  'POST /v1/runtime/sessions/{id}/events': {
    input: {
      /** Id of the session */
      id: string;
      /** Kind of event */
      type?: string;
      /** What happened */
      message: string;
      /** More, as JSON */
      detail?: Record<string, unknown>;
    };
    output: SessionEvent;
  };
  /** Tell that somebody still works on a session */
  'POST /v1/runtime/sessions/{id}/heartbeat': {
    input: {
      /** Id of the session */
      id: string;
    };
    output: WorkSession;
  };
  /** End a session, with what the next one should know */
  'POST /v1/runtime/sessions/{id}/end': {
    input: {
      /** Id of the session */
      id: string;
      /** How it ended */
      state?: 'completed' | 'failed' | 'abandoned';
      /** Handed over in handoff.md */
      summary?: string;
    };
    output: WorkSession;
  };
  /** Go on with a session that ended */
  'POST /v1/runtime/sessions/{id}/resume': {
    input: {
      /** Id of the session */
      id: string;
    };
    output: WorkSession;
  };
  /** Show a session with its events */
  'GET /v1/runtime/sessions/{id}': {
    input: {
      /** Id of the session */
      id: string;
    };
    output: WorkSessionDetail;
  };
  /** Tell whether the box is alive, and what it lacks */
  'GET /health': {
    input: Record<string, never>;
    output: Health;
  };
  /** Tell whether the box can do its work: database, blobs, sandboxes, room on the disk */
  'GET /ready': {
    input: Record<string, never>;
    output: Readiness;
  };
}
