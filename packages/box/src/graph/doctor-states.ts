/** What doctor says about the states of items: one line for each that is not well, one for all that are. */

import { type ErrorCode, errorKinds, type GraphCheck, type RuntimeStatus } from '@skillbox/protocol';
import type { Graph, Service } from './graph.ts';
import { coverageGaps } from './ledger.ts';
import { hostEnvironment } from './programs/environment.ts';
import { missingProgram } from './programs/first-word.ts';
import { describeListener, listenerOn } from './programs/ports.ts';
import type { Runtime } from './runtime.ts';

export function stateChecks(runtime: Runtime, graph: Graph, status: RuntimeStatus): GraphCheck[] {
  return [
    ...section('repos', status.repos, ({ id, state, required, host_path, detail }) => {
      if (state === 'missing') return problem(required, `${id} is not at ${host_path}`, 'skillbox sync', 'sync_failed');
      return state === 'unknown' ? remark(`${id} is unknown at ${host_path}: ${detail}`, 'skillbox sync') : undefined;
    }),
    ...section('artifacts', status.artifacts, ({ id, state, required, host_path }) => {
      if (state === 'missing') return problem(required, `${id} is not at ${host_path}`, 'skillbox sync', 'sync_failed');
      return state === 'stale' ? remark(`${id} is not the file that its SHA-256 names`, 'skillbox sync') : undefined;
    }),
    ...section('env files', status.env_files, ({ id, state, required, host_path }) => {
      const source = graph.envFiles.find((file) => file.id === id)?.source;
      if (state === 'source-missing')
        return problem(
          required,
          `${id} has no source${source?.kind === 'file' ? ` at ${source.path}` : ''}`,
          source?.kind === 'file' ? `Write ${source.path}, then skillbox sync` : `Write ${host_path}`,
          'LOCAL_RUNTIME_START_BLOCKED',
        );
      if (state === 'missing')
        return problem(
          required,
          `${id} is not at ${host_path}`,
          source?.kind === 'file' ? 'skillbox sync' : `Write ${host_path}`,
          'LOCAL_RUNTIME_START_BLOCKED',
        );
      return state === 'stale' ? remark(`${id} is older than its source`, 'skillbox sync') : undefined;
    }),
    ...skillChecks(status),
    ...section('tasks', status.tasks, ({ id, state, blocked_by }) =>
      state === 'ready'
        ? undefined
        : remark(`${id} is ${state}${blocked_by.length > 0 ? ` by ${blocked_by.join(', ')}` : ''}`, `skillbox bootstrap --task ${id}`),
    ),
    ...serviceChecks(runtime, graph, status),
    ...section('logs', status.logs, ({ id, state, host_path }) =>
      state === 'missing' ? remark(`${id} is not at ${host_path}`, 'skillbox sync') : undefined,
    ),
    ...section('checks', status.checks, ({ id, state, required, detail }) =>
      state === 'fail' ? problem(required, `${id}: ${detail}`, null, null) : undefined,
    ),
    ...section('bridges', status.bridges, ({ id, state, required, outputs }) => {
      if (state === 'fresh') return undefined;
      const absent = outputs.filter(({ present }) => !present).map(({ host_path }) => host_path);
      return state === 'stale'
        ? remark(`${id} is older than what it is made from`, 'skillbox up')
        : problem(required, `${id} has not written ${absent.join(', ')}`, 'skillbox up', 'LOCAL_RUNTIME_ENV_OUTPUT_MISSING');
    }),
    ...coverageGaps(graph).map(
      (gap): GraphCheck => ({
        name: 'parity ledger',
        ...problem(true, gap, errorKinds.LOCAL_RUNTIME_COVERAGE_GAP.hint, 'LOCAL_RUNTIME_COVERAGE_GAP'),
      }),
    ),
    pulseCheck(status),
  ];
}

type Verdict = Omit<GraphCheck, 'name'>;

const problem = (required: boolean, detail: string, fix: string | null, code: ErrorCode | null): Verdict => ({
  code,
  state: required ? 'fail' : 'warn',
  detail,
  fix,
});
const remark = (detail: string, fix: string | null): Verdict => ({ code: null, state: 'warn', detail, fix });

function section<T>(name: string, items: readonly T[], judge: (item: T) => Verdict | undefined): GraphCheck[] {
  if (items.length === 0) return [];
  const bad = items.flatMap((item): GraphCheck[] => {
    const verdict = judge(item);
    return verdict ? [{ name, ...verdict }] : [];
  });
  return bad.length > 0 ? bad : [{ name, code: null, state: 'ok', detail: `${items.length} as declared`, fix: null }];
}

const skillCodes = { 'not-installed': 'SKILL_NOT_INSTALLED', stale: 'SKILL_INSTALL_STALE', extra: 'SKILL_EXTRA_INSTALLED' } as const;

function skillChecks({ skills }: RuntimeStatus): GraphCheck[] {
  return skills.flatMap(({ id, state, skills: installed, required, detail }): GraphCheck[] => {
    const name = `skills ${id}`;
    if (state === 'invalid')
      return [
        { name, ...problem(true, detail ?? 'its file cannot be used', errorKinds.SKILL_CONFIG_INVALID.hint, 'SKILL_CONFIG_INVALID') },
      ];
    const bad = installed.flatMap(({ name: skill, state: found }): GraphCheck[] => {
      if (found === 'ok') return [];
      const code = skillCodes[found];
      return [
        {
          name,
          ...problem(
            required && found !== 'extra',
            `${skill} is ${found === 'extra' ? 'installed and not declared' : found}`,
            errorKinds[code].hint,
            code,
          ),
        },
      ];
    });
    if (bad.length > 0) return bad;
    if (state !== 'ok') return [{ name, ...problem(required, detail ?? `the set is ${state}`, 'skillbox sync', 'SKILL_NOT_INSTALLED') }];
    return [{ name, code: null, state: 'ok', detail: `${installed.length} installed`, fix: null }];
  });
}

/** Those that run are judged by their health, the others by whether they could start. */
function serviceChecks(runtime: Runtime, graph: Graph, { services }: RuntimeStatus): GraphCheck[] {
  const byId = new Map(graph.services.map((service) => [service.id, service]));
  return section('services', services, ({ id, state, wanted, detail }) => {
    const service = byId.get(id);
    if (wanted && state === 'down')
      return problem(true, `${id} is down${detail === null ? '' : `: ${detail}`}`, `skillbox logs --service ${id}`, 'service_failed');
    if (state === 'starting') return remark(`${id} is starting${detail === null ? '' : `: ${detail}`}`, `skillbox logs --service ${id}`);
    // The server has checks of its own, see the machine's part.
    if (!service || service.own !== undefined || state === 'running' || state === 'ok') return undefined;
    return obstacle(runtime, graph, service);
  });
}

function obstacle({ config }: Runtime, graph: Graph, service: Service): Verdict | undefined {
  // A sandbox has its own programs and ports.
  if (service.template !== undefined) return undefined;
  const { PATH = '' } = hostEnvironment(config, graph, service.env);
  for (const command of new Set(Object.values(service.commands))) {
    const missing = missingProgram(command, service.cwd.hostPath, PATH);
    if (missing !== undefined)
      return problem(
        service.required,
        `${service.id} needs ${missing}, which was not found`,
        errorKinds.command_missing.hint,
        'command_missing',
      );
  }
  if (Object.keys(service.commands).length === 0) return undefined;
  for (const port of service.ports) {
    const listener = listenerOn(port);
    if (listener)
      return problem(service.required, `${describeListener(listener)}; ${service.id} needs it`, errorKinds.port_in_use.hint, 'port_in_use');
  }
  return undefined;
}

function pulseCheck({ pulse, services }: RuntimeStatus): GraphCheck {
  const name = 'pulse';
  const given = pulse.given_up.length > 0 ? `; gave up ${pulse.given_up.join(', ')}` : '';
  if (pulse.running)
    return {
      name,
      code: null,
      state: given ? 'warn' : 'ok',
      detail: `pid ${pulse.pid}, every ${pulse.interval} s${given}`,
      fix: given ? `skillbox restart --service ${pulse.given_up.join(',')}` : null,
    };
  const kept = services.filter(({ wanted }) => wanted).length;
  if (kept === 0) return { name, code: null, state: 'ok', detail: 'not running, and nothing for it to keep alive', fix: null };
  return {
    name,
    code: null,
    state: 'warn',
    detail: `not running: nobody starts ${kept === 1 ? 'the service again when it falls' : `the ${kept} services again when they fall`}`,
    fix: 'skillbox pulse start',
  };
}
