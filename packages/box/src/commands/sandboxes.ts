import {
  BoxError,
  createSandbox,
  eventEnvelope,
  networkChoice,
  page,
  pageQuery,
  sandbox,
  sandboxId,
  sandboxState,
  snapshot,
  snapshotId,
  templateName,
  tenantId,
} from '@skillbox/protocol';
import { z } from 'zod';
import { decodeCursor, encodeCursor } from '../store/cursor.ts';
import { parseDuration } from '../units.ts';
import { command, Reply } from './command.ts';

const one = z.object({ id: sandboxId });
const ttl = createSandbox.shape.ttl;

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

  command({
    name: 'sandbox.recreate',
    summary: 'Give a sandbox a fresh disk',
    description:
      'The same template, labels, environment and id, and its time starts again. What ran in it ends. Also for one that has ended.',
    scope: 'sandboxes:use',
    effect: 'change',
    input: one,
    output: { kind: 'json', schema: sandbox },
    http: { method: 'POST', path: '/v1/sandboxes/:id/recreate' },
    cli: { words: 'sandbox recreate', args: ['id'], examples: ['skillbox sandbox recreate ID'] },
    run: ({ box, caller }, { id }) => box.sandboxes.recreate(caller, id),
  }),

  command({
    name: 'sandbox.ttl',
    summary: 'Set the time until a sandbox ends',
    description: 'Counted from now, at most the template’s maximum after it became ready.',
    scope: 'sandboxes:use',
    effect: 'change',
    input: one.extend({ ttl: ttl.unwrap() }),
    output: { kind: 'json', schema: sandbox },
    http: { method: 'POST', path: '/v1/sandboxes/:id/ttl' },
    cli: { words: 'sandbox ttl', args: ['id', 'ttl'], examples: ['skillbox sandbox ttl ID 2h'] },
    run: ({ box, caller }, { id, ttl: asked }) => box.sandboxes.setTtl(caller, id, milliseconds(asked)),
  }),

  command({
    name: 'sandbox.network',
    summary: 'Change what a sandbox reaches, while it lives',
    description:
      'Replaces the list; without one it is the template’s again. Within what its template allows; administrators go beyond it. Holds for the next request, and what is under way and no longer allowed is cut.',
    scope: 'sandboxes:use',
    effect: 'change',
    input: one.extend({
      mode: networkChoice.shape.mode
        .optional()
        .describe('none, or allow: what the list names. Default: allow with a list, else as the template has it'),
      allow: networkChoice.shape.allow.describe('Hosts, such as example.com or *.example.com:8443; default: what the template allows'),
    }),
    output: { kind: 'json', schema: sandbox },
    http: { method: 'PUT', path: '/v1/sandboxes/:id/network' },
    cli: {
      words: 'sandbox network',
      args: ['id'],
      examples: ["skillbox sandbox network ID --allow index.example --allow '*.files.example'", 'skillbox sandbox network ID --mode none'],
    },
    run({ box, caller }, { id, mode, allow }) {
      const choice = mode || allow ? { mode: mode ?? ('allow' as const), ...(allow && { allow }) } : undefined;
      return box.sandboxes.setNetwork(caller, id, choice);
    },
  }),

  command({
    name: 'sandbox.pause',
    summary: 'Free the memory of a sandbox, keep its disk',
    description: 'What runs in it ends. The next use resumes it.',
    scope: 'sandboxes:use',
    effect: 'change',
    input: one,
    output: { kind: 'json', schema: sandbox },
    http: { method: 'POST', path: '/v1/sandboxes/:id/pause' },
    cli: { words: 'sandbox pause', args: ['id'], examples: ['skillbox sandbox pause ID'] },
    run: ({ box, caller }, { id }) => box.sandboxes.pause(caller, id),
  }),

  command({
    name: 'sandbox.resume',
    summary: 'Make a paused sandbox ready again',
    scope: 'sandboxes:use',
    effect: 'change',
    input: one,
    output: { kind: 'json', schema: sandbox },
    http: { method: 'POST', path: '/v1/sandboxes/:id/resume' },
    cli: { words: 'sandbox resume', args: ['id'], examples: ['skillbox sandbox resume ID'] },
    run: ({ box, caller }, { id }) => box.sandboxes.resume(caller, id),
  }),

  command({
    name: 'sandbox.snapshot',
    summary: 'Keep the disk of a sandbox as it is now',
    description: 'The disk, not the memory. Start others from it, or restore it.',
    scope: 'sandboxes:use',
    effect: 'change',
    input: one.extend({
      name: z
        .string()
        .regex(/^[^\p{Cc}]{1,100}$/u, 'up to 100 characters, none of them a control character')
        .optional()
        .describe('What it is, for people'),
    }),
    output: { kind: 'json', schema: snapshot, status: 201 },
    http: { method: 'POST', path: '/v1/sandboxes/:id/snapshots' },
    cli: {
      words: 'sandbox snapshot',
      args: ['id', 'name?'],
      examples: ['skillbox sandbox snapshot ID', 'skillbox sandbox snapshot ID clean'],
    },
    run: ({ box, caller }, { id, name }) => box.sandboxes.snapshot(caller, id, name),
  }),

  command({
    name: 'snapshot.list',
    summary: 'List snapshots, newest first',
    scope: 'sandboxes:read',
    effect: 'read',
    input: z.object({ sandbox: sandboxId.optional().describe('Only of this sandbox'), ...pageQuery }),
    output: { kind: 'json', schema: page(snapshot) },
    http: { method: 'GET', path: '/v1/snapshots' },
    cli: { words: 'sandbox snapshots', examples: ['skillbox sandbox snapshots', 'skillbox sandbox snapshots --sandbox ID'] },
    run: ({ box, caller }, filter) => box.sandboxes.snapshots(caller.tenant, filter),
  }),

  command({
    name: 'snapshot.delete',
    summary: 'Delete a snapshot',
    description: 'Sandboxes that were made from it keep what they have.',
    scope: 'sandboxes:use',
    effect: 'change',
    input: z.object({ id: snapshotId }),
    output: { kind: 'empty' },
    http: { method: 'DELETE', path: '/v1/snapshots/:id' },
    cli: { words: 'sandbox snapshot-delete', args: ['id'], examples: ['skillbox sandbox snapshot-delete ID'] },
    run: ({ box, caller }, { id }) => box.sandboxes.removeSnapshot(caller, id),
  }),

  command({
    name: 'sandbox.restore',
    summary: 'Put the disk of a snapshot into a sandbox',
    description: 'The sandbox keeps its id, its time and its template. What ran in it ends, and what is on its disk now is lost.',
    scope: 'sandboxes:use',
    effect: 'change',
    input: one.extend({ snapshot: snapshotId }),
    output: { kind: 'json', schema: sandbox },
    http: { method: 'POST', path: '/v1/sandboxes/:id/restore' },
    cli: { words: 'sandbox restore', args: ['id', 'snapshot'], examples: ['skillbox sandbox restore ID SNAPSHOT'] },
    run: ({ box, caller }, { id, snapshot: from }) => box.sandboxes.restore(caller, id, from),
  }),

  command({
    name: 'sandbox.fork',
    summary: 'Make sandboxes that start from the disk of this one',
    description: 'The same template, labels and environment. All of them or none.',
    scope: 'sandboxes:use',
    effect: 'change',
    input: one.extend({
      count: z.number().int().min(1).max(32).default(1).describe('How many'),
      ttl: ttl.describe('Time until they end; default: as the first one had'),
    }),
    output: { kind: 'json', schema: page(sandbox), status: 201 },
    http: { method: 'POST', path: '/v1/sandboxes/:id/fork' },
    cli: { words: 'sandbox fork', args: ['id'], examples: ['skillbox sandbox fork ID', 'skillbox sandbox fork ID --count 3'] },
    async run({ box, caller }, { id, count, ttl: asked }) {
      const items = await box.sandboxes.fork(caller, id, { count, ...(asked !== undefined && { ttlMs: milliseconds(asked) }) });
      return { items, next_cursor: null };
    },
  }),

  command({
    name: 'sandbox.events',
    summary: 'Read what happened to a sandbox, oldest first',
    scope: 'sandboxes:read',
    effect: 'read',
    input: one.extend(pageQuery),
    output: { kind: 'json', schema: page(eventEnvelope) },
    http: { method: 'GET', path: '/v1/sandboxes/:id/events' },
    cli: { words: 'sandbox events', args: ['id'], examples: ['skillbox sandbox events ID'] },
    async run({ box, caller }, { id, limit, cursor }) {
      await box.sandboxes.get(caller.tenant, id);
      const rows = await box.events.list({
        ...{ tenant: caller.tenant, subject: { type: 'sandbox', id }, limit: limit + 1 },
        ...(cursor !== undefined && { afterSeq: seqOf(cursor) }),
      });
      const items = rows.slice(0, limit);
      const last = items.at(-1);
      return { items, next_cursor: rows.length > limit && last ? encodeCursor(String(last.seq)) : null };
    },
  }),
];

function milliseconds(asked: string | number): number {
  const ms = parseDuration(asked);
  if (ms !== undefined && ms > 0) return ms;
  throw new BoxError('bad_request', '/ttl: expected a time such as 90s.');
}

function seqOf(cursor: string): number {
  const [text] = decodeCursor(cursor, 1);
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new BoxError('invalid_cursor', 'This cursor was not made by the box.');
}
