/** What skillbox.yaml may say. The JSON Schema for editors and docs/manifest.md are made from this. */

import { tenantLimits, tenantPattern, webhookEvents, webhookNamePattern, webhookUrl } from '@skillbox/protocol';
import { z } from 'zod';
import { graphSchema, selectionSchema, workspaceSchema } from '../graph/schema.ts';
import { templateDefinition, templatePattern } from '../sandbox/template-definition.ts';
import { parseSize } from '../units.ts';
import { acceptableLayers, sandboxLayers } from './layers.ts';

const interpreter = (language: string) =>
  z.string().optional().describe(`Absolute path of the ${language} interpreter. Default: the one in /usr/bin, /usr/local/bin or /opt`);

const size = z.union([z.string(), z.number()], 'expected a size such as 5Gi, or a number of bytes').transform((text, context) => {
  const bytes = parseSize(text);
  if (bytes !== undefined) return bytes;
  context.addIssue({ code: 'custom', message: 'expected a size such as 5Gi', params: { finding: 'manifest.bad_size' } });
  return z.NEVER;
});

const sandbox = z
  .strictObject({
    interpreters: z
      .strictObject({ python: interpreter('Python'), node: interpreter('Node.js'), bash: interpreter('bash') })
      .prefault({})
      .describe('Interpreters that run skills'),
    accept_missing: z
      .array(
        z
          .enum(sandboxLayers)
          // An editor offers only what the rules allow.
          .meta({ enum: [...acceptableLayers] })
          .describe(`One of ${acceptableLayers.join(', ')}`),
      )
      .default([])
      .describe('Layers of the sandbox that this box does without where the host lacks them. Without this the box refuses to start'),
    paths: z
      .array(z.string().describe('An absolute path'))
      .default([])
      .describe('More paths of the host that every sandbox can read, never write'),
  })
  .prefault({})
  .describe('What holds for every sandbox of the box');

const tenant = z
  .strictObject({
    requests_per_second: tenantLimits.shape.requests_per_second.optional(),
    slots: tenantLimits.shape.slots.optional(),
    storage: size.optional().describe('Bytes of skills, artifacts and logs the tenant may keep, such as 5Gi'),
  })
  .describe('Limits of one tenant; what is not named comes from the configuration');

const template = templateDefinition.extend({
  version: z.number().int().min(1).max(999_999).default(1).describe('Version of the template; raise it with every change'),
});

const webhook = z
  .strictObject({
    url: webhookUrl,
    events: webhookEvents.default(['sandbox.*']),
    secret_env: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected the name of a variable')
      .describe('Variable, of the environment or .env, with the key that signs: whsec_ and 24 to 64 bytes in base64'),
  })
  .describe('A hub that is told what happens in the box, in all tenants');

export const manifestSchema = z.strictObject({
  version: z.literal(1).describe('Version of this format'),
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'expected lower-case letters, digits and dashes, up to 63')
    .optional()
    .describe('Name of the box, for people'),
  sandbox,
  tenants: z
    .record(z.string().regex(tenantPattern, 'expected lower-case letters, digits, dashes and underscores, up to 63'), tenant)
    .default({})
    // Without a prototype a tenant that is called constructor is not found where none is declared.
    .transform((declared): Record<string, z.output<typeof tenant>> => Object.assign(Object.create(null), declared))
    .describe('Tenants by name. Those declared here are read-only at run time'),
  templates: z
    .record(z.string().regex(templatePattern, 'expected lower-case letters, digits and dashes, up to 63'), template)
    .default({})
    .describe('Templates of sandboxes by name; one may replace what is built in. See docs/templates.md. Read-only at run time'),
  webhooks: z
    .record(z.string().regex(webhookNamePattern, 'expected lower-case letters, digits and dashes, up to 63'), webhook)
    .default({})
    .describe('Webhooks by name, for events of all tenants. See docs/webhooks.md. Read-only at run time'),
  workspace: workspaceSchema,
  selection: selectionSchema,
  graph: graphSchema,
});

/** Checked, with defaults filled in and sizes in bytes. */
export type Manifest = z.output<typeof manifestSchema>;
