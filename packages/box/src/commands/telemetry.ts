import { canaryRun, hostExamination, hostReport, page, routeExplanation, staleItem, templateName } from '@skillbox/protocol';
import { z } from 'zod';
import { machineReport } from '../sandbox/machine.ts';
import type { StockState } from '../sandbox/stock.ts';
import { command } from './command.ts';

export const telemetryCommands = [
  command({
    name: 'route.explain',
    summary: 'Tell which provider would make a sandbox of a template now, and why not the others',
    scope: 'sandboxes:read',
    effect: 'read',
    input: z.object({ name: templateName }),
    output: { kind: 'json', schema: routeExplanation },
    http: { method: 'GET', path: '/v1/templates/:name/route' },
    cli: { words: 'route explain', args: ['name'], examples: ['skillbox route explain burst', 'skillbox route explain python@1 --json'] },
    run: ({ box, caller }, { name }) => box.sandboxes.explain(caller, name),
  }),

  command({
    name: 'host.inspect',
    summary:
      'Show the machine, its sandboxes by state, what stands ready, the health of providers, the last canary and webhooks in trouble',
    scope: 'admin',
    effect: 'read',
    input: z.object({}),
    output: { kind: 'json', schema: hostReport },
    http: { method: 'GET', path: '/v1/host' },
    cli: { words: 'inspect host', examples: ['skillbox inspect host', 'skillbox inspect host --json'] },
    run: async ({ box }) => ({
      ...{ host: box.host, version: box.version },
      ...(await machineReport(box.config.stateRoot)),
      ...(await box.sandboxes.telemetry.report()),
      warm: {
        budget_bytes: box.config.warmMemory,
        executions: poolsOf(box.provider.warm),
        sandboxes: { ...poolsOf(box.ahead.state), templates: [...box.ahead.state.templates] },
      },
      webhooks: await box.webhooks.inTrouble(),
    }),
  }),

  command({
    name: 'host.stale',
    summary: 'List sandboxes on this host that no record owns, whose time is over, or that a crash left unfinished',
    scope: 'admin',
    effect: 'read',
    input: z.object({}),
    output: { kind: 'json', schema: page(staleItem) },
    http: { method: 'GET', path: '/v1/host/stale' },
    cli: { words: 'inspect stale', examples: ['skillbox inspect stale'] },
    run: async ({ box }) => ({ items: await box.sandboxes.telemetry.stale(), next_cursor: null }),
  }),

  command({
    name: 'host.doctor',
    summary: 'Look at this host anew: what it has and lacks, and the line that mends each',
    description: 'What skillbox doctor prints there. Layers of the sandbox are tried for real, beside what runs.',
    scope: 'admin',
    effect: 'read',
    input: z.object({}),
    output: { kind: 'json', schema: hostExamination },
    http: { method: 'GET', path: '/v1/host/doctor' },
    async run({ box }) {
      // Not before: it brings the providers with it, and the command line reads this file too.
      const { examine } = await import('../doctor.ts');
      const checks = await examine(() => box.config);
      return { healthy: checks.every(({ state }) => state !== 'missing'), checks };
    },
  }),

  command({
    name: 'host.canary',
    summary: 'Make a canary sandbox now, run a program in it, end it, and tell how long each step took',
    description: 'The box does this by itself every ten minutes. One that fails is an answer, not an error.',
    scope: 'admin',
    effect: 'change',
    audited: true,
    input: z.strictObject({}),
    output: { kind: 'json', schema: canaryRun },
    http: { method: 'POST', path: '/v1/host/canary' },
    cli: { words: 'inspect canary', examples: ['skillbox inspect canary'] },
    run: ({ box }) => box.sandboxes.telemetry.runCanary(),
  }),

  command({
    name: 'host.reap',
    summary: 'End and remove what inspect stale shows',
    description: 'The box does this by itself, at the time and at every start; this is for when one does not want to wait.',
    scope: 'admin',
    effect: 'change',
    audited: true,
    input: z.strictObject({ dry_run: z.boolean().default(false).describe('Only tell what would go') }),
    output: { kind: 'json', schema: page(staleItem) },
    http: { method: 'POST', path: '/v1/host/reap' },
    cli: { words: 'reap', examples: ['skillbox reap --dry-run', 'skillbox reap'] },
    async run({ box }, { dry_run }) {
      const { telemetry } = box.sandboxes;
      return { items: await (dry_run ? telemetry.stale() : telemetry.reap()), next_cursor: null };
    },
  }),
];

const poolsOf = ({ memoryBytes, missed, pools, ready, served, wanted }: StockState) => ({
  ...{ ready, wanted, pools, served, missed },
  memory_bytes: memoryBytes,
});
