import { posix } from 'node:path';
import {
  artifact,
  BoxError,
  type Execution,
  execution,
  executionFigures,
  executionId,
  executionPhases,
  executionRequest,
  executionStatus,
  executionSummary,
  executionWindows,
  isFinal,
  page,
  pageQuery,
  skillName,
  tenantId,
  timestamp,
} from '@skillbox/protocol';
import { z } from 'zod';
import type { Caller } from '../access/caller.ts';
import { describeExecution } from '../executions/description.ts';
import { artifactsLink } from '../executions/links.ts';
import { sumOf } from '../executions/stopwatch.ts';
import type { ExecutionRow } from '../store/tables.ts';
import { type CommandContext, command, Reply, type StreamEvent } from './command.ts';

const one = z.object({ id: executionId });
const outputEvent = z
  .object({ time: timestamp, text: z.string() })
  .describe('event: stdout, stderr or status; id: its number, to be sent as Last-Event-ID to go on from there')
  .meta({ id: 'ExecutionEvent' });

export const executionCommands = [
  command({
    name: 'execution.create',
    summary: 'Run a skill',
    description:
      'Runs the skill in a sandbox of its own. Waits for the end and answers with the record, whatever became of it; with wait: false it answers 202 at once. With an Idempotency-Key the same request is accepted once, however often it is sent within a day.',
    scope: 'executions:run',
    effect: 'change',
    input: executionRequest,
    output: { kind: 'json', schema: execution, accepted: execution },
    http: { method: 'POST', path: '/v1/executions' },
    cli: {
      words: 'run',
      args: ['skill'],
      polished: true,
      examples: [
        `skillbox run data-analysis --input '{"data":[1,2,3,4,5]}'`,
        'skillbox run text-summary --input @article.json --json',
        'skillbox run data-analysis --input @numbers.json --download ./out --follow',
      ],
    },
    admit: (box, caller) => box.executions.requirePlace(caller.tenant),
    async run(context, request) {
      const { box, caller, idempotencyKey, signal } = context;
      const begun = performance.now();
      const { id, isNew } = await box.executions.start(caller, request, idempotencyKey);
      const written = request.wait ? await box.executions.ended(id, signal) : undefined;
      // Nobody is there for it, and nobody can come back for it.
      if (request.wait && signal.aborted && idempotencyKey === undefined) box.executions.leaveQueue(id);
      const record = written
        ? describeExecution(written, linkMaker(context))
        : await box.executions.get(id, caller.tenant, linkMaker(context));
      const headers = { Location: `/v1/executions/${id}`, ...(isNew && serverTiming(context, record, begun)) };
      return new Reply(record, { status: isFinal(record.status) ? 200 : 202, headers });
    },
  }),

  command({
    name: 'execution.list',
    summary: 'List executions, newest first',
    scope: 'executions:read',
    effect: 'read',
    input: z.object({
      skill: skillName.optional().describe('Only of this skill'),
      status: executionStatus.optional().describe('Only in this status'),
      since: timestamp.optional().describe('Only created at or after this time'),
      tenant: tenantId.optional().describe('Only of this tenant (administrators; others see their own)'),
      ...pageQuery,
    }),
    output: { kind: 'json', schema: page(executionSummary) },
    http: { method: 'GET', path: '/v1/executions' },
    cli: {
      words: 'exec list',
      examples: ['skillbox exec list --status failed', 'skillbox exec list --skill data-analysis --limit 5 --json'],
    },
    async run({ box, caller }, { tenant, ...filter }) {
      if (tenant !== undefined && tenant !== caller.tenant && !caller.scopes.includes('admin')) {
        throw new BoxError('tenant_mismatch', 'This key cannot see other tenants.');
      }
      return box.executions.list({ ...filter, tenant: tenant ?? caller.tenant });
    },
  }),

  command({
    name: 'execution.figures',
    summary: 'Tell how executions did of late: how many, how they ended, where their time went',
    scope: 'executions:read',
    effect: 'read',
    input: z.object({
      window: z.enum(executionWindows).default('1h').describe('How far back'),
      skill: skillName.optional().describe('Only of this skill'),
    }),
    output: { kind: 'json', schema: executionFigures },
    http: { method: 'GET', path: '/v1/executions/figures' },
    cli: { words: 'exec figures', examples: ['skillbox exec figures', 'skillbox exec figures --window 24h --skill data-analysis --json'] },
    run: ({ box, caller }, filter) => box.figures.read({ ...filter, tenant: caller.tenant }),
  }),

  command({
    name: 'execution.get',
    summary: 'Show one execution',
    scope: 'executions:read',
    effect: 'read',
    input: one,
    output: { kind: 'json', schema: execution },
    http: { method: 'GET', path: '/v1/executions/:id' },
    cli: { words: 'exec show', args: ['id'], examples: ['skillbox exec show 7d4e1c1e-2a6b-4a7a-9f0e-3f5f3a0c9b11'] },
    run: (context, { id }) => context.box.executions.get(id, context.caller.tenant, linkMaker(context)),
  }),

  command({
    name: 'execution.logs',
    summary: 'Read the log of an execution as text',
    scope: 'executions:read',
    effect: 'read',
    input: one,
    output: { kind: 'text' },
    http: { method: 'GET', path: '/v1/executions/:id/logs' },
    cli: { words: 'exec logs', args: ['id'], polished: true, examples: ['skillbox exec logs ID', 'skillbox exec logs ID --follow'] },
    run: async (context, { id }) => (await context.box.executions.get(id, context.caller.tenant, linkMaker(context))).logs,
  }),

  command({
    name: 'execution.events',
    summary: 'Follow output and states of an execution',
    description: 'Server-sent events from the beginning, or after Last-Event-ID; the stream ends when the execution has.',
    scope: 'executions:read',
    effect: 'read',
    input: one,
    output: { kind: 'events', schema: outputEvent },
    http: { method: 'GET', path: '/v1/executions/:id/events' },
    async run({ box, caller, lastEventId, signal }, { id }) {
      const row = await box.executions.row(id, caller.tenant);
      const after = /^\d{1,9}$/.test(lastEventId ?? '') ? Number(lastEventId) : 0;
      return asStream(box.executions.follow(row, after, signal));
    },
  }),

  command({
    name: 'execution.cancel',
    summary: 'Stop an execution',
    description:
      'Ends the whole process tree of a running execution, or takes a waiting one out of the queue. Answers with the record once it has ended.',
    scope: 'executions:run',
    effect: 'change',
    input: one,
    output: { kind: 'json', schema: execution },
    http: { method: 'POST', path: '/v1/executions/:id/cancel' },
    cli: { words: 'exec cancel', args: ['id'], examples: ['skillbox exec cancel ID'] },
    async run(context, { id }) {
      const { box, caller, signal } = context;
      await box.executions.cancel(await box.executions.row(id, caller.tenant));
      await box.executions.ended(id, AbortSignal.any([signal, AbortSignal.timeout(10_000)]));
      return box.executions.get(id, caller.tenant, linkMaker(context));
    },
  }),

  command({
    name: 'execution.delete',
    summary: 'Delete an execution that has ended, with its log and artifacts',
    scope: 'executions:run',
    effect: 'change',
    input: one,
    output: { kind: 'empty' },
    http: { method: 'DELETE', path: '/v1/executions/:id' },
    cli: { words: 'exec delete', args: ['id'], examples: ['skillbox exec delete ID'] },
    async run({ box, caller }, { id }) {
      await box.executions.remove(await box.executions.row(id, caller.tenant), caller.actor);
    },
  }),

  command({
    name: 'execution.files',
    summary: 'List the artifacts of an execution',
    scope: 'executions:read',
    effect: 'read',
    input: one,
    output: { kind: 'json', schema: page(artifact) },
    http: { method: 'GET', path: '/v1/executions/:id/files' },
    cli: {
      words: 'exec files',
      args: ['id'],
      polished: true,
      examples: ['skillbox exec files ID', 'skillbox exec files ID --download ./out'],
    },
    async run({ box, caller }, { id }) {
      await box.executions.row(id, caller.tenant);
      return { items: await box.records.files(id), next_cursor: null };
    },
  }),

  command({
    name: 'execution.archive',
    summary: 'Download all artifacts as tar.gz',
    description: 'Also with the signed link in files_url, without a key, for an hour.',
    scope: 'executions:read',
    effect: 'read',
    input: one,
    output: { kind: 'bytes', contentType: 'application/gzip' },
    http: { method: 'GET', path: '/v1/executions/:id/files.tar.gz', signed: true },
    async run({ box, caller }, { id }) {
      await box.executions.row(id, tenantOf(caller));
      return new Reply(box.packArtifacts(await box.records.files(id)), {
        headers: { 'Content-Disposition': `attachment; filename="${id}.tar.gz"` },
      });
    },
  }),

  command({
    name: 'execution.file',
    summary: 'Download one artifact',
    scope: 'executions:read',
    effect: 'read',
    input: one.extend({ path: z.string().min(1).max(4096).describe('Path of the artifact') }),
    output: { kind: 'bytes', contentType: 'application/octet-stream' },
    http: { method: 'GET', path: '/v1/executions/:id/files/:path*' },
    async run({ box, caller }, { id, path }) {
      await box.executions.row(id, caller.tenant);
      const file = (await box.records.files(id)).find((candidate) => candidate.path === path);
      if (!file) throw new BoxError('not_found', `The execution has no artifact ${path}.`);
      const name = posix.basename(path).replace(/[^\w.-]/g, '_');
      const headers = {
        'Content-Length': String(file.size),
        'Content-Disposition': `attachment; filename="${name}"`,
        ETag: `"${file.sha256}"`,
      };
      return new Reply(await box.store.blobs.get(file.sha256), { headers });
    },
  }),
];

/** The phases of its record, and around them what cannot stand in it: taking in the request, and what follows the commit. */
function serverTiming({ box, receivedAt }: CommandContext, { timings, warm }: Execution, begun: number): Record<string, string> {
  if (!timings) return {};
  const respond = performance.now() - begun - sumOf(timings);
  box.metrics.observeRespond(respond, warm);
  const total = performance.now() - receivedAt;
  const phases = executionPhases.flatMap((phase) => (timings[phase] === null ? [] : `${phase};dur=${timings[phase]}`));
  const own = `receive;dur=${(begun - receivedAt).toFixed(3)}`;
  return { 'Server-Timing': [own, ...phases, `respond;dur=${respond.toFixed(3)}`, `total;dur=${total.toFixed(3)}`].join(', ') };
}

const linkMaker =
  ({ box, origin }: CommandContext) =>
  (id: ExecutionRow['id']): string =>
    artifactsLink(box.secrets, origin, id);

/** A signed link names no tenant: the signature stands for it. */
const tenantOf = (caller: Caller): string | undefined => (caller.tenant === '' ? undefined : caller.tenant);

async function* asStream(entries: AsyncGenerator<{ seq: number; type: string; time: string; text: string }>): AsyncGenerator<StreamEvent> {
  for await (const { seq, type, time, text } of entries) yield { id: String(seq), event: type, data: { time, text } };
}
