import { z } from 'zod';
import { timestamp } from './ids.ts';
import { sandbox, sandboxStates } from './sandboxes.ts';
import { webhook } from './webhooks.ts';

export const routeExplanation = z
  .object({
    template: z.string().describe('Exactly what would be made: name@version'),
    price_per_hour: z.number(),
    route: sandbox.shape.route.describe('Candidates in order; taken: this one would make it now'),
  })
  .meta({ id: 'RouteExplanation' });

export const canaryRun = z
  .object({
    time: timestamp,
    ok: z.boolean(),
    steps: z
      .array(z.object({ step: z.enum(['create', 'exec', 'destroy']), ms: z.number().nonnegative() }))
      .describe('How long each step took, as far as it came'),
    error: z.string().nullable(),
  })
  .meta({ id: 'CanaryRun' });

const standing = {
  ready: z.number().int().describe('That stand ready now'),
  wanted: z.number().int().describe('That the demand of late asks for'),
};
const pools = {
  ...standing,
  pools: z.number().int(),
  memory_bytes: z.number().int(),
  served: z.number().int().describe('Since the start'),
  missed: z.number().int().describe('Since the start: none was ready'),
};
const warm = z
  .object({
    budget_bytes: z.number().int().describe('SKILLBOX_WARM_MEMORY, for both'),
    executions: z.object(pools).describe('For runs of skills'),
    sandboxes: z
      .object({ ...pools, templates: z.array(z.object({ template: z.string(), ...standing })) })
      .describe('For creates of living sandboxes'),
  })
  .describe('Sandboxes made ready ahead');

export const hostReport = z
  .object({
    host: z.string(),
    version: z.string(),
    cpus: z.number().int(),
    cpu_used: z.number().min(0).max(1).describe('Share of all processors that was busy in the last seconds'),
    load: z.array(z.number()).describe('Programs that ran or wanted to, over 1, 5 and 15 minutes'),
    memory: z.object({ total_bytes: z.number().int(), free_bytes: z.number().int() }),
    disk: z.object({ total_bytes: z.number().int(), free_bytes: z.number().int() }).describe('Where the state root is'),
    sandboxes: z.record(z.enum(sandboxStates), z.number().int()).describe('Of this host, by state'),
    warm,
    providers: z.array(z.object({ name: z.string(), tier: z.string(), healthy: z.boolean(), detail: z.string() })),
    canary: canaryRun.nullable().describe('The last run here; null before the first'),
    webhooks: z.array(webhook).describe('Those of the box whose hub refuses or does not answer, or that gave up deliveries'),
  })
  .meta({ id: 'HostReport' });

export const staleItem = z
  .object({
    sandbox: z.string(),
    provider: z.string().nullable(),
    why: z
      .enum(['orphan', 'expired', 'unfinished'])
      .describe('orphan: no living record owns it; expired: its time is over; unfinished: a server stopped while it was made or ended'),
    reaped: z.boolean(),
  })
  .meta({ id: 'StaleSandbox' });

export const hostCheck = z
  .object({
    name: z.string(),
    state: z.enum(['ok', 'warn', 'missing']).describe('missing: the box cannot do its work; warn: it can, but look at it'),
    detail: z.string(),
    fix: z.string().optional().describe('The line that mends it'),
  })
  .meta({ id: 'HostCheck' });

export const hostExamination = z
  .object({ healthy: z.boolean().describe('Nothing is missing'), checks: z.array(hostCheck) })
  .meta({ id: 'HostExamination' });

export type HostExamination = z.infer<typeof hostExamination>;
export type HostCheck = z.infer<typeof hostCheck>;
export type RouteExplanation = z.infer<typeof routeExplanation>;
export type CanaryRun = z.infer<typeof canaryRun>;
export type HostReport = z.infer<typeof hostReport>;
export type StaleItem = z.infer<typeof staleItem>;
