/** A template as people write it, in the manifest and over the API; docs/templates.md is made from this. */

import { egressRule, internalGrant, labels, type Template } from '@skillbox/protocol';
import { z } from 'zod';
import { parseDuration, parseSize } from '../units.ts';
import { templateDefaults } from './built-in-templates.ts';
import { credentialDefinition, credentialProblems, toCredential } from './egress/credentials.ts';
import { parseRule } from './egress/rules.ts';
import { isForWorkspaceOnly } from './workspace/grants.ts';

const text = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[^\0]*$/, 'no NUL byte');

const size = z.union([z.string(), z.number()], 'expected a size such as 5Gi, or a number of bytes').transform((given, context) => {
  const bytes = parseSize(given);
  if (bytes !== undefined && bytes >= 2 ** 20 && bytes <= 2 ** 42) return bytes;
  context.addIssue({ code: 'custom', message: 'expected a size from 1Mi to 4Ti, such as 512Mi', params: { finding: 'manifest.bad_size' } });
  return z.NEVER;
});

const duration = z.union([z.string(), z.number()], 'expected a time such as 90s, or seconds').transform((given, context) => {
  const ms = parseDuration(given);
  if (ms !== undefined && ms > 0 && ms <= 10_000_000_000) return ms;
  context.addIssue({ code: 'custom', message: 'expected a time such as 90s or 2h' });
  return z.NEVER;
});

export const templatePattern = /^[a-z0-9][a-z0-9-]{0,62}$/;

export const templateFields = {
  description: text(1000).optional().describe('What it is for'),
  providers: z
    .array(z.string().regex(templatePattern, 'a name such as bubblewrap'))
    .min(1)
    .max(16)
    .optional()
    .describe('Candidates: the first that can makes it, what costs nothing before what is paid for. Default: bubblewrap'),
  image: text(500).optional().describe('Image, for providers that take one'),
  resources: z
    .strictObject({
      cpu: z.number().positive().max(1024).optional().describe('CPUs. Default: 2'),
      memory: size.optional().describe('Memory. Default: 1Gi'),
      disk: size.optional().describe('Disk. Default: 2Gi'),
      processes: z.number().int().positive().max(100_000).optional().describe('Processes and threads. Default: 512'),
      tmp: size.optional().describe('/tmp, which is memory. Default: 512Mi'),
    })
    .optional()
    .describe('What a sandbox may use'),
  network: z
    .strictObject({
      mode: z.enum(['none', 'allow', 'full']).optional().describe('none, allow (only the list) or full. Default: none'),
      allow: z.array(egressRule).max(1000).optional().describe('What mode allow lets through. See docs/network.md'),
      credentials: z
        .array(credentialDefinition)
        .max(100)
        .optional()
        .describe('Headers that the box adds to requests, from secrets that the sandbox never sees. See docs/secrets.md'),
      tls: z
        .boolean()
        .optional()
        .describe(
          'Whether the box looks into TLS, where credentials or rules on methods and paths need it; the sandbox then trusts its authority. Default: false',
        ),
      internal: z
        .array(internalGrant)
        .max(10)
        .optional()
        .describe(
          'What a sandbox finds at http://box.internal, beside the egress proxy. network: what it may reach; graph, graph-read: commands of the graph, for the workspace only. Default: network with mode allow, else nothing; in the workspace network and graph',
        ),
    })
    .optional()
    .describe('What a sandbox reaches'),
  ttl: z
    .strictObject({
      default: duration.optional().describe('Time a sandbox lives that asks for none. Default: 1h'),
      max: duration.optional().describe('Longest time it can ask for. Default: 24h'),
    })
    .optional()
    .describe('How long a sandbox lives'),
  idle: z
    .strictObject({
      action: z.enum(['destroy', 'pause', 'keep']).optional().describe('destroy, pause or keep. Default: pause'),
      after: duration.optional().describe('Time without a use or a running program. Default: 10m'),
    })
    .optional()
    .describe('What happens to a sandbox that nobody uses'),
  placement: z.array(text(300)).max(100).optional().describe('Hosts, in order of preference, for providers that work on others'),
  setup: z.array(text(100_000)).max(100).optional().describe('Shell commands that run before it is ready; one that fails ends it'),
  inputs: z.record(z.string(), z.unknown()).optional().describe('JSON Schema of what a create must give as inputs'),
  price_per_hour: z.number().nonnegative().max(1_000_000).optional().describe('Credits for an hour. Default: 0'),
  labels: labels.optional().describe('Labels of every sandbox made from it'),
  admin_only: z.boolean().optional().describe('Whether only administrators may use it. Default: false'),
  options: z.record(z.string(), z.unknown()).optional().describe('What its provider wants to know'),
};

export const templateDefinition = z.strictObject(templateFields);
export type TemplateDefinition = z.output<typeof templateDefinition>;

export function toTemplate(name: string, version: number, source: Template['source'], given: TemplateDefinition): Template {
  const fallback = templateDefaults;
  const action = given.idle?.action ?? fallback.idle.action;
  return {
    ...{ name, version, source },
    description: given.description ?? fallback.description,
    providers: given.providers ?? [...fallback.providers],
    image: given.image ?? null,
    resources: {
      cpu: given.resources?.cpu ?? fallback.resources.cpu,
      memory_bytes: given.resources?.memory ?? fallback.resources.memory_bytes,
      disk_bytes: given.resources?.disk ?? fallback.resources.disk_bytes,
      processes: given.resources?.processes ?? fallback.resources.processes,
      tmp_bytes: given.resources?.tmp ?? fallback.resources.tmp_bytes,
    },
    network: {
      mode: given.network?.mode ?? 'none',
      allow: given.network?.allow ?? [],
      ...(given.network?.credentials && { credentials: given.network.credentials.map(toCredential) }),
      ...(given.network?.tls && { tls: true }),
      ...(given.network?.internal && { internal: given.network.internal }),
    },
    ttl: {
      // A maximum alone lowers the default with it; a default alone may be above the usual maximum.
      default_ms: given.ttl?.default ?? Math.min(fallback.ttl.default_ms, given.ttl?.max ?? Number.POSITIVE_INFINITY),
      max_ms: given.ttl?.max ?? Math.max(fallback.ttl.max_ms, given.ttl?.default ?? 0),
    },
    idle: { action, after_ms: action === 'keep' ? null : (given.idle?.after ?? fallback.idle.after_ms) },
    placement: given.placement ?? [],
    setup: given.setup ?? [],
    inputs: given.inputs ?? null,
    price_per_hour: given.price_per_hour ?? 0,
    labels: given.labels ?? {},
    admin_only: given.admin_only ?? false,
    options: given.options ?? {},
  };
}

export interface TemplateProblem {
  readonly path: readonly string[];
  readonly message: string;
}

/** What the schema cannot say. */
export function templateProblems(given: TemplateDefinition, { workspace = false } = {}): TemplateProblem[] {
  const problems: TemplateProblem[] = [];
  const { ttl, idle, network, providers } = given;
  if (ttl?.default !== undefined && ttl.max !== undefined && ttl.default > ttl.max)
    problems.push({ path: ['ttl', 'default'], message: 'the default is above the maximum' });
  if (idle?.action === 'keep' && idle.after !== undefined)
    problems.push({ path: ['idle', 'after'], message: 'nothing happens with action keep' });
  if (network?.allow && network.mode !== 'allow') problems.push({ path: ['network', 'allow'], message: 'a list needs mode: allow' });
  for (const [index, rule] of (network?.allow ?? []).entries()) {
    try {
      parseRule(rule);
    } catch (error) {
      problems.push({ path: ['network', 'allow', String(index)], message: (error as Error).message.replace(/\.$/, '') });
    }
  }
  for (const [index, grant] of (network?.internal ?? []).entries()) {
    if (!workspace && isForWorkspaceOnly(grant))
      problems.push({
        path: ['network', 'internal', String(index)],
        message: `only the workspace can have ${grant}, since it reaches over all clients`,
      });
  }
  for (const { path, message } of credentialProblems(network ?? {})) problems.push({ path: ['network', ...path], message });
  if (providers && new Set(providers).size < providers.length) problems.push({ path: ['providers'], message: 'a provider is named twice' });
  return problems;
}
