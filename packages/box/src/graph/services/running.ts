/** What runs of a service: its process on the host or its program in a sandbox, by what its record says and the kernel confirms. */

import { createHash } from 'node:crypto';
import type { StartMode } from '@skillbox/protocol';
import { isAlive, type ProcessIdentity } from '../../process/identity.ts';
import { type ProcessTable, readProcessTable } from '../../process/table.ts';
import { findLeader } from '../../process/tree.ts';
import { readServerRecord } from '../../state.ts';
import type { Service } from '../graph.ts';
import type { Runtime } from '../runtime.ts';
import { exitOfSandboxed, type SandboxedProgram } from '../sandboxed.ts';
import type { ServiceRecord } from './records.ts';

export interface Running {
  readonly process: ProcessIdentity | undefined;
  readonly sandbox: SandboxedProgram | undefined;
}

/** `table`: for who looks at many. */
export async function runningOf(
  runtime: Runtime,
  service: Pick<Service, 'own'>,
  record: ServiceRecord | undefined,
  table?: ProcessTable,
): Promise<Running | undefined> {
  if (service.own === 'api') {
    const server = readServerRecord(runtime.config.stateRoot);
    return server && { process: { pid: server.pid, startTime: server.startTime }, sandbox: undefined };
  }
  if (!record) return undefined;
  const at = sandboxOf(record);
  if (at) return (await exitOfSandboxed(runtime, at)) === undefined ? { process: undefined, sandbox: at } : undefined;
  const identity = record.process ?? unrecorded(record, table);
  if (!identity) return undefined;
  const alive = table ? table.get(identity.pid)?.startTime === identity.startTime : isAlive(identity);
  return alive ? { process: identity, sandbox: undefined } : undefined;
}

export const sandboxOf = ({ sandbox }: ServiceRecord): SandboxedProgram | undefined =>
  sandbox && { sandbox: sandbox.id, program: sandbox.program };

/** Whoever started it was killed before it could write down the pid: the process has the name of its run in its environment. */
function unrecorded({ run }: ServiceRecord, table: ProcessTable | undefined): ProcessIdentity | undefined {
  return run === undefined ? undefined : findLeader(run, table ?? readProcessTable());
}

export function definitionOf({ commands, env, cwd, template }: Service, mode: StartMode): string {
  const text = JSON.stringify([commands[mode] ?? null, Object.entries(env).sort(), cwd.hostPath, template ?? null]);
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
