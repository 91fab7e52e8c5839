/** The declared environment: what it is, make it so, start and stop it, and look at it. */

import {
  BoxError,
  bootstrapReport,
  boxModel,
  contextReport,
  downReport,
  dryRun,
  exitCodes,
  focusReport,
  graphClient,
  graphExamination,
  graphSelection,
  renderedGraph,
  runtimeStatus,
  serviceChoice,
  serviceLog,
  serviceLogLine,
  startMode,
  syncReport,
  taskChoice,
  upReport,
} from '@skillbox/protocol';
import { z } from 'zod';
import { graphCommand, listed, serverRuntime } from './graph-command.ts';
import { queryFlag } from './query-flag.ts';

const driftExit = 2;
const okOrFailed = ({ ok }: { ok: boolean }): number => (ok ? exitCodes.ok : exitCodes.failed);
const waitSeconds = z
  .number()
  .positive()
  .max(3600)
  .optional()
  .describe('How long to wait for the health of each service, in seconds. Default: what it declares, else 30');

const selected = ({ client, profile }: { client?: string | undefined; profile?: string | undefined }) => ({
  client,
  profiles: listed(profile),
});

/** Which services, and how up, down and restart treat them. */
const choice = ({
  service,
  dry_run,
  wait_seconds,
}: {
  service?: string | undefined;
  dry_run: boolean;
  wait_seconds?: number | undefined;
}) => ({
  services: listed(service),
  dryRun: dry_run,
  waitSeconds: wait_seconds,
});

export const graphCommands = [
  graphCommand({
    name: 'box.describe',
    summary: 'Show the model of the box: its paths inside and on the host, ports, clients and profiles',
    effect: 'read',
    input: z.object({}),
    output: boxModel,
    http: { method: 'GET', path: '/v1/sandbox' },
    cli: { words: 'describe', examples: ['skillbox describe', 'skillbox describe --json'] },
    operate: async (runtime) => (await import('../graph/render.ts')).describeBox(runtime),
  }),

  graphCommand({
    name: 'render',
    summary: 'Show the graph that is declared, after overlays, profiles and placeholders',
    effect: 'read',
    input: z.object({ ...graphSelection, why: queryFlag(false).describe('Tell the file and line that each value came from') }),
    output: renderedGraph,
    http: { method: 'GET', path: '/v1/runtime/graph' },
    cli: { words: 'render', examples: ['skillbox render', 'skillbox render --client personal --profile surfaces --why'] },
    operate: async (runtime, input) => (await import('../graph/render.ts')).render(runtime, selected(input), { why: input.why }),
  }),

  graphCommand({
    name: 'status',
    summary: 'Show the state of repos, artifacts, env files, skills, tasks, services, logs and checks',
    effect: 'read',
    input: z.object(graphSelection),
    output: runtimeStatus,
    http: { method: 'GET', path: '/v1/runtime' },
    cli: { words: 'status', examples: ['skillbox status', 'skillbox status --client personal --json'] },
    operate: async (runtime, input) => (await import('../graph/status.ts')).status(runtime, selected(input)),
    exit: ({ healthy }) => (healthy ? exitCodes.ok : driftExit),
  }),

  graphCommand({
    name: 'sync',
    summary: 'Bring repos, artifacts, env files, log folders and skills to what is declared',
    effect: 'change',
    tellsProgress: true,
    input: z.object({ ...graphSelection, dry_run: dryRun }),
    output: syncReport,
    http: { method: 'POST', path: '/v1/runtime/sync' },
    cli: { words: 'sync', examples: ['skillbox sync', 'skillbox sync --client personal --dry-run'] },
    operate: async (runtime, input) => (await import('../graph/sync/sync.ts')).sync(runtime, selected(input), { dryRun: input.dry_run }),
    exit: okOrFailed,
  }),

  graphCommand({
    name: 'bootstrap',
    summary: 'Sync, then run the tasks whose success check does not hold yet, in order',
    effect: 'change',
    tellsProgress: true,
    input: z.object({ ...graphSelection, task: taskChoice, dry_run: dryRun }),
    output: bootstrapReport,
    http: { method: 'POST', path: '/v1/runtime/bootstrap' },
    cli: { words: 'bootstrap', examples: ['skillbox bootstrap', 'skillbox bootstrap --client acme --task app-bootstrap'] },
    operate: async (runtime, input) =>
      (await import('../graph/tasks/bootstrap.ts')).bootstrap(runtime, selected(input), {
        tasks: listed(input.task),
        dryRun: input.dry_run,
      }),
    exit: okOrFailed,
  }),

  graphCommand({
    name: 'restart',
    summary: 'Stop services with those that need them, then start all of these again',
    effect: 'change',
    tellsProgress: true,
    input: z.object({
      ...graphSelection,
      service: serviceChoice,
      mode: startMode.optional().describe('Default: the mode each service runs in'),
      dry_run: dryRun,
      wait_seconds: waitSeconds,
    }),
    output: upReport,
    http: { method: 'POST', path: '/v1/runtime/restart' },
    cli: { words: 'restart', examples: ['skillbox restart --service web', 'skillbox restart --client acme --profile local-core'] },
    operate: async (runtime, input) =>
      (await import('../graph/services/restart.ts')).restart(runtime, selected(input), { ...choice(input), mode: input.mode }),
    exit: okOrFailed,
  }),

  graphCommand({
    name: 'logs',
    summary: 'Show the last lines that services and tasks wrote',
    description: 'Over HTTP, who accepts text/event-stream gets these lines and then each that is written, as events.',
    effect: 'read',
    input: z.object({
      ...graphSelection,
      service: serviceChoice,
      lines: z.coerce.number().int().min(1).max(10_000).default(40).describe('How many of each'),
    }),
    output: z.object({ items: z.array(serviceLog) }).meta({ id: 'ServiceLogs' }),
    http: { method: 'GET', path: '/v1/runtime/logs' },
    cli: { words: 'logs', polished: true, examples: ['skillbox logs --service web --lines 80', 'skillbox logs --service web --follow'] },
    operate: async (runtime, input) =>
      (await import('../graph/logs.ts')).logs(runtime, selected(input), { services: listed(input.service), lines: input.lines }),
    follow: {
      event: 'line',
      schema: serviceLogLine,
      async run(context, input) {
        const { followLogs, logPlaces, mostFollowed } = await import('../graph/follow-logs.ts');
        const { logFiles } = await import('../graph/logs.ts');
        const files = logFiles(await serverRuntime(context), selected(input), listed(input.service));
        if (files.length > mostFollowed)
          throw new BoxError('bad_request', `These are ${files.length} logs; at most ${mostFollowed} can be followed at once.`, {
            hint: 'Name the services.',
          });
        return followLogs(logPlaces(files, input.lines, context.lastEventId), context.signal);
      },
    },
  }),

  graphCommand({
    name: 'context',
    summary: 'Write CLAUDE.md and AGENTS.md, which tell agents where they are',
    effect: 'change',
    input: z.object({ ...graphSelection, dry_run: dryRun }),
    output: contextReport,
    http: { method: 'POST', path: '/v1/runtime/context' },
    cli: { words: 'context', examples: ['skillbox context --client personal'] },
    operate: async (runtime, input) =>
      (await import('../graph/focus/context.ts')).context(runtime, selected(input), { dryRun: input.dry_run }),
  }),

  graphCommand({
    name: 'focus',
    summary: 'Activate a client: sync, bootstrap, up, collect live state, write context, remember it',
    effect: 'change',
    tellsProgress: true,
    input: z.object({
      client_id: graphClient.optional().describe('Client to activate. Default with --resume: the last one'),
      profile: graphSelection.profile,
      service: serviceChoice,
      mode: startMode.default('reuse'),
      resume: z.boolean().default(false).describe('Activate the last focus again, without redoing what still holds'),
      wait_seconds: waitSeconds,
    }),
    output: focusReport,
    http: { method: 'POST', path: '/v1/runtime/focus' },
    cli: { words: 'focus', args: ['client_id?'], examples: ['skillbox focus personal', 'skillbox focus --resume'] },
    operate: async (runtime, input) =>
      (await import('../graph/focus/focus.ts')).focus(runtime, {
        client: input.client_id,
        profiles: listed(input.profile),
        services: listed(input.service),
        mode: input.mode,
        resume: input.resume,
        waitSeconds: input.wait_seconds,
      }),
    exit: okOrFailed,
  }),

  graphCommand({
    name: 'up',
    summary: 'Sync, run the tasks that services need, start them in order, and wait until they are healthy',
    effect: 'change',
    tellsProgress: true,
    input: z.object({
      ...graphSelection,
      service: serviceChoice,
      mode: startMode.default('reuse'),
      dry_run: dryRun,
      wait_seconds: waitSeconds,
    }),
    output: upReport,
    http: { method: 'POST', path: '/v1/runtime/up' },
    cli: {
      words: 'up',
      polished: true,
      examples: ['skillbox up', 'skillbox up --port 9090', 'skillbox up --client acme --profile local-core --mode fresh'],
    },
    operate: async (runtime, input) =>
      (await import('../graph/services/up.ts')).up(runtime, selected(input), { ...choice(input), mode: input.mode }),
    exit: okOrFailed,
  }),

  graphCommand({
    name: 'down',
    summary: 'Stop services, those that need others first',
    description:
      'Without names everything that up started stops, pulse and the server of the box too; executions that run may finish within the drain time (SKILLBOX_DRAIN_TIMEOUT). With a client or profiles, what these add to the box stops. A server that is asked over HTTP or MCP goes on.',
    effect: 'change',
    tellsProgress: true,
    input: z.object({ ...graphSelection, service: serviceChoice, dry_run: dryRun, wait_seconds: waitSeconds }),
    output: downReport,
    http: { method: 'POST', path: '/v1/runtime/down' },
    cli: { words: 'down', polished: true, examples: ['skillbox down', 'skillbox down --service web'] },
    operate: async (runtime, input) => (await import('../graph/services/down.ts')).down(runtime, selected(input), choice(input)),
    exit: okOrFailed,
  }),

  graphCommand({
    name: 'doctor',
    summary: 'Check the machine and the graph, with the line that mends each fault',
    effect: 'read',
    input: z.object(graphSelection),
    output: graphExamination,
    http: { method: 'GET', path: '/v1/runtime/doctor' },
    cli: { words: 'doctor', polished: true, examples: ['skillbox doctor', 'skillbox doctor --client personal --json'] },
    operate: async (runtime, input) => (await import('../graph/doctor.ts')).doctor(runtime, selected(input)),
    exit: ({ healthy }) => (healthy ? exitCodes.ok : driftExit),
  }),
];
