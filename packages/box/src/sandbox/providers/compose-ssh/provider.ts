/**
 * Compose projects on placement hosts, over SSH. A project is copied or cloned there, read through a policy, and run as it
 * was read. Its containers are held back by the host's engine alone, so that the tier is `trusted`.
 */

import { createHash } from 'node:crypto';
import { BoxError } from '@skillbox/protocol';
import { parse } from 'yaml';
import type { Capability, Endpoint, LivingProvider, NetworkMode, ProviderRef, SandboxSpec } from '../../living.ts';
import { createConnection } from '../machines/connection.ts';
import { createGuestProgram, type GuestProgram } from '../machines/guest-program.ts';
import type { SshHost } from '../machines/hosts.ts';
import { listAll } from '../machines/list-all.ts';
import { createContainers, projectsOf } from './containers.ts';
import { openFarEngine } from './far-engine.ts';
import { refuse } from './findings.ts';
import { type ComposeOptions, readOptions } from './options.ts';
import { packFolder } from './pack-folder.ts';
import { createPlacementHost, type Place, projectOf, socketFolderOf, withProfiles } from './placement-host.ts';
import { asMap, inspectConfig, type Json } from './policy.ts';
import { checkReferences } from './references.ts';
import { type ComposeRef, type ComposeSandbox, composeRef, type HostParts, openSandbox } from './sandbox.ts';
import { type ServicePort, type Settled, settle } from './settle.ts';
import { type Source, sourceOf } from './source.ts';

export interface ComposeSshOptions {
  readonly hosts: readonly SshHost[];
  /** The guest, as this machine's path. */
  readonly guestProgram: string;
  /** Folders of this machine whose projects may be copied to the hosts. */
  readonly roots: readonly string[];
  /** Keeps what several boxes have on one host apart. */
  readonly owner: string;
  /** Instead of what templates say; empty: what they say. */
  readonly placement?: readonly string[];
}

interface KnownHost extends HostParts {
  readonly address: SshHost;
  readonly guestProgram: GuestProgram;
}

export function createComposeSsh({ hosts, guestProgram, roots, owner, placement = [] }: ComposeSshOptions): LivingProvider {
  const known = new Map<string, KnownHost>(
    hosts.map((address) => {
      const connection = createConnection(address);
      const parts = {
        ...{ address, connection, engine: openFarEngine(connection, address) },
        host: createPlacementHost(connection, address.dockerSocket, owner),
        guestProgram: createGuestProgram(connection, guestProgram),
      };
      return [address.name, parts];
    }),
  );
  const handles = new Map<string, ComposeSandbox>();
  const prefix = `sb${createHash('sha256').update(owner).digest('hex').slice(0, 10)}-`;

  const partsOf = (name: string): KnownHost => {
    const parts = known.get(name);
    if (parts) return parts;
    throw new BoxError('no_provider', `There is no placement host ${name}.`, { hint: 'Name it in the file of SKILLBOX_SSH_HOSTS.' });
  };

  const handleFor = (ref: ComposeRef, spec: SandboxSpec): ComposeSandbox => {
    const handle = handles.get(spec.id) ?? openSandbox(partsOf(ref.host), ref, spec, () => handles.delete(spec.id));
    handles.set(spec.id, handle);
    return handle;
  };

  /** The first that can, of those that are wanted, in their order; the reasons of those before it are kept. */
  const choose = async (wanted: readonly string[]): Promise<KnownHost> => {
    const reasons: string[] = [];
    for (const name of wanted) {
      const parts = known.get(name);
      const reason = parts ? await problemOf(parts) : 'it is not in the file of SKILLBOX_SSH_HOSTS';
      if (parts && reason === undefined) return parts;
      reasons.push(`${name}: ${reason}`);
    }
    throw new BoxError('no_provider', `No placement host can take the project. ${reasons.join('; ')}`);
  };

  return {
    name: 'compose-ssh',
    tier: 'trusted',
    location: 'machines',
    capabilities: new Set<Capability>(['exec', 'pty', 'files', 'watch', 'ports', 'pause', 'metrics']),
    networks: new Set<NetworkMode>(['full']),
    async health() {
      const answers = await Promise.all([...known].map(async ([name, parts]) => ({ name, problem: await problemOf(parts) })));
      const bad = answers.flatMap(({ name, problem }) => (problem === undefined ? [] : [`${name}: ${problem}`]));
      const good = answers.filter(({ problem }) => problem === undefined).map(({ name }) => name);
      return { healthy: good.length > 0, detail: [...(good.length > 0 ? [`compose at: ${good.join(', ')}`] : []), ...bad].join('; ') };
    },
    async provision(spec) {
      if (spec.network !== 'full')
        throw new BoxError('bad_request', `The compose-ssh provider has no network mode ${spec.network}, only full.`);
      if (spec.snapshot) throw new BoxError('capability_missing', 'The compose-ssh provider has no snapshots.');
      const options = readOptions(spec);
      const source = sourceOf(options.repo, roots);
      const parts = await choose(placement.length > 0 ? placement : (options.placement ?? [...known.keys()]));
      const at: Place = { sandbox: spec.id, folder: await parts.host.create(spec.id), project: `${prefix}${spec.id}` };
      const empty: ComposeRef = { host: parts.address.name, folder: at.folder, project: at.project, service: '', ports: [] };
      try {
        const { service, ports } = await bringUp(parts, at, spec, options, source);
        const ref = { ...empty, service, ports: [...ports], endpoints: ports.map((port) => endpointOf(port, parts.address)) };
        await handleFor(ref, spec).furnish();
        return ref;
      } catch (error) {
        handles.delete(spec.id);
        // The first failure is the one to tell; what cannot be undone now is found by the sweep.
        await openSandbox(parts, empty, spec, () => undefined)
          .teardown()
          .catch(() => undefined);
        throw error;
      }
    },
    open: (ref: ProviderRef, spec) => handleFor(composeRef.parse(ref), spec),
    list: () =>
      listAll(known, async ([name, { host, engine }]) => {
        const { sandboxes, folderOf } = await host.list();
        const projects = await projectsOf(engine).catch((error) => {
          // A machine without an engine, which is there for the ssh provider alone.
          if (sandboxes.length === 0) return [];
          throw error;
        });
        const marked = projects.filter((project) => project.startsWith(prefix));
        const all = new Set([...sandboxes, ...marked.map((project) => project.slice(prefix.length))]);
        return [...all].map((sandbox) => ({ sandbox, ref: { host: name, folder: folderOf(sandbox), project: `${prefix}${sandbox}` } }));
      }),
    async removeSnapshot() {
      throw new BoxError('capability_missing', 'The compose-ssh provider has no snapshots.');
    },
    async close() {
      handles.clear();
      for (const { connection } of known.values()) connection.close();
    },
  };
}

async function bringUp(parts: KnownHost, at: Place, spec: SandboxSpec, options: ComposeOptions, source: Source): Promise<Settled> {
  const { host, engine } = parts;
  const deadline = Date.now() + options.timeLimitMs;
  const left = (): number => Math.max(1000, deadline - Date.now());
  if (source.kind === 'folder') await host.receive(at, packFolder(source.path));
  else await host.clone(at, source.address, options.ref, left());
  const settled = await prepare(parts, at, spec, options, left());
  await host.keep(at, JSON.stringify(settled.config));
  const containers = createContainers(engine, at.project);
  try {
    await host.run(at, [...withProfiles(options.profiles), 'up', '-d', '--quiet-pull'], left());
  } catch (error) {
    const words = await containers.lastWords();
    throw words ? new BoxError('sandbox_failed', `${(error as Error).message} ${words}`, { cause: error }) : error;
  }
  await containers.settled(AbortSignal.timeout(left()));
  return settled;
}

/** What runs is what was read here: the file in the project is not looked at again. */
async function prepare(
  { host, engine, guestProgram }: KnownHost,
  at: Place,
  { limits }: SandboxSpec,
  options: ComposeOptions,
  limitMs: number,
): Promise<Settled> {
  const stray = await host.straying(at);
  if (stray !== undefined) throw new BoxError('forbidden', `The policy refuses this project: the link ${stray} leads out of it.`);
  const project = projectOf(at.folder);
  const files = await host.composeFiles(at, options.files);
  const { services } = await checkReferences(project, files, (path) => host.read(path));
  const config = asMap(parse(await host.resolve(at, files, options.profiles, limitMs))) as Json;
  refuse(inspectConfig(config, project), options.allow);
  const { NCPU } = (await engine.ask(engine.docker.info())) as { NCPU: number };
  return settle(config, {
    ...{ limits, processors: NCPU, order: services, publicPorts: options.allow.includes('public_ports') },
    ...{ busyPorts: await host.busyPorts(), guestProgram: await guestProgram.install(), socketFolder: socketFolderOf(at.folder) },
    ...(options.service !== undefined && { service: options.service }),
  });
}

function endpointOf({ service, port, loopback }: ServicePort, { address, port: sshPort, user }: SshHost): Endpoint {
  // Low numbers are root's on most machines.
  const local = port < 1024 ? port + 8000 : port;
  const tunnel = loopback === undefined ? null : `ssh -N -p ${sshPort} -L 127.0.0.1:${local}:127.0.0.1:${loopback} ${user}@${address}`;
  return { service, port, tunnel };
}

async function problemOf({ host, engine }: KnownHost): Promise<string | undefined> {
  try {
    await host.compose();
    await engine.ask(engine.docker.ping());
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
