/** What skillbox.yaml and the overlays may say about the graph. docs/manifest.md and the JSON Schemas for editors are made from this. */

import { clientPattern, graphIdPattern, profilePattern, tenantPattern } from '@skillbox/protocol';
import { z } from 'zod';
import { templateFields, templatePattern } from '../sandbox/template-definition.ts';
import { parseDuration } from '../units.ts';

const most = 10_000;
const text = (length = 4000) =>
  z
    .string()
    .max(length)
    .regex(/^[^\0]*$/, 'no NUL byte');
const path = () => text().min(1);
const id = (what: string) =>
  z.string().regex(graphIdPattern, 'lower-case letters, digits, dots, dashes and underscores, up to 63').describe(what);
const ids = (what: string) => z.array(id('An id')).max(most).default([]).describe(what);
const list = <T extends z.ZodType>(item: T, what: string) => z.array(item).max(most).default([]).describe(what);
const profiles = (what: string) =>
  z
    .array(z.string().max(63).regex(profilePattern, 'lower-case letters and digits, with single dashes between them').describe('A profile'))
    .max(100)
    .default([])
    .describe(what);

/** A port, or a placeholder that becomes one. */
const port = z.union(
  [z.number().int().min(1).max(65_535), z.string().regex(/^\$\{[A-Z][A-Z0-9_]*\}$/)],
  'expected a port, or a placeholder such as ${WEB_PORT}',
);

const duration = z.union([z.string(), z.number()], 'expected a time such as 30s, or seconds').transform((given, context) => {
  const ms = parseDuration(given);
  if (ms !== undefined && ms > 0 && ms <= 2 ** 31 - 1) return ms;
  context.addIssue({ code: 'custom', message: 'expected a time such as 250ms or 30s, at most 24 days' });
  return z.NEVER;
});

const variableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of a variable');
const env = z
  .record(variableName, z.union([text(32_768), z.number(), z.boolean()], 'expected text').transform(String))
  .default({})
  .describe('Variables of the program. Secrets by placeholder only, such as ${API_TOKEN}');

const common = {
  id: id('Its name, one of its kind in the box and its overlay'),
  required: z.boolean().default(false).describe('Whether the box is not healthy without it'),
  profiles: profiles('Profiles that select it; empty: always'),
  client: z
    .string()
    .max(63)
    .regex(clientPattern, 'lower-case letters and digits, with single dashes between them')
    .optional()
    .describe('Client that it is for; in an overlay always its own'),
  notes: text().optional().describe('A remark, for people and agents'),
};

const sha256 = z
  .string()
  .regex(/^[0-9a-fA-F]{64}$|^\$\{[A-Z][A-Z0-9_]*\}$/, 'expected 64 hexadecimal digits')
  .optional();

const repo = z.strictObject({
  ...common,
  path: path().describe('Folder of it'),
  kind: text(100).default('repo').describe('What it is, for people'),
  source: z
    .strictObject({
      kind: z
        .enum(['bind', 'directory', 'git', 'manual'])
        .optional()
        .describe(
          'bind: somebody mounts it; directory: a plain folder; git: cloned; manual: a person sees to it. Default: git with url, else directory',
        ),
      url: text().optional().describe('Address to clone from'),
      branch: text(255).optional().describe('Branch. Default: that of the remote'),
      path: path().optional().describe('Folder that is bound, for people'),
    })
    .prefault({})
    .describe('Where it comes from'),
  sync: z
    .strictObject({
      mode: z
        .enum(['external', 'ensure-directory', 'clone-if-missing', 'manual'])
        .optional()
        .describe('What sync does. Default: by the kind of source'),
    })
    .prefault({})
    .describe('How sync treats it'),
});

const artifact = z.strictObject({
  ...common,
  path: path().describe('The file'),
  source: z
    .strictObject({
      kind: z.enum(['file', 'url', 'manual']).optional().describe('Default: url or file, by what is named, else manual'),
      url: text().optional().describe('Address to download from; empty: nobody does'),
      path: path().optional().describe('File to copy'),
      sha256: sha256.describe('SHA-256 of the file; an address needs it'),
      executable: z.boolean().default(false).describe('Whether it is a program'),
    })
    .prefault({})
    .describe('Where it comes from'),
  sync: z
    .strictObject({
      mode: z
        .enum(['copy-if-missing', 'download-if-missing', 'manual'])
        .optional()
        .describe('What sync does. Default: by the kind of source'),
    })
    .prefault({})
    .describe('How sync treats it'),
});

const envFile = z.strictObject({
  ...common,
  path: path().describe('The file'),
  kind: text(100).default('dotenv').describe('What it is, for people'),
  repo: id('Repo whose services need it').optional(),
  mode: z
    .union([z.string(), z.number()], 'expected a mode such as "0600"')
    .default('0600')
    .describe('Permissions, in octal digits; nobody but the owner gets any'),
  source: z
    .strictObject({
      kind: z.enum(['file', 'manual']).optional().describe('Default: file with path, else manual'),
      path: path().optional().describe('File it is written from'),
    })
    .prefault({})
    .describe('Where it comes from'),
  sync: z
    .strictObject({ mode: z.enum(['write', 'manual']).optional().describe('What sync does. Default: by the kind of source') })
    .prefault({})
    .describe('How sync treats it'),
});

const skillSet = z.strictObject({
  ...common,
  kind: z.literal('skill-repo-set').default('skill-repo-set').describe('The only kind'),
  skill_repos_config: path().default('skill-repos.yaml').describe('File that names repositories and skills'),
  lock_path: path().default('skill-repos.lock.json').describe('File that keeps what was installed'),
  clone_root: path().optional().describe('Folder for clones, the own ground of the box. Default: run/graph/skill-repos in the state root'),
  install_targets: z
    .array(z.strictObject({ id: id('Its name'), path: path().describe('Folder that skills are installed into') }))
    .max(100)
    .optional()
    .describe('Agent homes. Default: .claude/skills and .codex/skills of the workspace'),
});

const where = {
  repo: id('Repo it works in').optional(),
  cwd: path().optional().describe('Folder it runs in. Default: that of its repo, else that of the file which declares it'),
  env,
  template: z
    .string()
    .regex(templatePattern, 'the name of a template')
    .optional()
    .describe('Template of the sandbox it runs in. Default: workspace for what lies in the workspace, else none: on the host'),
};

const task = z.strictObject({
  ...common,
  ...where,
  kind: text(100).default('bootstrap').describe('What it is, for people'),
  command: text(100_000).min(1).describe('Shell command'),
  depends_on: ids('Tasks that must be ready before'),
  inputs: list(path(), 'What it reads'),
  outputs: list(path(), 'What it makes'),
  log: id('Log it belongs to').optional(),
  success: z
    .strictObject({
      type: z.enum(['path_exists', 'all_outputs_exist', 'port_listening']).describe('Kind of check'),
      path: path().optional().describe('For path_exists'),
      port: port.optional().describe('For port_listening'),
    })
    .optional()
    .describe('When it is ready. Default: all_outputs_exist where it has outputs; without either it runs each time'),
  timeout: duration.default(1_800_000).describe('Longest time, such as 10m'),
});

const healthcheck = z
  .strictObject({
    type: z.enum(['http', 'port', 'path_exists', 'process_running', 'command']).describe('Kind of check'),
    url: text().optional().describe('For http'),
    status: z.number().int().min(100).max(599).optional().describe('For http: the status that is well. Default: any below 400'),
    port: port.optional().describe('For port'),
    host: text(255).default('127.0.0.1').describe('For port'),
    path: path().optional().describe('For path_exists'),
    command: text(100_000).min(1).optional().describe('For command: exit code 0 is well'),
    interval: duration.default(250).describe('Time between two looks while it starts'),
    timeout: duration.default(5000).describe('Longest time of one look'),
  })
  .optional()
  .describe('When it is healthy. Default: while its process runs');

const command = text(100_000).min(1).optional();
const service = z.strictObject({
  ...common,
  ...where,
  kind: text(100).default('service').describe('What it is, for people'),
  artifact: id('Artifact that it runs').optional(),
  command: command.describe('Shell command, for every mode; neither this nor commands: managed elsewhere'),
  commands: z
    .strictObject({
      reuse: command.describe('With the local state there is'),
      prod: command.describe('The way that is backed by production'),
      fresh: command.describe('From a reset'),
    })
    .optional()
    .describe('Shell commands by mode; a mode that is missing is not supported'),
  depends_on: ids('Services that must be healthy before'),
  bootstrap_tasks: ids('Tasks that must be ready before'),
  env_files: ids('Env files that must be ready before; those that its repo requires need no mention'),
  log: id('Log it belongs to').optional(),
  healthcheck,
  ports: z.array(port).max(100).optional().describe('Ports it listens on. Default: that of its healthcheck'),
  start_timeout: duration.default(30_000).describe('How long up waits for its health'),
  stop_timeout: duration.default(5000).describe('Time between SIGTERM and SIGKILL'),
  restart: z.boolean().default(true).describe('Whether pulse starts it again when it falls'),
});

const log = z.strictObject({
  ...common,
  path: path().describe('Folder of it'),
  retention_days: z.number().max(36_500).optional().describe('Files that nobody wrote to for so long are removed. Default: they stay'),
});

const check = z.strictObject({
  ...common,
  type: z.enum(['path_exists', 'command', 'http', 'port']).default('path_exists').describe('Kind of check'),
  path: path().optional().describe('For path_exists'),
  command: command.describe('For command: exit code 0 is well'),
  cwd: path().optional().describe('For command. Default: the folder of the file which declares it'),
  url: text().optional().describe('For http'),
  port: port.optional().describe('For port'),
});

const bridge = z.strictObject({
  ...common,
  ...where,
  command: text(100_000).min(1).describe('Shell command that writes the outputs'),
  env_tier: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'a name such as local')
    .default('local')
    .describe('Names the outputs: <output_root>/<target>/<env_tier>.env'),
  legacy_targets: list(
    z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/, 'a name such as web')
      .describe('A target'),
    'Targets it writes env files for',
  ),
  output_root: path().describe('Folder of its outputs'),
  inputs: list(path(), 'What it reads: newer than an output makes it stale, as the declaring file does'),
});

const ledgerEntry = z.strictObject({
  legacy_surface: text(255).min(1).describe('Its name in the old tools'),
  client: common.client,
  surface_type: z.enum(['service', 'env_target', 'helper', 'flag']).default('service').describe('What it is'),
  action: z.enum(['declare', 'bridge', 'build', 'drop']).default('declare').describe('What is to be done about it'),
  ownership_state: z.enum(['covered', 'bridge-only', 'deferred', 'external']).describe('Who sees to it now'),
  intended_profiles: profiles('Profiles that should own it'),
  bridge_dependency: id('Bridge that it still runs through').nullish().describe('Bridge that it still runs through'),
  request_error: text(255)
    .nullish()
    .describe('Code that a request for it ends with. Default: LOCAL_RUNTIME_SERVICE_DEFERRED for what is not covered'),
  notes: common.notes,
});

const sections = {
  repos: list(repo, 'Folders and git repositories'),
  artifacts: list(artifact, 'Single files, known by their SHA-256'),
  env_files: list(envFile, 'Files with variables, often secret'),
  skills: list(skillSet, 'Sets of skills for agent homes'),
  tasks: list(task, 'What runs once until its success check holds'),
  services: list(service, 'What runs all the time'),
  logs: list(log, 'Folders of logs'),
  checks: list(check, 'What must hold'),
  bridges: list(bridge, 'Commands that make env files out of older tools'),
  parity_ledger: list(ledgerEntry, 'What older tools did, and who does it now'),
};

const connector = z
  .string()
  .max(63)
  .regex(profilePattern, 'lower-case letters and digits, with single dashes between them')
  .describe('A connector');

export const graphSchema = z
  .strictObject({
    ...sections,
    connectors: list(connector, 'Connectors that the box offers; a client may have some of them. SKILLBOX_CONNECTORS replaces the list'),
  })
  .prefault({})
  .describe('The declared environment: see docs/box-manifest.md');

export const selectionSchema = z
  .strictObject({
    default_client: common.client.describe('Client when none is named'),
    default_profiles: profiles('Profiles when none is named'),
  })
  .prefault({})
  .describe('What is selected when a command names nothing');

const root = (what: string, fallback: string) =>
  z
    .string()
    .regex(/^\/[^\0]*$/, 'an absolute path')
    .optional()
    .describe(`${what}. Default: ${fallback}`);

export const workspaceSchema = z
  .strictObject({
    purpose: text(1000).optional().describe('What the box is for, for people and agents'),
    agent_user: z
      .string()
      .regex(/^[a-z_][a-z0-9_-]{0,31}$/, 'the name of a user')
      .default('sandbox')
      .describe('Name of the user in the workspace'),
    provider: z.enum(['bubblewrap', 'docker']).default('bubblewrap').describe('Who makes the sandbox of the workspace. docker needs image'),
    image: templateFields.image.describe('Image for docker, which SKILLBOX_IMAGE_ALLOWLIST must name too'),
    network: templateFields.network,
    resources: templateFields.resources,
    ports: z
      .record(z.string().regex(profilePattern, 'a name such as web'), z.number().int().min(1).max(65_535))
      .default({})
      .describe('Ports by name; ${SKILLBOX_<NAME>_PORT} stands for one'),
    paths: z
      .strictObject({
        workspace_root: root('SKILLBOX_WORKSPACE_ROOT', '/workspace'),
        repos_root: root('SKILLBOX_REPOS_ROOT', 'repos below it'),
        skills_root: root('SKILLBOX_SKILLS_ROOT', 'skills below it'),
        log_root: root('SKILLBOX_LOG_ROOT', 'logs below it'),
        clients_root: root('SKILLBOX_CLIENTS_ROOT', 'workspace/clients below it'),
        home_root: root('SKILLBOX_HOME_ROOT', '/home/sandbox'),
        monoserver_root: root('SKILLBOX_MONOSERVER_ROOT', '/monoserver'),
      })
      .prefault({})
      .describe('Where folders lie in the workspace; the variables win'),
  })
  .prefault({})
  .describe('The workspace: one durable sandbox that agents live in');

export const overlaySchema = z.strictObject({
  version: z.literal(1).describe('Version of this format'),
  client: z.strictObject({
    id: z
      .string()
      .max(63)
      .regex(clientPattern, 'lower-case letters and digits, with single dashes between them')
      .describe('The name of its folder'),
    label: text(200).optional().describe('Its name, for people'),
    tenant: z
      .string()
      .regex(tenantPattern, 'lower-case letters, digits, dashes and underscores, up to 63')
      .optional()
      .describe('Tenant it acts as. Default: that of its id'),
    default_cwd: path().optional().describe('Where a shell starts'),
    repo_roots: list(
      z.strictObject({ id: id('Its name'), path: path().describe('The folder') }),
      'Folders that repos of the client lie in',
    ),
    connectors: list(connector, 'Connectors of the client, out of those of the box'),
    context: z.record(z.string(), z.unknown()).default({}).describe('More that agents should know, as it is'),
    scaffold: z
      .strictObject({
        pack: z.enum(['planning', 'skill-builder', 'hybrid']).default('planning').describe('What the folder of the client was made with'),
      })
      .optional()
      .describe('How the folder of the client was made'),
    acceptance_probe: z
      .strictObject({
        command: z.array(text(10_000)).min(1).max(1000).describe('Program and its arguments'),
        cwd: path().optional().describe('Folder it runs in'),
        env,
        profiles: profiles('Profiles that it needs'),
        timeout_seconds: z.number().positive().max(3600).default(60).describe('Longest time'),
      })
      .optional()
      .describe('What shows that the client works'),
    ...sections,
  }),
});

type DeclaredGraph = z.output<typeof graphSchema>;
export type DeclaredSections = Pick<DeclaredGraph, keyof typeof sections>;
export type Declared<S extends keyof typeof sections> = DeclaredSections[S][number];
export type WorkspaceSettings = z.output<typeof workspaceSchema>;
export type Overlay = z.output<typeof overlaySchema>;
