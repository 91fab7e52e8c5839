/** docs/manifest.md and the JSON Schema for editors. */

import { findingKinds } from '../../packages/box/src/manifest/finding.ts';
import { type JsonSchema, manifestJsonSchema, overlayJsonSchema } from '../../packages/box/src/manifest/json-schema.ts';
import { code, generatedNote, table } from './markdown.ts';

export function renderManifestSchema(): string {
  return `${JSON.stringify(manifestJsonSchema(), null, 2)}\n`;
}

export function renderOverlaySchema(): string {
  return `${JSON.stringify(overlayJsonSchema(), null, 2)}\n`;
}

export function renderManifest(): string {
  const { properties = {}, required = [] } = manifestJsonSchema();
  const top = Object.entries(properties) as [string, JsonSchema][];
  const sections = top.filter(([name, schema]) => schema.type === 'object' && name !== 'templates' && name !== 'graph');
  const items = Object.entries(asSchema(properties.graph).properties ?? {}) as [string, JsonSchema][];
  const serviceSchema = asSchema(asSchema(asSchema(properties.graph).properties?.services).items);
  const client = asSchema(overlayJsonSchema().properties?.client);
  const own = Object.entries(client.properties ?? {}).filter(
    ([name]) => !items.some(([section]) => section === name && name !== 'connectors'),
  ) as [string, JsonSchema][];
  const findings = Object.entries(findingKinds).map(([name, { severity, meaning, fix }]) => [code(name), severity, meaning, fix]);
  return `${generatedNote}

# Manifest

\`skillbox.yaml\` says what a box is. It is found by \`--manifest\`, then \`SKILLBOX_MANIFEST\`, then upward from the working directory; without one the defaults below are the manifest. The state of the box lies in \`.skillbox-state\` beside it. What the manifest declares is read-only at run time. What belongs to one process, such as its port, is [configuration](configuration.md).

## Example

Every key there is, items of the graph with those that fit together; all but \`version\` can be left out.

\`\`\`yaml
${example}\`\`\`

An editor that speaks YAML (the yaml-language-server of VS Code, Neovim and others) completes and checks the file when its first line names the [schema](schema/skillbox.schema.json), as a path from the manifest or as an address:

\`\`\`yaml
# yaml-language-server: $schema=./docs/schema/skillbox.schema.json
\`\`\`

## Keys

${keyTable(top, required)}
${sections.map(([name, schema]) => `\n### ${name}\n\n${sentence(schema.description)}\n\n${keyTable(nestedKeys(name, schema), [])}\n`).join('')}
### graph

${sentence(asSchema(properties.graph).description)} Every section is a list of items; each key below is one of an item. Text may have placeholders such as \`\${SKILLBOX_REPOS_ROOT}\`, and a path may be one of the workspace, one of the host, or one from the folder of the file: [box-manifest.md](box-manifest.md) tells the rules.

${keyTable(items, [])}

Keys of every item (an entry of \`parity_ledger\` has no \`id\`, \`required\` and \`profiles\`):

${keyTable(itemKeys({ properties: pick(serviceSchema.properties ?? {}, (name) => common.includes(name)) } as JsonSchema), serviceSchema.required ?? [])}
${items
  .filter(([, schema]) => asSchema(schema.items).type === 'object')
  .map(
    ([name, schema]) =>
      `\n#### graph.${name}\n\n${keyTable(itemKeys(withoutCommon(asSchema(schema.items))), asSchema(schema.items).required ?? [])}\n`,
  )
  .join('')}
### Overlays

\`clients/<id>/overlay.yaml\` in the state root (\`SKILLBOX_CLIENTS_HOST_ROOT\`) adds to the graph for one client. Its [schema](schema/overlay.schema.json) is for editors too. It has \`version: 1\` and \`client\`, with the sections of the graph above (all but \`connectors\`, which is a part of those of the box) and:

${keyTable(itemKeys({ properties: Object.fromEntries(own) } as JsonSchema), client.required ?? [])}

### Paths of sandboxes

Paths and interpreters are checked on the host that reads the manifest, behind all links. Closed to \`sandbox.paths\`: \`/home\`, \`/root\` and other homes, \`/etc\`, \`/proc\`, \`/sys\`, \`/dev\`, \`/run\`, \`/var\`, \`/tmp\`, \`/sandbox\`, the state root, what lies in them, and every folder that contains one of them.

## Findings

A manifest with an error is refused whole, and all its findings are told at once: \`file:line:column code message — fix\`. Codes never change their meaning.

${table(['code', 'severity', 'meaning', 'fix'], findings)}
`;
}

const example = `# Version of this format. Required.
version: 1

# Name of the box, for people.
name: research-box

sandbox:
  # Programs that run skills. Left out: the one in /usr/bin, /usr/local/bin or /opt.
  # They must lie where every user may look, never in a home.
  interpreters:
    python: /usr/bin/python3
    node: /usr/bin/node
    bash: /usr/bin/bash

  # Layers this box does without where the host lacks them. Without this list the
  # box refuses to start there, and skillbox doctor prints the line that mends it.
  accept_missing:
    - cgroup-cpu

  # More of the host that every sandbox can read, never write.
  paths:
    - /opt/data

# Limits by tenant. What is left out comes from the configuration.
tenants:
  acme:
    # Requests per second, with bursts of twice that.
    requests_per_second: 50
    # Executions at once.
    slots: 4
    # Skills, artifacts and logs together.
    storage: 2Gi
  # A tenant with the limits of the configuration.
  guests: {}

# What sandboxes are made from, see docs/templates.md.
templates:
  analysis:
    version: 1
    description: Notebooks with room to breathe
    # Candidates, in order: the first that can makes the sandbox.
    providers: [bubblewrap]
    # For providers that take one.
    image: python:3.12-slim
    resources:
      cpu: 2
      memory: 4Gi
      disk: 8Gi
      processes: 512
      tmp: 1Gi
    # Only with a provider that can hold it to the list.
    network:
      mode: allow
      allow: [example.org]
      # What it finds at http://box.internal beside the proxy.
      internal: [network]
      # The box adds this header on the way out; the sandbox never has the secret (docs/secrets.md).
      tls: true
      credentials:
        - host: example.org
          header: Authorization
          value: Bearer \${secret}
          secret: EXAMPLE_TOKEN
    ttl:
      default: 2h
      max: 24h
    # Nobody uses it, nothing runs in it: it becomes a folder until the next use.
    idle:
      action: pause
      after: 15m
    placement: []
    # Before it is ready; one that fails ends it.
    setup:
      - mkdir -p ~/data
    # JSON Schema of what a create must give.
    inputs:
      type: object
    # Credits for an hour.
    price_per_hour: 0
    labels:
      team: research
    admin_only: false
    # What its provider wants to know.
    options: {}

# Hubs that are told what happens in the box, in all tenants, see docs/webhooks.md.
webhooks:
  hub:
    url: https://hub.example/skillbox
    # Exact types, beginnings such as sandbox.*, or *.
    events: [sandbox.*, execution.finished]
    # Variable with the key that signs: echo whsec_$(openssl rand -base64 32)
    secret_env: HUB_SECRET

# The durable sandbox that agents live in: skillbox shell.
workspace:
  purpose: Research and its tools
  agent_user: sandbox
  provider: bubblewrap
  # For docker.
  image: debian:stable
  network:
    mode: allow
    allow: [example.org]
    internal: [network]
    tls: true
    credentials:
      - host: example.org
        header: Authorization
        value: Bearer \${secret}
        secret: EXAMPLE_TOKEN
  resources:
    cpu: 2
    memory: 4Gi
    disk: 16Gi
    processes: 1024
    tmp: 1Gi
  # \${SKILLBOX_WEB_PORT} stands for it.
  ports:
    web: 3000
  # Where folders lie inside; the variables of the same names win.
  paths:
    workspace_root: /workspace
    repos_root: /workspace/repos
    skills_root: /workspace/skills
    log_root: /workspace/logs
    clients_root: /workspace/workspace/clients
    home_root: /home/sandbox
    monoserver_root: /monoserver

# What commands select that name nothing.
selection:
  default_client: personal
  default_profiles: [surfaces]

# What the box should be: skillbox sync, bootstrap and up make it so.
graph:
  repos:
    - id: app
      path: \${SKILLBOX_REPOS_ROOT}/app
      kind: repo
      required: true
      profiles: []
      client: personal
      notes: The shop
      source: {kind: git, url: "https://git.example/app.git", branch: main}
      sync: {mode: clone-if-missing}
    - id: shared
      path: \${SKILLBOX_MONOSERVER_ROOT}/shared
      source: {kind: bind, path: /srv/shared}
  artifacts:
    - id: tool
      path: \${SKILLBOX_HOME_ROOT}/.local/bin/tool
      source:
        kind: url
        url: https://files.example/tool-1.2
        sha256: ${'0123456789abcdef'.repeat(4)}
        executable: true
      sync: {mode: download-if-missing}
    - id: words
      path: data/words.txt
      source: {path: origin/words.txt}
  env_files:
    - id: app-env
      path: \${SKILLBOX_REPOS_ROOT}/app/.env.local
      kind: dotenv
      repo: app
      mode: "0600"
      required: true
      source: {kind: file, path: secrets/app.env}
      sync: {mode: write}
  skills:
    - id: default-skills
      kind: skill-repo-set
      skill_repos_config: skill-repos.yaml
      lock_path: skill-repos.lock.json
      clone_root: .skillbox-state/run/graph/skill-repos
      install_targets:
        - {id: claude, path: "\${SKILLBOX_HOME_ROOT}/.claude/skills"}
  tasks:
    - id: install
      kind: bootstrap
      repo: app
      cwd: \${SKILLBOX_REPOS_ROOT}/app
      env: {CI: "1"}
      # Default for what lies in the workspace.
      template: workspace
      command: npm ci
      depends_on: []
      inputs: ["\${SKILLBOX_REPOS_ROOT}/app/package-lock.json"]
      outputs: ["\${SKILLBOX_REPOS_ROOT}/app/node_modules"]
      log: app
      # Or path_exists with path, or port_listening with port.
      success: {type: all_outputs_exist}
      timeout: 10m
  services:
    - id: store
      # On the host: its folder is that of this file.
      command: exec python3 store.py
      artifact: words
    - id: web
      kind: http
      repo: app
      cwd: \${SKILLBOX_REPOS_ROOT}/app
      env:
        PORT: \${SKILLBOX_WEB_PORT}
        LOGS: \${SKILLBOX_LOG_ROOT}
      template: workspace
      artifact: tool
      # Or one command, for every mode.
      commands:
        reuse: npm start
        prod: npm run start:prod
        fresh: npm run reset && npm start
      depends_on: [store]
      bootstrap_tasks: [install]
      env_files: [app-env]
      log: app
      # Or port, path_exists, process_running, command.
      healthcheck:
        type: http
        url: http://127.0.0.1:\${SKILLBOX_WEB_PORT}/health
        status: 200
        interval: 250ms
        timeout: 5s
      ports: ["\${SKILLBOX_WEB_PORT}"]
      start_timeout: 60s
      stop_timeout: 5s
      restart: true
      profiles: [local-core]
  logs:
    - id: app
      path: \${SKILLBOX_LOG_ROOT}/app
      retention_days: 14
  checks:
    - id: shared-tree
      type: path_exists
      path: \${SKILLBOX_MONOSERVER_ROOT}
    - {id: answers, type: http, url: "http://127.0.0.1:\${SKILLBOX_WEB_PORT}/", profiles: [local-core]}
  # What older tools wrote env files with.
  bridges:
    - id: core-bridge
      command: ./legacy/sync.sh local
      env_tier: local
      legacy_targets: [web, worker]
      output_root: legacy/out
      inputs: [legacy/values.yaml]
      profiles: [local-core]
  # What older tools did, and who does it now.
  parity_ledger:
    - legacy_surface: web
      surface_type: service
      action: declare
      ownership_state: covered
      intended_profiles: [local-core]
      bridge_dependency: core-bridge
    - legacy_surface: mailer
      ownership_state: deferred
      request_error: LOCAL_RUNTIME_SERVICE_DEFERRED
  connectors: [github, slack]
`;

type Entry = readonly [name: string, schema: JsonSchema];

const asSchema = (schema: unknown): JsonSchema => (typeof schema === 'object' && schema !== null ? (schema as JsonSchema) : {});

const common: readonly string[] = ['id', 'required', 'profiles', 'client', 'notes'];

const pick = (properties: object, wanted: (name: string) => boolean) =>
  Object.fromEntries(Object.entries(properties).filter(([name]) => wanted(name)));

const withoutCommon = (schema: JsonSchema) =>
  ({ properties: pick(schema.properties ?? {}, (name) => !common.includes(name)) }) as JsonSchema;

function keyTable(entries: readonly Entry[], required: readonly string[]): string {
  const rows = entries.map(([name, schema]) => [
    code(name),
    kindOf(name, schema),
    required.includes(name) ? 'required' : defaultOf(schema),
    sentence(schema.description),
  ]);
  return table(['key', 'kind', 'default', 'what'], rows);
}

function nestedKeys(prefix: string, schema: JsonSchema): Entry[] {
  const own = Object.entries(schema.properties ?? {}) as [string, JsonSchema][];
  // What may be anything, and variables, need no row.
  const any =
    asSchema(schema.additionalProperties).type !== undefined && !prefix.endsWith('env')
      ? [['<name>', schema.additionalProperties as JsonSchema] as const]
      : [];
  return [...own, ...any].flatMap(([name, child]) => [[`${prefix}.${name}`, child], ...nestedKeys(`${prefix}.${name}`, child)] as Entry[]);
}

/** Of an item: its keys, and those below them. */
function itemKeys(schema: JsonSchema): Entry[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, child]) => {
    const one = asSchema(child);
    const many = asSchema(one.items);
    const below =
      one.type === 'array'
        ? nestedKeys(`${name}[]`, { properties: many.properties ?? {} } as JsonSchema)
        : name === 'env'
          ? []
          : nestedKeys(name, one);
    return [[name, one], ...below] as Entry[];
  });
}

function kindOf(name: string, schema: JsonSchema): string {
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum) return schema.enum.map((value) => code(String(value))).join(', ');
  if (schema.anyOf) return kindOf(name, asSchema(schema.anyOf.find((one) => asSchema(one).type !== 'null')));
  // Text or a number: times, modes and sizes.
  if (Array.isArray(schema.type))
    return /(timeout|interval|default|max|after)$/.test(name) ? 'time' : /mode$|env/.test(name) ? 'text' : 'size';
  if (schema.type === 'array') {
    const item = asSchema(schema.items);
    if (item.enum) return `list of ${item.enum.map((value) => code(String(value))).join(', ')}`;
    // A rule of the network: a host as text, or more than that.
    if (item.$ref) return 'list of text or mappings';
    return item.type === 'object' ? 'list of mappings' : item.type === 'string' ? 'list of text' : 'list of numbers';
  }
  return (
    { string: 'text', integer: 'whole number', number: 'number', object: 'mapping', boolean: '`true`, `false`' }[String(schema.type)] ??
    String(schema.type)
  );
}

function defaultOf(schema: JsonSchema): string {
  return schema.default === undefined ? '' : code(JSON.stringify(schema.default));
}

function sentence(text: string | undefined): string {
  return text ? `${text}.` : '';
}
