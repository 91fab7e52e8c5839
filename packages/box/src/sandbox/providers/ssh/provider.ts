/**
 * Sandboxes on machines that exist, over SSH: nothing is provisioned but a folder and our guest. What runs there is held
 * back by the machine's own user account alone, so that the tier is `trusted`.
 */

import { BoxError } from '@skillbox/protocol';
import type { Capability, LivingProvider, NetworkMode, ProviderRef, SandboxHandle, SandboxSpec } from '../../living.ts';
import { type Connection, createConnection } from '../machines/connection.ts';
import type { SshHost } from '../machines/hosts.ts';
import { listAll } from '../machines/list-all.ts';
import { createMachine, type Machine } from './machine.ts';
import { openSandbox } from './sandbox.ts';

export interface SshOptions {
  readonly hosts: readonly SshHost[];
  /** The guest, as this machine's path. */
  readonly guestProgram: string;
  /** Keeps what several boxes have on one machine apart. */
  readonly owner: string;
  /** Instead of what templates say; empty: what they say. */
  readonly placement?: readonly string[];
}

interface Place {
  readonly connection: Connection;
  readonly machine: Machine;
}

export function createSsh({ hosts, guestProgram, owner, placement = [] }: SshOptions): LivingProvider {
  const places = new Map<string, Place>(
    hosts.map((host) => {
      const connection = createConnection(host);
      return [host.name, { connection, machine: createMachine(connection, guestProgram, owner) }];
    }),
  );
  const handles = new Map<string, SandboxHandle>();

  const placeOf = (name: unknown): Place => {
    const place = places.get(String(name));
    if (place) return place;
    throw new BoxError('no_provider', `There is no SSH host ${name}.`, { hint: 'Name it in the file of SKILLBOX_SSH_HOSTS.' });
  };

  return {
    name: 'ssh',
    tier: 'trusted',
    location: 'machines',
    capabilities: new Set<Capability>(['exec', 'pty', 'files', 'watch', 'ports', 'pause', 'metrics']),
    networks: new Set<NetworkMode>(['full']),
    async health() {
      const answers = await Promise.all(
        [...places].map(async ([name, { connection }]) => ({ name, problem: await problemOf(connection) })),
      );
      const bad = answers.flatMap(({ problem }) => (problem ? [problem] : []));
      const good = answers.filter(({ problem }) => !problem).map(({ name }) => name);
      return { healthy: good.length > 0, detail: [...(good.length > 0 ? [`reached: ${good.join(', ')}`] : []), ...bad].join('; ') };
    },
    async provision(spec) {
      if (spec.network !== 'full') throw new BoxError('bad_request', `The ssh provider has no network mode ${spec.network}, only full.`);
      if (spec.snapshot) throw new BoxError('capability_missing', 'The ssh provider has no snapshots.');
      const reasons: string[] = [];
      const wanted = wantedHosts(spec, hosts, placement);
      for (const host of wanted) {
        const place = places.get(host);
        const problem = place ? await problemOf(place.connection) : 'it is not in the file of SKILLBOX_SSH_HOSTS';
        if (place && problem === undefined) return { host, folder: await place.machine.create(spec.id) };
        reasons.push(`${host}: ${problem}`);
      }
      const known = wanted.some((host) => places.has(host));
      throw new BoxError(known ? 'unavailable' : 'no_provider', `No placement host can take it. ${reasons.join('; ')}`);
    },
    open({ host, folder }: ProviderRef, spec) {
      const handle = handles.get(spec.id) ?? openSandbox({ ...placeOf(host), folder: String(folder) }, spec, () => handles.delete(spec.id));
      handles.set(spec.id, handle);
      return handle;
    },
    list: () =>
      listAll(places, async ([host, { machine }]) =>
        (await machine.list()).map(({ sandbox, folder }) => ({ sandbox, ref: { host, folder } })),
      ),
    async removeSnapshot() {
      throw new BoxError('capability_missing', 'The ssh provider has no snapshots.');
    },
    async close() {
      handles.clear();
      for (const { connection } of places.values()) connection.close();
    },
  };
}

/** In order of preference: what the operator says, what the template says, all there are. */
function wantedHosts({ options }: SandboxSpec, hosts: readonly SshHost[], placement: readonly string[]): readonly string[] {
  if (placement.length > 0) return placement;
  return Array.isArray(options.placement) ? options.placement.map(String) : hosts.map(({ name }) => name);
}

async function problemOf(connection: Connection): Promise<string | undefined> {
  try {
    await connection.run('true');
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
