import { BoxError, createSandbox, page, pageQuery, sandbox, sandboxId, sandboxState, templateName, tenantId } from '@skillbox/protocol';
import { z } from 'zod';
import { command, Reply } from './command.ts';

const one = z.object({ id: sandboxId });

export const sandboxCommands = [
  command({
    name: 'sandbox.create',
    summary: 'Make a sandbox that lives until it is destroyed or its time is over',
    description: 'Answers when it is ready. Without a template it is the canary.',
    scope: 'sandboxes:use',
    effect: 'change',
    input: createSandbox,
    output: { kind: 'json', schema: sandbox, status: 201 },
    http: { method: 'POST', path: '/v1/sandboxes' },
    cli: {
      words: 'sandbox create',
      args: ['template?'],
      examples: ['skillbox sandbox create', 'skillbox sandbox create python --ttl 2h'],
    },
    async run({ box, caller }, request) {
      const made = await box.sandboxes.create(caller, request);
      return new Reply(made, { status: 201, headers: { Location: `/v1/sandboxes/${made.id}` } });
    },
  }),

  command({
    name: 'sandbox.list',
    summary: 'List sandboxes, newest first',
    scope: 'sandboxes:read',
    effect: 'read',
    input: z.object({
      state: sandboxState.optional().describe('Only in this state'),
      template: templateName.optional().describe('Only of this template, of one version or all'),
      labels: z.string().max(4096).optional().describe('Only with these labels: name=value, several joined by &, as in a query'),
      tenant: tenantId.optional().describe('Only of this tenant (administrators; others see their own)'),
      ...pageQuery,
    }),
    output: { kind: 'json', schema: page(sandbox) },
    http: { method: 'GET', path: '/v1/sandboxes' },
    cli: {
      words: 'sandbox list',
      examples: ['skillbox sandbox list --state ready', "skillbox sandbox list --labels 'owner=ann&stage=dev' --json"],
    },
    async run({ box, caller }, { tenant, state, labels, ...filter }) {
      if (tenant !== undefined && tenant !== caller.tenant && !caller.scopes.includes('admin')) {
        throw new BoxError('tenant_mismatch', 'This key cannot see other tenants.');
      }
      return box.sandboxes.list({
        ...filter,
        tenant: tenant ?? caller.tenant,
        ...(state && { states: [state] }),
        ...(labels && { labels: Object.fromEntries(new URLSearchParams(labels)) }),
      });
    },
  }),

  command({
    name: 'sandbox.get',
    summary: 'Show one sandbox',
    scope: 'sandboxes:read',
    effect: 'read',
    input: one,
    output: { kind: 'json', schema: sandbox },
    http: { method: 'GET', path: '/v1/sandboxes/:id' },
    cli: { words: 'sandbox show', args: ['id'], examples: ['skillbox sandbox show ID'] },
    run: ({ box, caller }, { id }) => box.sandboxes.get(caller.tenant, id),
  }),

  command({
    name: 'sandbox.destroy',
    summary: 'End a sandbox and remove its disk',
    description: 'What is destroyed already stays so, and the answer is the same.',
    scope: 'sandboxes:use',
    effect: 'change',
    input: one,
    output: { kind: 'json', schema: sandbox },
    http: { method: 'DELETE', path: '/v1/sandboxes/:id' },
    cli: { words: 'sandbox destroy', args: ['id'], examples: ['skillbox sandbox destroy ID'] },
    run: ({ box, caller }, { id }) => box.sandboxes.destroy(caller, id),
  }),
];
