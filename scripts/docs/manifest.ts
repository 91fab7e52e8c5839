/** docs/manifest.md and the JSON Schema for editors. */

import { findingKinds } from '../../packages/box/src/manifest/finding.ts';
import { type JsonSchema, manifestJsonSchema } from '../../packages/box/src/manifest/json-schema.ts';
import { code, generatedNote, table } from './markdown.ts';

export function renderManifestSchema(): string {
  return `${JSON.stringify(manifestJsonSchema(), null, 2)}\n`;
}

export function renderManifest(): string {
  const { properties = {}, required = [] } = manifestJsonSchema();
  const top = Object.entries(properties) as [string, JsonSchema][];
  const sections = top.filter(([name, schema]) => schema.type === 'object' && name !== 'templates');
  const findings = Object.entries(findingKinds).map(([name, { severity, meaning, fix }]) => [code(name), severity, meaning, fix]);
  return `${generatedNote}

# Manifest

\`skillbox.yaml\` says what a box is. It is found by \`--manifest\`, then \`SKILLBOX_MANIFEST\`, then upward from the working directory; without one the defaults below are the manifest. The state of the box lies in \`.skillbox-state\` beside it. What the manifest declares is read-only at run time. What belongs to one process, such as its port, is [configuration](configuration.md).

## Example

Everything there is, each with a comment; all but \`version\` can be left out.

\`\`\`yaml
${example}\`\`\`

An editor that speaks YAML (the yaml-language-server of VS Code, Neovim and others) completes and checks the file when its first line names the [schema](schema/skillbox.schema.json), as a path from the manifest or as an address:

\`\`\`yaml
# yaml-language-server: $schema=./docs/schema/skillbox.schema.json
\`\`\`

## Keys

${keyTable(top, required)}
${sections.map(([name, schema]) => `\n### ${name}\n\n${sentence(schema.description)}\n\n${keyTable(nestedKeys(name, schema), [])}\n`).join('')}
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
`;

type Entry = readonly [name: string, schema: JsonSchema];

function keyTable(entries: readonly Entry[], required: readonly string[]): string {
  const rows = entries.map(([name, schema]) => [
    code(name),
    kindOf(schema),
    required.includes(name) ? 'required' : defaultOf(schema),
    sentence(schema.description),
  ]);
  return table(['key', 'kind', 'default', 'what'], rows);
}

function nestedKeys(prefix: string, schema: JsonSchema): Entry[] {
  const own = Object.entries(schema.properties ?? {}) as [string, JsonSchema][];
  const any = typeof schema.additionalProperties === 'object' ? [['<name>', schema.additionalProperties as JsonSchema] as const] : [];
  return [...own, ...any].flatMap(([name, child]) => [[`${prefix}.${name}`, child], ...nestedKeys(`${prefix}.${name}`, child)] as Entry[]);
}

function kindOf(schema: JsonSchema): string {
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  // Only sizes are text or a number.
  if (Array.isArray(schema.type)) return 'size';
  if (schema.type === 'array') {
    const { enum: allowed } = schema.items as JsonSchema;
    return allowed ? `list of ${allowed.map((value) => code(String(value))).join(', ')}` : 'list of text';
  }
  return { string: 'text', integer: 'whole number', number: 'number', object: 'mapping' }[String(schema.type)] ?? String(schema.type);
}

function defaultOf(schema: JsonSchema): string {
  return schema.default === undefined ? '' : code(JSON.stringify(schema.default));
}

function sentence(text: string | undefined): string {
  return text ? `${text}.` : '';
}
