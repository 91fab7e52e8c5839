/** Flags, environment and defaults become one typed object here; nothing else reads process.env. */

import { existsSync, readFileSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import { z } from 'zod';
import { diskUid } from './sandbox/disk-owner.ts';
import { parseDuration, parseSize } from './units.ts';

const size = (fallback: string) => z.string().default(fallback).transform(asUnit(parseSize, 'a size such as 256Mi'));
/** The longest time a timer can be set to; a longer one would go off at once. */
const longestMs = 2 ** 31 - 1;
const time = (fallback: string) =>
  z
    .string()
    .default(fallback)
    .transform(asUnit(parseDuration, 'a time such as 90s or 2m'))
    .refine((ms) => ms <= longestMs, 'expected at most 24 days');
const someTime = (fallback: string) => time(fallback).refine((ms) => ms > 0, 'expected more than 0');
const number = () => z.coerce.number('expected a number');
const count = (fallback: number, least = 0) => number().int('expected a whole number').min(least).default(fallback);
const url = () => z.url({ protocol: /^https?$/, error: 'expected an address that starts with http:// or https://' });

/** A key in it would end up in the sandbox and in build logs. */
const index = () =>
  url().refine(
    (text) => !URL.canParse(text) || (new URL(text).username === '' && new URL(text).password === ''),
    'expected no user or password in it',
  );

/** Where a folder lies in the workspace. What every sandbox has of its own cannot be covered. */
const insideRoot = () =>
  z
    .string()
    .regex(/^\/[^\0]*$/, 'expected an absolute path such as /workspace')
    .refine(
      (path) =>
        !/^\/*(?:(?:bin|boot|dev|etc|lib|lib32|lib64|opt\/+skillbox|proc|root|run|sandbox|sbin|sys|tmp|usr|var)(?:\/|$)|(?:opt\/*)?$)|(?:^|\/)\.{1,2}(?:\/|$)/.test(
          path,
        ),
      'expected a folder that a sandbox has no other use for, such as /workspace',
    )
    .optional();

/** One row for each setting: its variable, its schema with the default, what it is for. `secret` values are never shown. */
export const settings = {
  bind: setting(
    'SKILLBOX_BIND',
    z.string().default('127.0.0.1'),
    'Address the server listens on. Anything but loopback needs TLS in front of it.',
  ),
  port: setting(
    'SKILLBOX_API_PORT',
    number().int('expected a whole number').min(0).max(65535).default(8080),
    'Port the server listens on; 0 takes a free one.',
  ),
  manifest: setting(
    'SKILLBOX_MANIFEST',
    z.string().optional(),
    'Path of skillbox.yaml. Without it the file is looked for upward from the working directory.',
  ),
  stateRoot: setting(
    'SKILLBOX_STATE_ROOT',
    z.string().optional(),
    'Folder of everything the box keeps. Default: .skillbox-state beside the manifest, or in the working directory.',
  ),
  publicUrl: setting(
    'SKILLBOX_PUBLIC_URL',
    url().optional(),
    'Address that callers use, for links in answers. Default: the host of the request.',
  ),
  previewDomain: setting(
    'SKILLBOX_PREVIEW_DOMAIN',
    z
      .string()
      .regex(/^[a-z0-9-]+(\.[a-z0-9-]+)*$/, 'expected a domain such as box.example')
      .optional(),
    'Domain whose subdomains <port>-<sandbox> lead to this box: each preview gets a host of its own. Default: /preview/ paths.',
  ),
  advertiseUrl: setting(
    'SKILLBOX_ADVERTISE_URL',
    url().optional(),
    'Address at which other hosts of the box reach this one. Default: bind and port.',
  ),
  dbDsn: setting('SKILLBOX_DB_DSN', z.string().optional(), 'PostgreSQL connection string. Default: SQLite in the state root.', true),
  dbTimeout: setting(
    'SKILLBOX_DB_TIMEOUT',
    someTime('10s'),
    'How long a statement on PostgreSQL may take; then the request that needs it answers 503.',
  ),
  s3Endpoint: setting('SKILLBOX_S3_ENDPOINT', url().optional(), 'S3 endpoint for blobs. Default: a folder in the state root.'),
  s3Bucket: setting('SKILLBOX_S3_BUCKET', z.string().default('skillbox'), 'Bucket for blobs; made when it does not exist.'),
  s3Region: setting('SKILLBOX_S3_REGION', z.string().default('us-east-1'), 'Region of the bucket.'),
  s3AccessKey: setting('SKILLBOX_S3_ACCESS_KEY', z.string().optional(), 'Access key for S3.', true),
  s3SecretKey: setting('SKILLBOX_S3_SECRET_KEY', z.string().optional(), 'Secret key for S3.', true),
  secretKey: setting(
    'SKILLBOX_SECRET_KEY',
    z.string().min(32).optional(),
    'Key that signs links and seals named secrets and what waits in the queue; the same on all hosts of a box. Default: made at first start, kept in the state root.',
    true,
  ),
  defaultTimeout: setting('SKILLBOX_DEFAULT_TIMEOUT', someTime('120s'), 'Time limit of an execution that names none.'),
  maxTimeout: setting('SKILLBOX_MAX_TIMEOUT', someTime('10m'), 'Longest time limit an execution can have.'),
  defaultMemory: setting('SKILLBOX_DEFAULT_MEMORY', size('256Mi'), 'Memory of an execution whose skill names none.'),
  maxMemory: setting('SKILLBOX_MAX_MEMORY', size('2Gi'), 'Most memory a skill can ask for.'),
  defaultCpu: setting('SKILLBOX_DEFAULT_CPU', number().positive().default(0.5), 'CPUs of an execution whose skill names none.'),
  maxCpu: setting('SKILLBOX_MAX_CPU', number().positive().default(2), 'Most CPUs a skill can ask for.'),
  maxProcesses: setting('SKILLBOX_MAX_PROCESSES', count(128, 1), 'Processes and threads of one execution.'),
  maxOpenFiles: setting('SKILLBOX_MAX_OPEN_FILES', count(1024, 1), 'Open files of one process in an execution.'),
  maxDisk: setting(
    'SKILLBOX_MAX_DISK',
    size('128Mi'),
    'Size of /sandbox and /tmp of one execution together. It is memory, and counts as such.',
  ),
  diskReserve: setting(
    'SKILLBOX_DISK_RESERVE',
    size('512Mi'),
    'What the file system of the state root must have left: below it no sandbox is made, and what writes in living ones is ended.',
  ),
  maxOutputSize: setting('SKILLBOX_MAX_OUTPUT_SIZE', size('1Mi'), 'Largest output.json.'),
  maxLogSize: setting('SKILLBOX_MAX_LOG_SIZE', size('1Mi'), 'Most bytes of stdout and stderr that are kept.'),
  maxArtifacts: setting('SKILLBOX_MAX_ARTIFACTS', count(100), 'Most files an execution can leave.'),
  maxArtifactSize: setting('SKILLBOX_MAX_ARTIFACT_SIZE', size('50Mi'), 'Most bytes of artifacts of one execution.'),
  maxSkillSize: setting('SKILLBOX_MAX_SKILL_SIZE', size('50Mi'), 'Largest skill, packed and unpacked.'),
  maxRequestSize: setting('SKILLBOX_MAX_REQUEST_SIZE', size('16Mi'), 'Largest JSON body of a request.'),
  maxConcurrentExecs: setting(
    'SKILLBOX_MAX_CONCURRENT_EXECS',
    count(Math.max(10, availableParallelism() * 2), 1),
    'Executions that run at once on this host. Default: 10, or twice the cores if that is more.',
  ),
  tenantConcurrentExecs: setting(
    'SKILLBOX_TENANT_CONCURRENT_EXECS',
    count(8, 1),
    'Executions of one tenant that run at once on this host.',
  ),
  queueSize: setting('SKILLBOX_QUEUE_SIZE', count(1000), 'Executions that may wait on this host; then 429.'),
  tenantQueueSize: setting('SKILLBOX_TENANT_QUEUE_SIZE', count(500), 'Executions of one tenant that may wait; then 429.'),
  queueTimeout: setting('SKILLBOX_QUEUE_TIMEOUT', time('60s'), 'Longest wait for a slot.'),
  tenantRate: setting(
    'SKILLBOX_TENANT_RATE',
    number().positive().default(200),
    'Requests per second of one tenant, with bursts of twice that.',
  ),
  tenantStorage: setting('SKILLBOX_TENANT_STORAGE', size('5Gi'), 'Bytes of skills, artifacts and logs one tenant may keep.'),
  tenantSandboxes: setting('SKILLBOX_TENANT_SANDBOXES', count(100), 'Living sandboxes one tenant may have; then 429.'),
  pipIndex: setting(
    'SKILLBOX_PIP_INDEX',
    index().optional(),
    'Index that requirements.txt of skills is installed from (the address of its simple API). Default: the one that pip itself has.',
  ),
  npmRegistry: setting(
    'SKILLBOX_NPM_REGISTRY',
    index().optional(),
    'Registry that package-lock.json of skills is installed from. Default: the one that npm itself has.',
  ),
  packageHosts: setting(
    'SKILLBOX_PACKAGE_HOSTS',
    z.string().default(''),
    'More hosts that builds of dependencies may reach, with commas between them, such as the one that an index sends downloads to. The hosts of the indexes themselves, and that of the files of the index that pip has, need no mention.',
  ),
  buildTimeout: setting('SKILLBOX_BUILD_TIMEOUT', someTime('10m'), 'Longest time for installing the dependencies of a skill.'),
  buildMemory: setting('SKILLBOX_BUILD_MEMORY', size('1Gi'), 'Memory for installing the dependencies of a skill.'),
  maxBuilds: setting('SKILLBOX_MAX_BUILDS', count(2, 1), 'Skills whose dependencies are installed at once on this host.'),
  maxDependenciesSize: setting('SKILLBOX_MAX_DEPENDENCIES_SIZE', size('1Gi'), 'Largest installed dependencies of one skill.'),
  maxSandboxes: setting(
    'SKILLBOX_MAX_SANDBOXES',
    count(0),
    'Sandboxes on this machine, those that are paused aside; a create beyond goes to the next candidate of its template. 0: no limit.',
  ),
  minFreeMemory: setting(
    'SKILLBOX_MIN_FREE_MEMORY',
    size('0'),
    'Memory of this machine that must be available for one more sandbox; with less, a create goes to the next candidate.',
  ),
  placement: setting(
    'SKILLBOX_PLACEMENT',
    z.string().default(''),
    'Hosts for sandboxes over SSH, in order of preference, with commas between them. Default: as templates say.',
  ),
  providerPrices: setting(
    'SKILLBOX_PROVIDER_PRICES',
    z
      .string()
      .regex(/^(\s*[a-z0-9-]+=\d+(\.\d+)?\s*(,|$))*$/, 'expected prices such as e2b=0.12, with commas between them')
      .default(''),
    'What an hour at a provider costs you, such as e2b=0.12: what costs nothing is asked first, then the cheapest. Default: e2b comes last.',
  ),
  dockerHost: setting(
    'SKILLBOX_DOCKER_HOST',
    z.string().optional(),
    'Docker-compatible engine on this machine: unix:///var/run/docker.sock, or the loopback address of a socket proxy (docs/providers/docker.md). Default: none, and no such provider.',
  ),
  imageAllowlist: setting(
    'SKILLBOX_IMAGE_ALLOWLIST',
    z.string().default(''),
    'Images that sandboxes by docker may be made of and skills may run in, with commas between them; empty denies all.',
  ),
  dockerRuntime: setting(
    'SKILLBOX_DOCKER_RUNTIME',
    z.string().optional(),
    'Runtime of the engine for sandboxes, such as runsc. Default: that of the engine.',
  ),
  sshHosts: setting(
    'SKILLBOX_SSH_HOSTS',
    z.string().optional(),
    'File that names the machines which the ssh and compose-ssh providers may use (docs/providers/ssh.md). Default: none, and no such providers.',
  ),
  composeRoots: setting(
    'SKILLBOX_COMPOSE_ROOTS',
    z.string().default(''),
    'Folders, with commas between them, whose compose projects may be copied to those machines (docs/providers/compose-ssh.md). Default: none.',
  ),
  e2bApiKey: setting(
    'SKILLBOX_E2B_API_KEY',
    z.string().optional(),
    'Key for a server that speaks the E2B protocol (docs/providers/e2b.md). Default: none, and no e2b provider.',
    true,
  ),
  e2bDomain: setting('SKILLBOX_E2B_DOMAIN', z.string().default('e2b.app'), 'Domain of that server.'),
  e2bApiUrl: setting('SKILLBOX_E2B_API_URL', url().optional(), 'Address of its control plane. Default: https://api.<domain>.'),
  e2bSandboxUrl: setting(
    'SKILLBOX_E2B_SANDBOX_URL',
    url().optional(),
    'One address for the data plane of all its sandboxes. Default: a host for each below the domain.',
  ),
  egressPrivate: setting(
    'SKILLBOX_EGRESS_PRIVATE',
    z.string().default(''),
    'Hosts and ranges in private networks that rules of sandboxes may reach, such as db.internal:5432 or 10.1.0.0/16, with commas between them (docs/network.md). Default: none.',
  ),
  egressDns: setting(
    'SKILLBOX_EGRESS_DNS',
    z.string().default(''),
    'DNS servers for names that sandboxes ask for, as address or address:port, with commas between them. Default: those of the system.',
  ),
  egressCa: setting(
    'SKILLBOX_EGRESS_CA',
    z.string().optional(),
    'File with more certificate authorities (PEM) that the egress proxy trusts where it looks into TLS (docs/secrets.md). Default: those of the machine only.',
  ),
  minFreeDisk: setting(
    'SKILLBOX_MIN_FREE_DISK',
    size('100Mi'),
    'Room that the file system of the state root must have; with less, /ready says that the box is not.',
  ),
  webhookPrivateAddresses: setting(
    'SKILLBOX_WEBHOOK_PRIVATE_ADDRESSES',
    z.enum(['refuse', 'allow']).default('refuse'),
    'Whether webhooks made over the API may lead to loopback, private and link-local addresses. Those of the manifest may.',
  ),
  bodyTimeout: setting(
    'SKILLBOX_BODY_TIMEOUT',
    someTime('60s'),
    'How long the body of a request may hardly move: less than 1 KiB in that time ends it.',
  ),
  maxConnections: setting(
    'SKILLBOX_MAX_CONNECTIONS',
    count(0),
    'Connections at once; one more is answered 503. 0: three quarters of the descriptors that the system allows, for sandboxes need some too.',
  ),
  drainTimeout: setting('SKILLBOX_DRAIN_TIMEOUT', time('20s'), 'How long a stopping server lets running executions finish.'),
  leaseTtl: setting(
    'SKILLBOX_LEASE_TTL',
    someTime('15s'),
    'After how long without a heartbeat a host counts as gone and others close its work.',
  ),
  standby: setting('SKILLBOX_STANDBY', count(2), 'Launchers that stand ready with their cgroup joined; 0 starts each on demand.'),
  warmMemory: setting(
    'SKILLBOX_WARM_MEMORY',
    size('512Mi'),
    'Memory that sandboxes made ready ahead may hold, those for runs of skills and those for creates together; 0 makes none.',
  ),
  warmCopies: setting(
    'SKILLBOX_WARM_COPIES',
    z.enum(['auto', 'always', 'never']).default('auto'),
    'When a Python run begins as a copy of a started interpreter: under sustained load, always, or never (each run then has its own seed for hashes and memory layout).',
  ),
  warmIdle: setting('SKILLBOX_WARM_IDLE', time('5m'), 'How long sandboxes stay ready for a skill or a template that nobody uses.'),
  logLevel: setting(
    'SKILLBOX_LOG_LEVEL',
    z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
    'Least severity that is logged.',
  ),
  name: setting('SKILLBOX_NAME', z.string().optional(), 'Name of the box, for people. Default: name of the manifest, else skillbox.'),
  workspaceRoot: setting('SKILLBOX_WORKSPACE_ROOT', insideRoot(), 'Root of the workspace, as it is called inside. Default: /workspace.'),
  workspaceHostRoot: setting(
    'SKILLBOX_WORKSPACE_HOST_ROOT',
    z.string().optional(),
    'Where it lies on the host. Default: workspace in the state root.',
  ),
  reposRoot: setting('SKILLBOX_REPOS_ROOT', insideRoot(), 'Repos, inside. Default: repos in the root of the workspace.'),
  reposHostRoot: setting('SKILLBOX_REPOS_HOST_ROOT', z.string().optional(), 'Repos, on the host. Default: where the workspace has them.'),
  skillsRoot: setting('SKILLBOX_SKILLS_ROOT', insideRoot(), 'Sources of skills, inside. Default: skills in the root of the workspace.'),
  skillsHostRoot: setting(
    'SKILLBOX_SKILLS_HOST_ROOT',
    z.string().optional(),
    'Sources of skills, on the host. Default: where the workspace has them.',
  ),
  logRoot: setting('SKILLBOX_LOG_ROOT', insideRoot(), 'Logs, inside. Default: logs in the root of the workspace.'),
  logHostRoot: setting('SKILLBOX_LOG_HOST_ROOT', z.string().optional(), 'Logs, on the host. Default: where the workspace has them.'),
  homeRoot: setting('SKILLBOX_HOME_ROOT', insideRoot(), 'Home of agents, inside. Default: /home/sandbox.'),
  homeHostRoot: setting('SKILLBOX_HOME_HOST_ROOT', z.string().optional(), 'Home of agents, on the host. Default: home in the state root.'),
  monoserverRoot: setting('SKILLBOX_MONOSERVER_ROOT', insideRoot(), 'Tree of repos that clients share, inside. Default: /monoserver.'),
  monoserverHostRoot: setting(
    'SKILLBOX_MONOSERVER_HOST_ROOT',
    z.string().optional(),
    'Tree of repos that clients share, on the host. Default: monoserver in the state root.',
  ),
  clientsRoot: setting(
    'SKILLBOX_CLIENTS_ROOT',
    insideRoot(),
    'Overlays of clients, inside, read-only. Default: workspace/clients in the root of the workspace.',
  ),
  clientsHostRoot: setting(
    'SKILLBOX_CLIENTS_HOST_ROOT',
    z.string().optional(),
    'Overlays of clients, on the host. Default: clients in the state root.',
  ),
  connectors: setting(
    'SKILLBOX_CONNECTORS',
    z
      .string()
      .regex(/^[a-z0-9-]+(\s*,\s*[a-z0-9-]+)*$/, 'expected names with commas between them')
      .optional(),
    'Connectors that the box offers, with commas between them. Default: those of the manifest.',
  ),
  pulseInterval: setting(
    'SKILLBOX_PULSE_INTERVAL',
    someTime('30s'),
    'Time between two whole looks of pulse; a process that ends is seen at once.',
  ),
  serverUrl: setting('SKILLBOX_SERVER_URL', url().optional(), 'CLI: address of the box. Default: the local one.'),
  apiKey: setting('SKILLBOX_API_KEY', z.string().optional(), 'CLI: key. Default: admin.key of the local state root.', true),
  tenant: setting('SKILLBOX_TENANT', z.string().optional(), 'CLI: act for this tenant (administrators only).'),
} as const;

export type SettingName = keyof typeof settings;
export type Settings = { [K in SettingName]: z.output<(typeof settings)[K]['schema']> };

export interface Config extends Settings {
  /** Absolute. */
  readonly stateRoot: string;
  /** Absolute path of the manifest, undefined when built-in defaults are the manifest. */
  readonly manifest: string | undefined;
  /** Folder that relative paths of the manifest start from. */
  readonly baseDir: string;
  /** Whether this is a program in the workspace of the box that it asks. */
  readonly inside: boolean;
  /** A variable that the manifest names, from the environment or `.env`; blank counts as not given. */
  variable(name: string): string | undefined;
  /** A variable that a placeholder names, also out of `.env.example`; blank counts, since somebody wrote it. */
  placeholder(name: string): VariableOrigin | undefined;
  /** Names that a placeholder could be meant to be. */
  placeholderNames(): string[];
}

export interface VariableOrigin {
  readonly value: string;
  /** undefined: the environment. */
  readonly file: string | undefined;
  /** From 1; 0: the environment. */
  readonly line: number;
}

export interface ConfigSources {
  readonly flags?: Partial<Record<SettingName, string | undefined>>;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

export type SettingSource = 'flag' | 'environment' | '.env' | '.env.example' | 'default';

/** Those of the graph, whose defaults a box may keep in `.env.example`. */
const exemplary: ReadonlySet<SettingName> = new Set<SettingName>([
  'name',
  'workspaceRoot',
  'workspaceHostRoot',
  'reposRoot',
  'reposHostRoot',
  'skillsRoot',
  'skillsHostRoot',
  'logRoot',
  'logHostRoot',
  'homeRoot',
  'homeHostRoot',
  'monoserverRoot',
  'monoserverHostRoot',
  'clientsRoot',
  'clientsHostRoot',
  'connectors',
  'pulseInterval',
]);

/** Flags win over the environment, the environment over `.env` beside the manifest, that over defaults. Blank counts as not given. */
export function loadConfig(sources: ConfigSources = {}): Config {
  return explainConfig(sources).config;
}

/** The configuration, and who gave each of its values. */
export function explainConfig({ flags = {}, env = process.env, cwd = process.cwd() }: ConfigSources = {}): {
  readonly config: Config;
  readonly sources: ReadonlyMap<SettingName, SettingSource>;
} {
  // What lies around in a workspace is work, and no box of its own.
  const inside = given(env[insideVariable]);
  const start = resolve(inside ? '/' : cwd);
  const manifest = findManifest(given(flags.manifest) ?? given(env[settings.manifest.env]), start);
  const baseDir = manifest ? dirname(manifest) : start;
  const dotEnv = readDotEnv(join(baseDir, '.env'));
  const example = readDotEnv(join(baseDir, '.env.example'));
  const texts = new Map<SettingName, string | undefined>();
  const sources = new Map<SettingName, SettingSource>();
  const values: Record<string, unknown> = {};
  for (const name of Object.keys(settings) as SettingName[]) {
    const { env: variable, schema } = settings[name];
    const places = [
      ['flag', flags[name]],
      ['environment', env[variable]],
      ['.env', dotEnv.get(variable)?.value],
      ['.env.example', exemplary.has(name) ? example.get(variable)?.value : undefined],
    ] as const;
    const [source, text] = places.find(([, candidate]) => given(candidate) !== undefined) ?? ['default', undefined];
    const parsed = schema.safeParse(text);
    if (!parsed.success) throw unusable(variable, parsed.error.issues.map((issue) => issue.message).join('; '));
    texts.set(name, text);
    sources.set(name, source);
    values[name] = parsed.data;
  }
  const config = values as unknown as Settings;
  const stateRoot = resolve(baseDir, config.stateRoot ?? '.skillbox-state');
  const variable = (name: string): string | undefined => given(env[name]) ?? given(dotEnv.get(name)?.value);
  const placeholder = (name: string): VariableOrigin | undefined => {
    const value = env[name];
    return value === undefined ? (dotEnv.get(name) ?? example.get(name)) : { value, file: undefined, line: 0 };
  };
  const placeholderNames = (): string[] => [...new Set([...dotEnv.keys(), ...example.keys(), ...Object.keys(env)])];
  return {
    config: {
      ...{ ...config, ...defaultsWithinMaxima(config, texts) },
      ...{ manifest, baseDir, stateRoot, variable, placeholder, placeholderNames },
      inside: inside !== undefined && config.serverUrl === inside,
    },
    sources,
  };
}

/** Set by the program that a workspace shows: where its box answers. */
const insideVariable = 'SKILLBOX_INSIDE';

export const isInside = (env: NodeJS.ProcessEnv = process.env): boolean => given(env[insideVariable]) !== undefined;

/** NO_COLOR with any value means no colours (no-color.org), and a dumb terminal has none. */
export function wantsColour(env: NodeJS.ProcessEnv = process.env): boolean {
  return !env.NO_COLOR && env.TERM !== 'dumb';
}

/** Environment for a child server, so that it sees exactly this configuration's variables. */
export function inheritedEnv(): NodeJS.ProcessEnv {
  return process.env;
}

function findManifest(named: string | undefined, cwd: string): string | undefined {
  if (named) {
    const path = resolve(cwd, named);
    if (!existsSync(path))
      throw new BoxError('manifest_invalid', `There is no manifest at ${path}.`, { hint: 'Correct --manifest or SKILLBOX_MANIFEST.' });
    return path;
  }
  for (let dir = cwd; ; dir = dirname(dir)) {
    const path = join(dir, 'skillbox.yaml');
    if (existsSync(path)) return trusted(path);
    if (dirname(dir) === dir) return undefined;
  }
}

/** What was written in a workspace decides nothing on the host, whoever happens to stand in its folder. Who means it names it. */
function trusted(path: string): string {
  if (statSync(path).uid !== diskUid) return path;
  throw new BoxError('manifest_invalid', `${path} was written in a workspace, and is not taken for the manifest of a box.`, {
    hint: 'Go to the folder of your own box, or name its manifest with --manifest.',
  });
}

/** What lowers a maximum means the default too, unless the default was chosen: then the two contradict each other. */
function defaultsWithinMaxima(config: Settings, texts: ReadonlyMap<SettingName, string | undefined>): Partial<Settings> {
  const lowered: Partial<Settings> = {};
  for (const [fallback, most] of [
    ['defaultTimeout', 'maxTimeout'],
    ['defaultMemory', 'maxMemory'],
    ['defaultCpu', 'maxCpu'],
  ] as const) {
    if (config[fallback] <= config[most]) continue;
    if (texts.get(fallback) !== undefined) throw unusable(settings[fallback].env, `it is more than ${settings[most].env}`);
    lowered[fallback] = config[most];
  }
  return lowered;
}

function readDotEnv(path: string): Map<string, VariableOrigin> {
  const values = new Map<string, VariableOrigin>();
  if (!existsSync(path)) return values;
  const lines = readFileSync(path, 'utf8')
    .replace(/^\uFEFF/, '')
    .split('\n');
  for (const [index, line] of lines.entries()) {
    const match = /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=(.*)$/.exec(line.trimEnd());
    if (match?.[1]) values.set(match[1], { value: unquoted(match[2] ?? ''), file: path, line: index + 1 });
  }
  return values;
}

/** As a shell reads it: quotes protect everything, and # starts a comment only after a space, so a#b stays whole. */
function unquoted(text: string): string {
  const quoted = /^\s*(?:"([^"]*)"|'([^']*)')\s*(?:#.*)?$/.exec(text);
  return quoted ? (quoted[1] ?? quoted[2] ?? '') : text.replace(/\s#.*$/, '').trim();
}

function given(text: string | undefined): string | undefined {
  return text?.trim() ? text : undefined;
}

function unusable(variable: string, reason: string): BoxError {
  return new BoxError('config_invalid', `${variable} is not usable: ${reason}`, { details: { variable } });
}

function setting<S extends z.ZodType>(env: string, schema: S, description: string, secret = false) {
  return { env, schema, description, secret };
}

function asUnit(parse: (text: string) => number | undefined, expected: string) {
  return (text: string, context: z.core.$RefinementCtx<string>): number => {
    const value = parse(text);
    if (value !== undefined) return value;
    context.addIssue(`expected ${expected}`);
    return z.NEVER;
  };
}
