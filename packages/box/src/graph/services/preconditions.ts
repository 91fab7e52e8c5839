/** What must hold before a service starts; said before anything runs, with the code that names it. */

import { statSync } from 'node:fs';
import { BoxError, type StartMode } from '@skillbox/protocol';
import type { Graph, Service } from '../graph.ts';
import { existsAt } from '../place.ts';
import { hostEnvironment } from '../programs/environment.ts';
import { missingProgram } from '../programs/first-word.ts';
import { describeListener, listenerOn } from '../programs/ports.ts';
import type { Runtime } from '../runtime.ts';
import { fileStates } from '../sync/states.ts';
import { portsOf } from './health.ts';

export const isManaged = ({ commands, own }: Service): boolean => own !== undefined || Object.keys(commands).length > 0;

/** For all services, before anything changes. */
export function requireMode(services: readonly Service[], mode: StartMode): void {
  const unable = services.filter((service) => service.own === undefined && isManaged(service) && service.commands[mode] === undefined);
  if (unable.length === 0) return;
  const each = unable.map(({ id, commands }) => `${id} has ${Object.keys(commands).join(', ')}`);
  throw new BoxError('LOCAL_RUNTIME_MODE_UNSUPPORTED', `Mode ${mode} is not declared for every service: ${each.join('; ')}.`, {
    details: { mode, services: unable.map(({ id }) => id) },
  });
}

/** Throws LOCAL_RUNTIME_START_BLOCKED, port_in_use or command_missing. */
export async function requireStartable(runtime: Runtime, graph: Graph, service: Service, command: string): Promise<void> {
  await requireFiles(runtime, graph, service);
  if (service.template !== undefined) return;
  if (service.cwd.inside)
    throw blocked(service, `its folder ${service.cwd.path} lies in the workspace, and it names no template to run in`);
  if (!statSync(service.cwd.hostPath, { throwIfNoEntry: false })?.isDirectory())
    throw blocked(service, `its folder ${service.cwd.hostPath} is not there`);
  for (const port of portsOf(service)) {
    const listener = listenerOn(port);
    if (listener)
      throw new BoxError('port_in_use', `${describeListener(listener)}; service ${service.id} needs it.`, { details: listener });
  }
  const { PATH = '' } = hostEnvironment(runtime.config, graph, service.env);
  const missing = missingProgram(command, service.cwd.hostPath, PATH);
  if (missing !== undefined) throw commandMissing(service.id, missing);
}

export const commandMissing = (id: string, word: string | undefined): BoxError =>
  new BoxError('command_missing', `Service ${id} cannot start: ${word === undefined ? 'a program of its command' : word} was not found.`);

export const blocked = (service: Service, why: string): BoxError =>
  new BoxError('LOCAL_RUNTIME_START_BLOCKED', `Service ${service.id} cannot start: ${why}.`);

async function requireFiles(runtime: Runtime, graph: Graph, service: Service): Promise<void> {
  const artifact = graph.artifacts.find(({ id }) => id === service.artifact);
  if (artifact && !existsAt(artifact.place)) throw blocked(service, `artifact ${artifact.id} is not at ${artifact.place.hostPath}`);
  const envFiles = graph.envFiles.filter(({ id }) => service.envFiles.includes(id));
  if (envFiles.length === 0) return;
  const only: Graph = { ...graph, repos: [], artifacts: [], skills: [], logs: [], envFiles };
  const { env_files } = await fileStates(runtime, only);
  // A stale one is there: what changed at its source does not keep a service down.
  const missing = env_files.filter(({ state }) => state === 'missing' || state === 'source-missing');
  if (missing.length === 0) return;
  const each = missing.map(({ id, host_path, state }) => `${id} (${state === 'missing' ? 'not at' : 'no source for'} ${host_path})`);
  throw blocked(
    service,
    `env ${missing.length === 1 ? 'file' : 'files'} ${each.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not ready`,
  );
}
