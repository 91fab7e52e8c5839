/** Whether a service that runs is well. */

import { BoxError } from '@skillbox/protocol';
import type { Config } from '../../config.ts';
import type { Graph, Healthcheck, Service } from '../graph.ts';
import { existsAt } from '../place.ts';
import { hostEnvironment } from '../programs/environment.ts';
import { httpAnswer, isWell } from '../programs/http-answer.ts';
import { portAnswers } from '../programs/ports.ts';
import { runShort } from '../programs/short-command.ts';
import type { Runtime } from '../runtime.ts';
import { folderInside, probeSandboxed, runBeside, type SandboxedProgram } from '../sandboxed.ts';
import { isAway } from '../sandboxed-inside.ts';

export interface Health {
  /** null: it runs in a sandbox, and no server is there to ask in it. */
  readonly healthy: boolean | null;
  /** Why not. */
  readonly detail: string | null;
}

const well: Health = { healthy: true, detail: null };
const unwell = (detail: string): Health => ({ healthy: false, detail });

/** `at`: the sandbox it runs in; undefined: on the host. `withinMs` shortens the time-out of its healthcheck. */
export async function probeHealth(
  runtime: Runtime,
  graph: Pick<Graph, 'variables'>,
  service: Service,
  at: SandboxedProgram | undefined,
  withinMs = Number.POSITIVE_INFINITY,
): Promise<Health> {
  const check = service.healthcheck;
  if (!check || check.type === 'process_running') return well;
  const timeoutMs = Math.min(check.timeoutMs, withinMs);
  if (check.type === 'path_exists') return existsAt(check.place) ? well : unwell(`${check.place.path} is not there`);
  if (!at) return probeOnHost(runtime.config, graph, service, check, timeoutMs);
  try {
    return await probeInside(runtime, service, check, at, timeoutMs);
  } catch (error) {
    if (isAway(error)) return { healthy: null, detail: 'its health cannot be asked while no server of the box runs' };
    if (error instanceof BoxError) return unwell(error.message);
    throw error;
  }
}

/** Ports whose use by another says that the service cannot start. */
export function portsOf({ ports, healthcheck }: Service): number[] {
  const checked = healthcheck?.type === 'port' ? [healthcheck.port] : healthcheck?.type === 'http' ? [portOf(healthcheck.url)] : [];
  return [...new Set(ports.length > 0 ? ports : checked)];
}

type Asking = Exclude<Healthcheck, { type: 'process_running' } | { type: 'path_exists' }>;

async function probeOnHost(
  config: Config,
  graph: Pick<Graph, 'variables'>,
  service: Service,
  check: Asking,
  timeoutMs: number,
): Promise<Health> {
  if (check.type === 'http') {
    const answer = await httpAnswer(check.url, timeoutMs);
    if (typeof answer === 'string') return unwell(`${check.url}: ${answer}`);
    return isWell(answer, check.status) ? well : unwell(`${check.url} answers ${answer}`);
  }
  if (check.type === 'port') {
    const answers = await portAnswers(check.port, check.host, timeoutMs);
    return answers ? well : unwell(`nothing listens on ${check.host}:${check.port}`);
  }
  const env = hostEnvironment(config, graph, service.env);
  return verdict(await runShort(check.command, service.cwd.hostPath, env, timeoutMs), timeoutMs);
}

async function probeInside(runtime: Runtime, service: Service, check: Asking, at: SandboxedProgram, timeoutMs: number): Promise<Health> {
  if (check.type === 'command') {
    const { exit, output } = await runBeside(runtime, at, check.command, { timeoutMs, cwd: folderInside(service), env: service.env });
    return verdict({ exit, output: output.trim().split('\n').at(-1) ?? '' }, timeoutMs);
  }
  if (check.type === 'port')
    return (await probeSandboxed(runtime, at, check.port, undefined)) === undefined ? unwell(`nothing listens on ${check.port}`) : well;
  const { pathname, search } = new URL(check.url);
  const status = await probeSandboxed(runtime, at, portOf(check.url), `${pathname}${search}`);
  if (status === undefined) return unwell(`${check.url}: no answer`);
  return isWell(status, check.status) ? well : unwell(`${check.url} answers ${status}`);
}

function verdict({ exit, output }: { exit: number | null; output: string }, timeoutMs: number): Health {
  if (exit === 0) return well;
  const said = output === '' ? '' : `: ${output}`;
  return unwell(exit === null ? `its check took longer than ${timeoutMs} ms` : `its check ended with ${exit}${said}`);
}

function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}
