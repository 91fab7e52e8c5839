import {
  createdWebhook,
  deliveryStates,
  page,
  pageQuery,
  webhook,
  webhookDelivery,
  webhookEvents,
  webhookName,
  webhookTest,
  webhookUrl,
} from '@skillbox/protocol';
import { z } from 'zod';
import { command } from './command.ts';

const named = z.object({ name: webhookName });

export const webhookCommands = [
  command({
    name: 'webhook.create',
    summary: 'Have events of the tenant posted to a hub, signed',
    description: 'The secret is in this answer and nowhere else. Deliveries follow Standard Webhooks: docs/webhooks.md.',
    scope: 'admin',
    effect: 'change',
    audited: true,
    input: z.strictObject({ name: webhookName, url: webhookUrl, events: webhookEvents.default(['sandbox.*']) }),
    output: { kind: 'json', schema: createdWebhook, status: 201 },
    http: { method: 'POST', path: '/v1/webhooks' },
    cli: {
      words: 'webhook create',
      args: ['name', 'url'],
      examples: [
        'skillbox webhook create hub https://hub.example/skillbox',
        'skillbox webhook create ends https://hub.example/ends --events sandbox.destroyed --events sandbox.failed --tenant acme',
      ],
    },
    run: ({ box, caller }, hook) => box.webhooks.create(caller, hook),
  }),

  command({
    name: 'webhook.list',
    summary: 'List the webhooks of the tenant and of the manifest, and how their hubs do',
    scope: 'admin',
    effect: 'read',
    input: z.object({}),
    output: { kind: 'json', schema: page(webhook) },
    http: { method: 'GET', path: '/v1/webhooks' },
    cli: { words: 'webhook list', examples: ['skillbox webhook list', 'skillbox webhook list --tenant acme'] },
    run: async ({ box, caller }) => ({ items: await box.webhooks.list(caller.tenant), next_cursor: null }),
  }),

  command({
    name: 'webhook.show',
    summary: 'Show a webhook',
    scope: 'admin',
    effect: 'read',
    input: named,
    output: { kind: 'json', schema: webhook },
    http: { method: 'GET', path: '/v1/webhooks/:name' },
    cli: { words: 'webhook show', args: ['name'], examples: ['skillbox webhook show hub'] },
    run: ({ box, caller }, { name }) => box.webhooks.show(caller.tenant, name),
  }),

  command({
    name: 'webhook.delete',
    summary: 'Delete a webhook, and what still waited for its hub',
    scope: 'admin',
    effect: 'change',
    audited: true,
    input: named,
    output: { kind: 'empty' },
    http: { method: 'DELETE', path: '/v1/webhooks/:name' },
    cli: { words: 'webhook delete', args: ['name'], examples: ['skillbox webhook delete hub'] },
    run: ({ box, caller }, { name }) => box.webhooks.remove(caller.tenant, name),
  }),

  command({
    name: 'webhook.test',
    summary: 'Send the hub an event of type webhook.test now, and tell what it answered',
    description: 'A hub that refuses or does not answer is an answer, not an error.',
    scope: 'admin',
    effect: 'change',
    audited: true,
    input: z.strictObject({ name: webhookName }),
    output: { kind: 'json', schema: webhookTest },
    http: { method: 'POST', path: '/v1/webhooks/:name/test' },
    cli: { words: 'webhook test', args: ['name'], examples: ['skillbox webhook test hub'] },
    run: ({ box, caller }, { name }) => box.webhooks.test(caller, name),
  }),

  command({
    name: 'webhook.deliveries',
    summary: 'List deliveries of a webhook, newest first',
    scope: 'admin',
    effect: 'read',
    input: z.object({
      name: webhookName,
      state: z.enum(deliveryStates).optional().describe('Only those that wait, that were delivered, or that were given up'),
      ...pageQuery,
    }),
    output: { kind: 'json', schema: page(webhookDelivery) },
    http: { method: 'GET', path: '/v1/webhooks/:name/deliveries' },
    cli: {
      words: 'webhook deliveries',
      args: ['name'],
      examples: ['skillbox webhook deliveries hub', 'skillbox webhook deliveries hub --state dead --json'],
    },
    run: ({ box, caller }, { name, ...filter }) => box.webhooks.deliveries(caller.tenant, name, filter),
  }),

  command({
    name: 'webhook.retry',
    summary: 'Send again what was given up, and at once what waits for its next attempt',
    scope: 'admin',
    effect: 'change',
    audited: true,
    input: z.strictObject({
      name: webhookName,
      event: z
        .string()
        .regex(/^evt_[0-9a-f-]{36}$/, 'an id such as evt_7d4e1c1e-2a6b-4a7a-9f0e-3f5f3a0c9b11')
        .optional()
        .describe('Only the delivery of this event'),
    }),
    output: { kind: 'json', schema: z.object({ retried: z.number().int() }).meta({ id: 'WebhookRetry' }) },
    http: { method: 'POST', path: '/v1/webhooks/:name/retry' },
    cli: { words: 'webhook retry', args: ['name', 'event?'], examples: ['skillbox webhook retry hub'] },
    run: async ({ box, caller }, { name, event }) => ({ retried: await box.webhooks.retry(caller.tenant, name, event) }),
  }),
];
