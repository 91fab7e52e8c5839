/** docs/templates.md, from the schema of templates and the ones that are built in. */

import { z } from 'zod';
import { builtInTemplates } from '../../packages/box/src/sandbox/built-in-templates.ts';
import { templateDefinition } from '../../packages/box/src/sandbox/template-definition.ts';
import { isWorkspace, workspaceTemplate } from '../../packages/box/src/sandbox/workspace/template.ts';
import { formatDuration, formatSize } from '../../packages/box/src/units.ts';
import { code, generatedNote, table } from './markdown.ts';

type JsonSchema = z.core.JSONSchema.JSONSchema;

export function renderTemplates(): string {
  const schema = z.toJSONSchema(templateDefinition, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
  const builtIn = [...builtInTemplates, workspaceTemplate()].map((template) => {
    const { name, description, providers, resources, ttl, idle, admin_only } = template;
    return [
      code(name),
      `${description}${admin_only ? ' Administrators only.' : ''}`,
      providers.map(code).join(', '),
      `${resources.cpu} CPU, ${formatSize(resources.memory_bytes)} memory, ${formatSize(resources.disk_bytes)} disk, ${resources.processes} processes`,
      isWorkspace(template) ? 'no end' : `${formatDuration(ttl.default_ms)}, at most ${formatDuration(ttl.max_ms)}`,
      idle.after_ms === null ? 'keep' : `${idle.action} after ${formatDuration(idle.after_ms)}`,
    ];
  });
  return `${generatedNote}

# Templates

A template says what a [sandbox](sandboxes.md) is made from: its provider, limits, network, time. Templates are built in, declared under \`templates:\` in [skillbox.yaml](manifest.md), or made over the API by administrators, where every change is a new version. \`python\` means the newest version, \`python@2\` that one; a sandbox records exactly what it was made from. A declared template may replace a built-in one, but for \`workspace\`, which alone has [durable folders](workspace.md). What is built in or declared cannot be changed over the API.

\`\`\`sh
skillbox template list
skillbox template show python
skillbox template validate template.yaml
skillbox template apply template.yaml
\`\`\`

\`\`\`yaml
# template.yaml
name: analysis
description: Python with room for data.
resources:
  memory: 4Gi
  disk: 10Gi
ttl:
  default: 2h
  max: 12h
idle:
  action: pause
  after: 5m
setup:
  - python3 -m venv .venv
labels:
  team: data
\`\`\`

In the manifest the name is the key, and \`version\` is yours to raise:

\`\`\`yaml
templates:
  analysis:
    version: 2
    resources:
      memory: 4Gi
\`\`\`

## Built in

${table(['template', 'what', 'providers', 'limits', 'time', 'idle'], builtIn)}

## Keys

All of them can be left out. Sizes are written as \`512Mi\` or \`5Gi\`, times as \`90s\`, \`10m\` or \`2h\`.

${table(['key', 'kind', 'what'], rows('', schema))}
`;
}

function rows(prefix: string, schema: JsonSchema): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, child]) => {
    const property = child as JsonSchema;
    const own = [code(`${prefix}${name}`), kindOf(property), property.description ? `${property.description}.` : ''];
    return [own, ...rows(`${prefix}${name}.`, property), ...rows(`${prefix}${name}[].`, itemsOf(property))];
  });
}

/** Of a list. */
const itemsOf = ({ items }: JsonSchema): JsonSchema => (items && !Array.isArray(items) ? (items as JsonSchema) : {});

function kindOf(schema: JsonSchema): string {
  // Sizes and times are text or a number.
  if (Array.isArray(schema.type) || schema.anyOf)
    return schema.description?.startsWith('Time') || schema.description?.startsWith('Longest') ? 'time' : 'size';
  if (schema.enum) return schema.enum.map((value) => code(String(value))).join(', ');
  const items = itemsOf(schema);
  const kinds: Record<string, string> = {
    string: 'text',
    integer: 'whole number',
    object: 'mapping',
    array: items.properties ? 'list of mappings' : items.type === 'string' ? 'list of text' : 'list of text or mappings',
    boolean: 'true or false',
  };
  return kinds[String(schema.type)] ?? String(schema.type);
}
