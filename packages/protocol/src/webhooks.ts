import { z } from 'zod';
import { tenantId, timestamp } from './ids.ts';

export const webhookNamePattern = /^[a-z0-9][a-z0-9-]{0,62}$/;
export const webhookName = z
  .string()
  .regex(webhookNamePattern, 'lower-case letters, digits and dashes, up to 63')
  .describe('Name of the webhook');

/** Signs nothing and shows nothing: a password in it would stand in every list. */
export const webhookUrl = z
  .url({ protocol: /^https?$/, error: 'expected an address that starts with http:// or https://' })
  .max(2000)
  .refine(
    (text) => URL.canParse(text) && new URL(text).username === '' && new URL(text).password === '',
    'expected no user or password in it',
  )
  .describe('Where events are posted');

export const eventPattern = z
  .string()
  .regex(/^(?:\*|[a-z_]{1,40}(?:\.[a-z_]{1,40}){0,3}(?:\.\*)?)$/, 'a type such as sandbox.ready, or sandbox.*, or *')
  .describe('Type of events: sandbox.ready is that one, sandbox.* all that begin so, * all');

export const webhookEvents = z.array(eventPattern).min(1).max(50).describe('Which events are sent');

export const webhookStates = ['ok', 'failing', 'away'] as const;

export const webhook = z
  .object({
    name: webhookName,
    tenant: tenantId.nullable().describe('Whose events it gets; null: those of all tenants, as the manifest declares'),
    url: z.string(),
    events: z.array(z.string()),
    source: z.enum(['api', 'manifest']),
    created_at: timestamp.nullable().describe('null for those of the manifest'),
    state: z
      .enum(webhookStates)
      .describe('failing: the oldest delivery was refused; away: the hub does not answer, and is asked now and then'),
    since: timestamp.nullable().describe('Since when it fails or is away'),
    error: z.string().nullable().describe('What the last failure was'),
    pending: z.number().int().describe('Deliveries that wait'),
    dead: z.number().int().describe('Deliveries that were given up; skillbox webhook retry sends them again'),
    events_behind: z.number().int().describe('Events of the box that were not looked at yet for this webhook'),
  })
  .meta({ id: 'Webhook' });

export const createdWebhook = webhook
  .extend({ secret: z.string().describe('Key that signs deliveries. It is in this answer and nowhere else') })
  .meta({ id: 'CreatedWebhook' });

export const deliveryStates = ['pending', 'delivered', 'dead'] as const;

export const webhookDelivery = z
  .object({
    event_id: z.string().describe('The webhook-id of the delivery, the same at every attempt'),
    seq: z.number().int().describe('Position of the event in the box'),
    type: z.string(),
    subject: z.object({ type: z.string(), id: z.string() }),
    state: z.enum(deliveryStates),
    attempts: z.number().int(),
    status: z.number().int().nullable().describe('HTTP status of the last answer; null when there was none'),
    error: z.string().nullable(),
    next_attempt_at: timestamp.nullable().describe('null when it is over, or when it comes as soon as those before it'),
    finished_at: timestamp.nullable(),
  })
  .meta({ id: 'WebhookDelivery' });

export const webhookTest = z
  .object({
    ok: z.boolean(),
    status: z.number().int().nullable().describe('HTTP status of the answer; null when there was none'),
    error: z.string().nullable(),
    ms: z.number().nonnegative(),
  })
  .meta({ id: 'WebhookTest' });

export type Webhook = z.infer<typeof webhook>;
export type CreatedWebhook = z.infer<typeof createdWebhook>;
export type WebhookState = (typeof webhookStates)[number];
export type DeliveryState = (typeof deliveryStates)[number];
export type WebhookDelivery = z.infer<typeof webhookDelivery>;
export type WebhookTest = z.infer<typeof webhookTest>;
