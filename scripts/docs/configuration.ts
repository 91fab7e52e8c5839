/** docs/configuration.md and .env.example, from the rows of config.ts. */

import { z } from 'zod';
import { type SettingName, settings } from '../../packages/box/src/config.ts';
import { code, generatedNote, table } from './markdown.ts';

const groups = {
  server: 'Server',
  storage: 'Storage',
  limits: 'Limits of executions',
  tenants: 'Tenants and load',
  dependencies: 'Dependencies of skills',
  providers: 'Providers of sandboxes',
  network: 'Network of sandboxes',
  graph: 'Workspace and graph',
  cli: 'Command line',
} as const;

/** A setting that is not placed here does not compile. */
const groupOf: Record<SettingName, keyof typeof groups> = {
  bind: 'server',
  name: 'graph',
  workspaceRoot: 'graph',
  workspaceHostRoot: 'graph',
  reposRoot: 'graph',
  reposHostRoot: 'graph',
  skillsRoot: 'graph',
  skillsHostRoot: 'graph',
  logRoot: 'graph',
  logHostRoot: 'graph',
  homeRoot: 'graph',
  homeHostRoot: 'graph',
  monoserverRoot: 'graph',
  monoserverHostRoot: 'graph',
  clientsRoot: 'graph',
  clientsHostRoot: 'graph',
  connectors: 'graph',
  pulseInterval: 'graph',
  port: 'server',
  manifest: 'server',
  publicUrl: 'server',
  previewDomain: 'server',
  advertiseUrl: 'server',
  secretKey: 'server',
  logLevel: 'server',
  bodyTimeout: 'server',
  maxConnections: 'tenants',
  drainTimeout: 'server',
  webhookPrivateAddresses: 'server',
  leaseTtl: 'server',
  standby: 'server',
  warmMemory: 'server',
  warmCopies: 'server',
  warmIdle: 'server',
  stateRoot: 'storage',
  dbDsn: 'storage',
  dbTimeout: 'storage',
  minFreeDisk: 'storage',
  s3Endpoint: 'storage',
  s3Bucket: 'storage',
  s3Region: 'storage',
  s3AccessKey: 'storage',
  s3SecretKey: 'storage',
  defaultTimeout: 'limits',
  maxTimeout: 'limits',
  defaultMemory: 'limits',
  maxMemory: 'limits',
  defaultCpu: 'limits',
  maxCpu: 'limits',
  maxProcesses: 'limits',
  maxOpenFiles: 'limits',
  maxDisk: 'limits',
  diskReserve: 'limits',
  maxOutputSize: 'limits',
  maxLogSize: 'limits',
  maxArtifacts: 'limits',
  maxArtifactSize: 'limits',
  maxSkillSize: 'limits',
  maxRequestSize: 'limits',
  maxConcurrentExecs: 'tenants',
  tenantConcurrentExecs: 'tenants',
  queueSize: 'tenants',
  tenantQueueSize: 'tenants',
  queueTimeout: 'tenants',
  tenantRate: 'tenants',
  tenantStorage: 'tenants',
  tenantSandboxes: 'tenants',
  maxSandboxes: 'providers',
  minFreeMemory: 'providers',
  placement: 'providers',
  providerPrices: 'providers',
  egressPrivate: 'network',
  egressDns: 'network',
  egressCa: 'network',
  pipIndex: 'dependencies',
  npmRegistry: 'dependencies',
  packageHosts: 'dependencies',
  buildTimeout: 'dependencies',
  buildMemory: 'dependencies',
  maxBuilds: 'dependencies',
  maxDependenciesSize: 'dependencies',
  dockerHost: 'providers',
  imageAllowlist: 'providers',
  dockerRuntime: 'providers',
  sshHosts: 'providers',
  composeRoots: 'providers',
  e2bApiKey: 'providers',
  e2bDomain: 'providers',
  e2bApiUrl: 'providers',
  e2bSandboxUrl: 'providers',
  serverUrl: 'cli',
  apiKey: 'cli',
  tenant: 'cli',
};

export function renderConfiguration(): string {
  const sections = describedGroups().map(({ title, rows }) => {
    const lines = rows.map(({ variable, value, words, what }) => [code(variable), value === undefined ? words : code(value), what]);
    return `## ${title}\n\n${table(['variable', 'default', 'what'], lines)}\n`;
  });
  return `${generatedNote}

# Configuration

Configuration belongs to one process; what belongs to the box as a whole stands in its [manifest](manifest.md). Every setting has a default, so none of this is needed to start.

A value comes from the first of these that gives one:

1. a flag of the command, such as \`--manifest\`
2. the environment
3. \`.env\` beside the manifest, or in the working directory when there is none
4. for the rows of "Workspace and graph": \`.env.example\` beside the manifest, where a line is not commented out
5. the default

A blank value counts as not given. A value that cannot be used stops the command before anything is done, with \`config_invalid\` and the name of the variable. \`SKILLBOX_MANIFEST\` in \`.env\` has no effect, since \`.env\` is found by way of the manifest. [.env.example](../.env.example) has every variable, ready to copy.

Sizes are written \`256Mi\`, \`2Gi\`, \`50MB\`, or as a number of bytes; times \`500ms\`, \`90s\`, \`2m30s\`, \`1h\`, or as a number of seconds. A relative state root starts from the folder of the manifest.

When a maximum is set below a default that was not set, the default follows it; a default that is set above its maximum is refused.

${sections.join('\n')}`;
}

export function renderEnvExample(): string {
  const sections = describedGroups().map(({ title, rows }) => {
    const lines = rows.map(
      ({ variable, value, words, what }) => `# ${what}${words && ` Default: ${words}.`}\n# ${variable}=${value ?? ''}\n`,
    );
    return `# --- ${title} ---\n\n${lines.join('\n')}`;
  });
  return `# Generated by scripts/generate-docs.ts. Copy to .env beside skillbox.yaml and uncomment what you change.
# Flags and the environment win over this file. More: docs/configuration.md

${sections.join('\n')}`;
}

function describedGroups() {
  return Object.entries(groups).map(([group, title]) => ({
    title,
    rows: (Object.keys(settings) as SettingName[]).filter((name) => groupOf[name] === group).map(describe),
  }));
}

/** A default told in the description depends on the machine or on other settings, and wins over the value here and now. */
function describe(name: SettingName) {
  const { env: variable, schema, description, secret } = settings[name];
  const [, text = description, told] = /^(.*?)\s*Default: (.*)\.$/.exec(description) ?? [];
  const { default: value } = z.toJSONSchema(schema, { io: 'input' });
  const what = secret ? `${text} Secret.` : text;
  return told === undefined && value !== undefined
    ? { variable, value: String(value), words: '', what }
    : { variable, value: undefined, words: told ?? 'none', what };
}
