/** Sets a service going, on the host or in its sandbox, with a record that is true whenever somebody is killed in between. */

import { randomBytes } from 'node:crypto';
import type { Ending } from '../../process/endings.ts';
import { startProgram } from '../../process/program.ts';
import { runVariable } from '../../process/tree.ts';
import type { Graph, Service } from '../graph.ts';
import { hostEnvironment } from '../programs/environment.ts';
import type { Runtime } from '../runtime.ts';
import { endOfSandboxed, startSandboxed } from '../sandboxed.ts';
import { type ServiceRecord, writeServiceRecord } from './records.ts';

export interface Launched {
  readonly record: ServiceRecord;
  /** How it ended; undefined while it runs. */
  ended(): Promise<Ending | undefined>;
}

export async function launch(runtime: Runtime, graph: Graph, service: Service, command: string, draft: ServiceRecord): Promise<Launched> {
  return service.template === undefined
    ? launchOnHost(runtime, graph, service, command, draft)
    : launchInside(runtime, service, command, draft);
}

async function launchOnHost(runtime: Runtime, graph: Graph, service: Service, command: string, draft: ServiceRecord): Promise<Launched> {
  const { stateRoot } = runtime.config;
  const run = randomBytes(16).toString('hex');
  // First: then a process that nobody got to write down is found by the name of its run.
  writeServiceRecord(stateRoot, { ...draft, run });
  const env = { ...hostEnvironment(runtime.config, graph, service.env), [runVariable]: run };
  const { identity, ended } = await startProgram({
    argv: ['/bin/sh', '-c', command],
    cwd: service.cwd.hostPath,
    env,
    log: draft.log,
  });
  const record = { ...draft, run, process: identity };
  writeServiceRecord(stateRoot, record);
  let ending: Ending | undefined;
  void ended.then((how) => {
    ending = how;
  });
  return { record, ended: async () => ending };
}

async function launchInside(runtime: Runtime, service: Service, command: string, draft: ServiceRecord): Promise<Launched> {
  const { id, client, cwd, env, template } = service;
  const at = await startSandboxed(runtime, { command, cwd, env, template }, { id, client, log: draft.log });
  const record = { ...draft, sandbox: { id: at.sandbox, program: at.program } };
  writeServiceRecord(runtime.config.stateRoot, record);
  return {
    record,
    async ended() {
      const end = await endOfSandboxed(runtime, at);
      return end === null ? { code: null, signal: 'the end of its sandbox' } : end;
    },
  };
}
