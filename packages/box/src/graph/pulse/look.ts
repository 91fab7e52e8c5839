/** One whole look at the graph: services, checks, env files, artifacts and skills, as they are now. */

import type { CheckStatus, ServiceStatus } from '@skillbox/protocol';
import { checkStatuses } from '../checks.ts';
import type { Graph, Service } from '../graph.ts';
import type { Runtime } from '../runtime.ts';
import { serviceStatus } from '../services/control.ts';
import { fileStates } from '../sync/states.ts';
import type { Seen } from './transitions.ts';

export interface Sight {
  readonly services: readonly { readonly service: Service; readonly graph: Graph; readonly status: ServiceStatus }[];
  readonly checks: readonly Seen[];
  /** Env files, artifacts and skills. */
  readonly items: readonly Seen[];
}

/** One that does not answer must not hold up the look. */
const probeMs = 5000;
/** Health is asked of so many at a time. */
const atOnce = 8;

export async function lookAt(runtime: Runtime, graphs: readonly Graph[]): Promise<Sight> {
  // An item may be in several graphs, since each has the core: it is looked at once.
  const seen = new Set<string>();
  const once = <T extends { id: string; client?: string | null | undefined }>(section: string, items: readonly T[]): T[] =>
    items.filter(({ id, client }) => {
      const key = `${section} ${client ?? ''} ${id}`;
      return !seen.has(key) && seen.add(key);
    });
  const services: { service: Service; graph: Graph }[] = [];
  const checks: CheckStatus[] = [];
  const items: Seen[] = [];
  for (const graph of graphs) {
    for (const service of once('service', graph.services)) services.push({ service, graph });
    checks.push(...(await checkStatuses(runtime, { ...graph, checks: once('check', graph.checks) }, probeMs)));
    const artifacts = once('artifact', graph.artifacts);
    const envFiles = once('env_file', graph.envFiles);
    const skills = once('skills', graph.skills);
    if (artifacts.length + envFiles.length + skills.length === 0) continue;
    const files = await fileStates(runtime, { ...graph, repos: [], logs: [], artifacts, envFiles, skills });
    for (const { id, state } of files.env_files) items.push({ subject: `env_file:${id}`, state });
    for (const { id, state } of files.artifacts) items.push({ subject: `artifact:${id}`, state });
    for (const { id, state, detail } of files.skills) items.push({ subject: `skills:${id}`, state, detail });
  }
  const statuses = await inTurns(services, ({ service, graph }) => serviceStatus(runtime, graph, service, { withinMs: probeMs }));
  return {
    services: services.map((one, index) => ({ ...one, status: statuses[index] as ServiceStatus })),
    checks: checks.map(({ id, state, detail }) => ({ subject: `check:${id}`, state, detail })),
    items,
  };
}

async function inTurns<T, R>(all: readonly T[], work: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let at = next++; at < all.length; at = next++) results[at] = await work(all[at] as T);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, all.length) }, worker));
  return results;
}
