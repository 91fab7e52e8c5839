/** The declared environment of a box as it travels: its items and their states, what was done to them, focus, pulse and sessions. */

import { z } from 'zod';
import { timestamp } from './ids.ts';

export const clientPattern = /^[a-z0-9]+(-[a-z0-9]+)*$/;
export const graphIdPattern = /^[a-z0-9][a-z0-9._-]{0,62}$/;
export const profilePattern = /^[a-z0-9]+(-[a-z0-9]+)*$/;

export const startModes = ['reuse', 'prod', 'fresh'] as const;
export const startMode = z
  .enum(startModes)
  .describe('reuse: with the local state there is; prod: the way that is backed by production; fresh: from a reset');

export const graphSections = [
  'repos',
  'artifacts',
  'env_files',
  'skills',
  'tasks',
  'services',
  'logs',
  'checks',
  'bridges',
  'parity_ledger',
] as const;
export const graphSection = z.enum(graphSections);

export const graphClient = z
  .string()
  .max(63)
  .regex(clientPattern, 'lower-case letters and digits, with single dashes between them')
  .describe('Client whose overlay is added to the graph');

const names = (what: string) =>
  z
    .string()
    .max(2000)
    .regex(/^[a-z0-9][a-z0-9._-]*(,[a-z0-9][a-z0-9._-]*)*$/, 'names, with commas between them')
    .optional()
    .describe(what);

/** What almost every command of the graph takes. */
export const graphSelection = {
  client: graphClient.optional(),
  profile: names('Profiles beside core, such as surfaces or local-core, with commas between them'),
};
export const serviceChoice = names('Services, with commas between them; what they need comes along. Default: all that are selected');
export const taskChoice = names('Tasks, with commas between them; what they need comes along. Default: all that are selected');
export const dryRun = z.boolean().default(false).describe('Tell what would be done, and do nothing');

/** Where something lies: on the host, and how those in the workspace call it. */
const place = {
  path: z.string().describe('As the workspace sees it; the path of the host for what the workspace does not see'),
  host_path: z.string(),
};
const item = {
  id: z.string(),
  client: z.string().nullable().describe('Overlay that declares it; null: the box itself'),
  profiles: z.array(z.string()).describe('Empty: always'),
  required: z.boolean(),
  notes: z.string().nullable(),
};

export const repoStatus = z
  .object({
    ...item,
    ...place,
    source: z.enum(['bind', 'directory', 'git', 'manual']),
    state: z.enum(['ok', 'missing', 'dirty', 'behind', 'unknown']).describe('dirty: local changes; behind: the last sync fetched more'),
    branch: z.string().nullable(),
    commit: z.string().nullable(),
    detail: z.string().nullable().describe('Why its state is unknown'),
  })
  .meta({ id: 'RepoStatus' });
export const artifactStatus = z
  .object({
    ...item,
    ...place,
    state: z.enum(['ok', 'missing', 'stale', 'present']).describe('present: there, with nothing to compare to'),
  })
  .meta({ id: 'ArtifactStatus' });
export const envFileStatus = z
  .object({ ...item, ...place, repo: z.string().nullable(), state: z.enum(['ok', 'missing', 'stale', 'source-missing']) })
  .meta({ id: 'EnvFileStatus' });
export const skillSetStatus = z
  .object({
    ...item,
    state: z.enum(['ok', 'missing', 'stale', 'invalid']),
    skills: z.array(
      z.object({
        name: z.string(),
        state: z.enum(['ok', 'not-installed', 'stale', 'extra']),
        commit: z.string().nullable(),
      }),
    ),
    detail: z.string().nullable(),
  })
  .meta({ id: 'SkillSetStatus' });
export const taskStatus = z
  .object({
    ...item,
    state: z.enum(['ready', 'pending', 'blocked']).describe('ready: its success check holds'),
    depends_on: z.array(z.string()),
    blocked_by: z.array(z.string()),
  })
  .meta({ id: 'TaskStatus' });
export const serviceStates = ['running', 'starting', 'down', 'declared', 'ok', 'idle', 'unknown'] as const;
export const serviceStatus = z
  .object({
    ...item,
    kind: z.string(),
    state: z
      .enum(serviceStates)
      .describe(
        'running: its process lives and its health holds; starting: lives, health not yet; down: was started and is gone or unhealthy; declared: never started or stopped; ok: managed elsewhere and healthy; idle: nothing to run; unknown: managed elsewhere, no way to tell',
      ),
    wanted: z.boolean().describe('up asked for it and down did not since: pulse keeps it alive'),
    pid: z.number().int().nullable(),
    sandbox: z.string().nullable().describe('Sandbox it runs in; null: on the host'),
    healthy: z.boolean().nullable().describe('null: no healthcheck, or nothing runs'),
    mode: startMode.nullable(),
    modes: z.array(startMode).describe('Those it supports'),
    depends_on: z.array(z.string()),
    started_at: timestamp.nullable(),
    restarts: z.number().int().describe('By pulse, since it was last started by hand'),
    log: z.string().nullable().describe('Path of its log on the host'),
    detail: z.string().nullable().describe('Why it is not well'),
  })
  .meta({ id: 'ServiceStatus' });
export const logStatus = z
  .object({ ...item, ...place, retention_days: z.number().nullable(), state: z.enum(['ok', 'missing']), bytes: z.number().int() })
  .meta({ id: 'LogStatus' });
export const checkStatus = z.object({ ...item, state: z.enum(['ok', 'fail']), detail: z.string() }).meta({ id: 'CheckStatus' });
export const bridgeStatus = z
  .object({ ...item, state: z.enum(['fresh', 'stale', 'missing']), outputs: z.array(z.object({ ...place, present: z.boolean() })) })
  .meta({ id: 'BridgeStatus' });
export const ledgerEntry = z
  .object({
    legacy_surface: z.string(),
    client: z.string().nullable(),
    surface_type: z.enum(['service', 'env_target', 'helper', 'flag']),
    action: z.enum(['declare', 'bridge', 'build', 'drop']),
    ownership_state: z.enum(['covered', 'bridge-only', 'deferred', 'external']),
    intended_profiles: z.array(z.string()),
    bridge_dependency: z.string().nullable(),
    request_error: z.string().nullable(),
  })
  .meta({ id: 'LedgerEntry' });

export const attention = z
  .object({
    severity: z.enum(['error', 'warning']),
    subject: z.string().describe('What it is about, such as service:web'),
    message: z.string(),
    fix: z.string().nullable().describe('The command that mends it or shows more'),
  })
  .meta({ id: 'Attention' });

export const pulseStatus = z
  .object({
    running: z.boolean(),
    pid: z.number().int().nullable(),
    updated_at: timestamp.nullable(),
    interval: z.number().describe('Seconds between two whole looks; a process that ends is seen at once'),
    auto_restart: z.boolean(),
    cycle_count: z.number().int(),
    heals: z.number().int(),
    events_emitted: z.number().int(),
    config_hash: z.string().nullable(),
    service_states: z.record(z.string(), z.string()),
    check_states: z.record(z.string(), z.string()),
    given_up: z.array(z.string()).describe('Services that fell too often; up or restart tries them again'),
    next_attempts: z.record(z.string(), timestamp).describe('Services that wait for their next start'),
  })
  .meta({ id: 'PulseStatus' });

export const activity = z
  .object({ time: timestamp, type: z.string(), subject: z.string(), data: z.record(z.string(), z.unknown()) })
  .meta({ id: 'RuntimeActivity' });

export const repoState = z
  .object({
    id: z.string(),
    path: z.string(),
    branch: z.string().nullable(),
    dirty: z.number().int().nullable(),
    last_commit: z.string().nullable(),
  })
  .meta({ id: 'RepoState' });
const focusSteps = z.array(
  z.object({
    step: z.enum(['sync', 'bootstrap', 'up', 'collect', 'context', 'persist']),
    result: z.enum(['done', 'unchanged', 'failed', 'skipped']),
    duration_ms: z.number(),
    detail: z.string().nullable(),
  }),
);
/** What focus found beside the states that status tells anew. */
const found = {
  repos: z.array(repoState),
  errors: z.array(z.object({ log: z.string(), line: z.string() })).describe('Of late, from logs'),
  activity: z.array(activity),
  sessions: z.array(z.string()).describe('Those that are open'),
  context: z.array(z.string()).describe('Files that agents read'),
};
export const lastFocus = z
  .object({
    ok: z.boolean(),
    client: z.string(),
    profiles: z.array(z.string()).describe('As they were asked for, core aside'),
    services: z.array(z.string()).describe('Those that were named; empty: all'),
    mode: startMode,
    focused_at: timestamp,
    steps: focusSteps,
    ...found,
  })
  .meta({ id: 'LastFocus' });

/** GET /v1/runtime */
export const runtimeStatus = z
  .object({
    client: z.string().nullable(),
    profiles: z.array(z.string()),
    clients: z.array(z.string()).describe('Overlays there are'),
    healthy: z.boolean().describe('Nothing needs attention'),
    config_hash: z.string(),
    repos: z.array(repoStatus),
    artifacts: z.array(artifactStatus),
    env_files: z.array(envFileStatus),
    skills: z.array(skillSetStatus),
    tasks: z.array(taskStatus),
    services: z.array(serviceStatus),
    logs: z.array(logStatus),
    checks: z.array(checkStatus),
    bridges: z.array(bridgeStatus),
    parity_ledger: z.array(ledgerEntry),
    connectors: z.array(z.string()),
    pulse: pulseStatus,
    focus: lastFocus.nullable().describe('What was focused last, whichever client is selected, and what was found then; null: nothing yet'),
    attention: z.array(attention),
  })
  .meta({ id: 'RuntimeStatus' });

/** GET /v1/sandbox: the model of the box as the seed's inspection surface showed it. */
export const boxModel = z
  .object({
    name: z.string(),
    version: z.string(),
    purpose: z.string().nullable(),
    runtime: z.object({ mode: z.string(), agent_user: z.string(), provider: z.string(), network: z.string() }),
    ports: z.record(z.string(), z.number().int()),
    paths: z.array(z.object({ variable: z.string(), path: z.string(), host_path: z.string() })),
    manifest: z.string().nullable(),
    state_root: z.string(),
    clients: z.array(z.string()),
    profiles: z.array(z.string()).describe('All that the manifest and the overlays name'),
  })
  .meta({ id: 'BoxModel' });

/** Where a value of the graph came from. */
export const graphOrigin = z.object({
  path: z.string().describe('Such as services.web.command'),
  file: z.string(),
  line: z.number().int(),
});
export const renderedGraph = z
  .object({
    client: z.string().nullable(),
    profiles: z.array(z.string()),
    graph: z.record(z.string(), z.unknown()).describe('Sections with their items, placeholders filled in'),
    variables: z.record(z.string(), z.string()).describe('What ${NAME} stands for; secrets are never among them'),
    why: z.array(graphOrigin).describe('With why: the file and line of each value'),
  })
  .meta({ id: 'RenderedGraph' });

/** Why something failed, with its code of the registry of errors. */
const fault = z.object({ error: z.string(), message: z.string(), hint: z.string() }).nullable();

export const actionRecord = z
  .object({
    section: graphSection.or(z.literal('context')),
    id: z.string(),
    action: z.string().describe('Such as clone, fetch, download, copy, write, install, mkdir, expire'),
    result: z.enum(['done', 'unchanged', 'planned', 'skipped', 'failed']),
    path: z.string().nullable(),
    detail: z.string().nullable(),
    error: fault,
  })
  .meta({ id: 'GraphAction' });
export const syncReport = z
  .object({
    dry_run: z.boolean(),
    changed: z.boolean(),
    ok: z.boolean(),
    actions: z.array(actionRecord),
    duration_ms: z.number(),
  })
  .meta({ id: 'SyncReport' });

export const taskOutcome = z
  .object({
    id: z.string(),
    result: z.enum(['ready', 'done', 'failed', 'blocked', 'dry-run']).describe('ready: it was; done: it ran and its check holds now'),
    duration_ms: z.number(),
    detail: z.string().nullable(),
    error: fault,
    tail: z.array(z.string()).describe('Last lines of its log, where it failed'),
  })
  .meta({ id: 'TaskOutcome' });
export const serviceOutcome = z
  .object({
    id: z.string(),
    result: z.enum([
      'started',
      'already-running',
      'failed',
      'timeout',
      'skipped',
      'dry-run',
      'stopped',
      'killed',
      'stuck',
      'external',
      'not-running',
    ]),
    pid: z.number().int().nullable(),
    duration_ms: z.number(),
    detail: z.string().nullable(),
    error: fault,
    tail: z.array(z.string()).describe('Last lines of its log, where it failed'),
  })
  .meta({ id: 'ServiceOutcome' });
export const bootstrapReport = z.object({ ok: z.boolean(), sync: syncReport, tasks: z.array(taskOutcome) }).meta({ id: 'BootstrapReport' });
export const upReport = z
  .object({
    ok: z.boolean(),
    dry_run: z.boolean(),
    mode: startMode,
    sync: syncReport,
    tasks: z.array(taskOutcome),
    services: z.array(serviceOutcome),
    url: z.string().nullable().describe('Where the box answers'),
    admin_key_file: z.string().nullable(),
  })
  .meta({ id: 'UpReport' });
export const downReport = z.object({ ok: z.boolean(), dry_run: z.boolean(), services: z.array(serviceOutcome) }).meta({ id: 'DownReport' });

export const serviceLog = z.object({ service: z.string(), path: z.string(), lines: z.array(z.string()) }).meta({ id: 'ServiceLog' });
export const serviceLogLine = z.object({ service: z.string(), line: z.string() }).meta({ id: 'ServiceLogLine' });

/** How work that takes long goes on. */
export const workStep = z
  .object({
    name: z.string().describe('Such as sync, run site or start web; the same from its beginning to its end'),
    kind: z.enum(['phase', 'sync', 'bridge', 'task', 'service']).describe('phase: what the others are parts of'),
    state: z.enum(['running', 'done', 'unchanged', 'planned', 'skipped', 'failed']),
    duration_ms: z.number().nullable().describe('null: not known, or not over'),
    detail: z.string().nullable().describe('Why it failed, or what there is to say'),
    tail: z.array(z.string()).describe('Last lines of its log, where it failed'),
  })
  .meta({ id: 'WorkStep' });
export const workProgress = z
  .object({
    time: timestamp,
    text: z.string().describe('One line about what goes on now'),
    step: workStep.nullable().describe('A part of the work that began or ended; null: only the line is new'),
  })
  .meta({ id: 'WorkProgress' });

export const contextReport = z
  .object({ client: z.string().nullable(), files: z.array(z.object({ path: z.string(), changed: z.boolean() })), bytes: z.number().int() })
  .meta({ id: 'ContextReport' });

export const focusReport = z
  .object({
    ok: z.boolean(),
    client: z.string(),
    profiles: z.array(z.string()),
    resumed: z.boolean(),
    focused_at: timestamp,
    steps: focusSteps,
    attention: z.array(attention),
    services: z.array(serviceStatus),
    ...found,
  })
  .meta({ id: 'FocusReport' });

export const graphCheck = z
  .object({
    name: z.string(),
    code: z.string().nullable().describe('Of the registry of errors'),
    state: z.enum(['ok', 'warn', 'fail']),
    detail: z.string(),
    fix: z.string().nullable(),
  })
  .meta({ id: 'GraphCheck' });
export const graphExamination = z.object({ healthy: z.boolean(), checks: z.array(graphCheck) }).meta({ id: 'GraphExamination' });

export const sessionIdPattern = /^\d{8}-\d{6}-[0-9a-f]{6}$/;
export const sessionId = z.string().regex(sessionIdPattern, 'an id such as 20260102-030405-0a1b2c').describe('Id of the session');
export const sessionStates = ['active', 'completed', 'failed', 'abandoned'] as const;
export const workSession = z
  .object({
    session_id: sessionId,
    client_id: z.string(),
    label: z.string().nullable(),
    goal: z.string().nullable(),
    state: z.enum(sessionStates),
    started_at: timestamp,
    updated_at: timestamp,
    ended_at: timestamp.nullable(),
    resumed: z.number().int().describe('How often'),
    events: z.number().int(),
    stale: z.boolean().describe('Active, but nobody was heard of for an hour'),
    summary: z.string().nullable(),
    path: z.string().describe('Folder with meta.json, events.jsonl and handoff.md'),
  })
  .meta({ id: 'WorkSession' });
export const sessionEvent = z
  .object({
    ts: timestamp,
    type: z.string(),
    client_id: z.string(),
    session_id: sessionId,
    detail: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'SessionEvent' });

export type StartMode = z.infer<typeof startMode>;
export type GraphSection = z.infer<typeof graphSection>;
export type RepoStatus = z.infer<typeof repoStatus>;
export type ArtifactStatus = z.infer<typeof artifactStatus>;
export type EnvFileStatus = z.infer<typeof envFileStatus>;
export type SkillSetStatus = z.infer<typeof skillSetStatus>;
export type TaskStatus = z.infer<typeof taskStatus>;
export type ServiceStatus = z.infer<typeof serviceStatus>;
export type LogStatus = z.infer<typeof logStatus>;
export type CheckStatus = z.infer<typeof checkStatus>;
export type BridgeStatus = z.infer<typeof bridgeStatus>;
export type LedgerEntry = z.infer<typeof ledgerEntry>;
export type Attention = z.infer<typeof attention>;
export type PulseStatus = z.infer<typeof pulseStatus>;
export type Activity = z.infer<typeof activity>;
export type RuntimeStatus = z.infer<typeof runtimeStatus>;
export type BoxModel = z.infer<typeof boxModel>;
export type RenderedGraph = z.infer<typeof renderedGraph>;
export type Fault = NonNullable<z.infer<typeof fault>>;
export type ActionRecord = z.infer<typeof actionRecord>;
export type SyncReport = z.infer<typeof syncReport>;
export type TaskOutcome = z.infer<typeof taskOutcome>;
export type ServiceOutcome = z.infer<typeof serviceOutcome>;
export type BootstrapReport = z.infer<typeof bootstrapReport>;
export type UpReport = z.infer<typeof upReport>;
export type DownReport = z.infer<typeof downReport>;
export type ServiceLog = z.infer<typeof serviceLog>;
export type ServiceLogLine = z.infer<typeof serviceLogLine>;
export type WorkStep = z.infer<typeof workStep>;
export type WorkProgress = z.infer<typeof workProgress>;
export type LastFocus = z.infer<typeof lastFocus>;
export type ContextReport = z.infer<typeof contextReport>;
export type RepoState = z.infer<typeof repoState>;
export type FocusReport = z.infer<typeof focusReport>;
export type GraphCheck = z.infer<typeof graphCheck>;
export type GraphExamination = z.infer<typeof graphExamination>;
export type WorkSession = z.infer<typeof workSession>;
export type SessionEvent = z.infer<typeof sessionEvent>;
