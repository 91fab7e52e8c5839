import { z } from 'zod';
import { tenantId, timestamp } from './ids.ts';

export const sandboxIdPattern = /^i[a-z0-9]{19}$/;
export const sandboxId = z.string().regex(sandboxIdPattern, 'an id such as i0123456789abcdefghi').describe('Id of the sandbox');
export const snapshotId = z
  .string()
  .regex(/^s[a-z0-9]{19}$/, 'an id such as s0123456789abcdefghi')
  .describe('Id of the snapshot');
export const templateName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}(@[1-9]\d{0,5})?$/, 'a name such as python, or python@2 for that version')
  .describe('Template; without @version the newest');

export const sandboxStates = ['requested', 'provisioning', 'ready', 'paused', 'destroying', 'destroyed', 'failed'] as const;
export const sandboxState = z.enum(sandboxStates);
export type SandboxState = (typeof sandboxStates)[number];

export const labels = z
  .record(z.string().regex(/^[^\p{Cc}]{1,63}$/u), z.string().regex(/^[^\p{Cc}]{0,255}$/u))
  .refine((map) => Object.keys(map).length <= 64, 'at most 64 labels')
  .describe('Names and values of your own');

const duration = z
  .union([z.string().regex(/^\d{1,9}(\.\d{1,3})?(ms|s|m|h)$/), z.number().positive().max(10_000_000)])
  .describe('Seconds, or a text such as 90s or 2h');

/** A host as text, or with more to say about it. The box checks what a pattern cannot. */
export const egressRule = z
  .union([
    z.string().min(1).max(300),
    z.strictObject({
      host: z.string().min(1).max(300).describe('As the text form, without a port'),
      ports: z.array(z.number().int().min(1).max(65_535)).min(1).max(64).optional().describe('Default: 80 and 443'),
      methods: z
        .array(z.string().regex(/^[A-Za-z-]{1,20}$/, 'a method such as GET'))
        .min(1)
        .max(20)
        .optional()
        .describe('Only these; over https only where network.tls is true'),
      paths: z
        .array(z.string().min(1).max(1000))
        .min(1)
        .max(100)
        .optional()
        .describe('Only these; over https only where network.tls is true. /v1/* is a beginning'),
    }),
  ])
  .describe('example.com, *.example.com (names below it), * (any name), 192.0.2.7; with :port, or as an object')
  .meta({ id: 'EgressRule' });

/** A header that the box adds to requests which a sandbox sends to one host. The secret's value never enters the sandbox. */
export const credentialRule = z
  .object({
    host: z.string(),
    scheme: z.enum(['https', 'http']),
    port: z.number().int(),
    header: z.string(),
    value: z.string().describe('Text of the header; ${secret} stands for the value of the secret'),
    secret: z.string().describe('Name of a secret of the tenant; default/NAME is one of the operator'),
  })
  .meta({ id: 'CredentialRule' });

/** What a sandbox can be given at http://box.internal. */
export const internalGrant = z.enum(['network', 'graph', 'graph-read']);

/** What a caller may choose, within what the template allows. */
export const networkChoice = z
  .strictObject({
    mode: z.enum(['none', 'allow']).describe('none, or allow: what the list names, through the box'),
    allow: z.array(egressRule).max(1000).optional().describe('Default with mode allow: what the template allows'),
  })
  .meta({ id: 'NetworkChoice' });

export const sandbox = z
  .object({
    id: sandboxId,
    tenant: tenantId,
    state: sandboxState,
    template: z.string().describe('Exactly what it was made from: name@version'),
    provider: z.string().nullable(),
    tier: z.string().nullable().describe('How strong the walls of its provider are'),
    host: z.string().describe('Host that owns it'),
    origin: z
      .object({ sandbox: sandboxId, snapshot: snapshotId.nullable().describe('null: it was forked') })
      .nullable()
      .describe('Whose disk it began with; null: that of its template'),
    labels,
    network: z.enum(['none', 'allow', 'full']),
    network_allow: z.array(egressRule).describe('What it reaches with network allow'),
    limits: z.object({
      memory_bytes: z.number().int(),
      cpu: z.number(),
      processes: z.number().int(),
      disk_bytes: z.number().int(),
    }),
    on_idle: z.enum(['destroy', 'pause', 'keep']).describe('What happens when nothing uses it for idle_ms'),
    idle_ms: z.number().int().nullable(),
    on_expiry: z.enum(['destroy', 'pause']),
    created_at: timestamp,
    ready_at: timestamp.nullable(),
    expires_at: timestamp.nullable(),
    ended_at: timestamp.nullable(),
    reason: z.string().nullable().describe('Why it is in this state'),
    pause_cause: z
      .enum(['asked', 'idle', 'expired'])
      .nullable()
      .describe('Why it is paused: somebody asked, nothing used it, or its time was over'),
    route: z
      .array(z.object({ provider: z.string(), taken: z.boolean(), reason: z.string() }))
      .describe('Why each candidate was taken or passed over'),
    endpoints: z
      .array(
        z.object({
          service: z.string(),
          port: z.number().int().describe('Its number for previews'),
          preview: z.string().describe('Path of the box that leads to it'),
          tunnel: z.string().nullable().describe('A line for the shell of who may log in to its host, that reaches it without the box'),
        }),
      )
      .describe('Servers that are in it from the start'),
  })
  .meta({ id: 'Sandbox' });

export const createSandbox = z
  .strictObject({
    template: templateName.optional().describe('Default: the canary'),
    labels: labels.default({}),
    env: z.record(z.string(), z.string()).default({}).describe('Variables of every program in it'),
    ttl: duration.optional().describe('Time until it ends; at most the template’s maximum'),
    on_expiry: z.enum(['destroy', 'pause']).optional(),
    snapshot: snapshotId.optional().describe('Start from this disk'),
    network: networkChoice.optional().describe('Default: what the template says'),
    inputs: z.record(z.string(), z.unknown()).default({}).describe('What the template asks for'),
  })
  .meta({ id: 'CreateSandbox' });

export const snapshot = z
  .object({ id: snapshotId, sandbox: sandboxId, name: z.string().nullable(), template: z.string(), created_at: timestamp })
  .meta({ id: 'Snapshot' });

export const template = z
  .object({
    name: z.string(),
    version: z.number().int().positive(),
    description: z.string(),
    providers: z.array(z.string()).describe('Candidates, in order'),
    image: z.string().nullable(),
    resources: z.object({
      cpu: z.number(),
      memory_bytes: z.number().int(),
      disk_bytes: z.number().int(),
      processes: z.number().int(),
      tmp_bytes: z.number().int(),
    }),
    network: z.object({
      mode: z.enum(['none', 'allow', 'full']),
      allow: z.array(egressRule),
      credentials: z.array(credentialRule).optional(),
      tls: z.boolean().optional().describe('Whether it trusts the box, which looks into TLS where a rule needs it'),
      internal: z.array(internalGrant).optional().describe('What it finds at http://box.internal'),
    }),
    ttl: z.object({ default_ms: z.number().int(), max_ms: z.number().int() }),
    idle: z.object({ action: z.enum(['destroy', 'pause', 'keep']), after_ms: z.number().int().nullable() }),
    placement: z.array(z.string()),
    setup: z.array(z.string()).describe('Commands run once, before it is ready'),
    inputs: z.record(z.string(), z.unknown()).nullable().describe('JSON Schema of the inputs'),
    price_per_hour: z.number().nonnegative(),
    labels,
    admin_only: z.boolean(),
    options: z.record(z.string(), z.unknown()).describe('What its provider wants to know'),
    source: z.enum(['built-in', 'manifest', 'api']),
  })
  .meta({ id: 'Template' });

export const fileEntry = z
  .object({
    path: z.string(),
    kind: z.enum(['file', 'directory', 'symlink', 'other']),
    size: z.number().int(),
    mode: z.number().int(),
    modified_at: timestamp,
    target: z.string().optional(),
  })
  .meta({ id: 'FileEntry' });

export type CredentialRule = z.infer<typeof credentialRule>;
export type EgressRule = z.infer<typeof egressRule>;
export type NetworkChoice = z.infer<typeof networkChoice>;
export type Sandbox = z.infer<typeof sandbox>;
export type CreateSandbox = z.infer<typeof createSandbox>;
export type Snapshot = z.infer<typeof snapshot>;
export type Template = z.infer<typeof template>;
