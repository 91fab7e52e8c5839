/**
 * From the configuration that was checked to the one that runs. Names of containers, volumes and networks become the
 * project's own, so that it can be there twice; ports are published to the host itself; limits of the template hold for
 * every container; the main service gets the guest.
 */

import { BoxError } from '@skillbox/protocol';
import { parseDuration } from '../../../units.ts';
import type { LivingLimits } from '../../living.ts';
import { asMap, entries, type Json, listOf } from './policy.ts';
import { type Publication, publicationOf } from './ports.ts';

export interface ServicePort {
  readonly service: string;
  /** Its number in the sandbox, for previews; no other has it. */
  readonly port: number;
  /** In the container. */
  readonly target: number;
  /** Where the host itself reaches it: a port of its loopback. Without one: by the container's address. */
  readonly loopback?: number;
}

export interface Settling {
  readonly limits: LivingLimits;
  /** Processors of the host: an engine refuses a limit above them. */
  readonly processors: number;
  /** Ports of the host that are in use. */
  readonly busyPorts: ReadonlySet<number>;
  readonly publicPorts: boolean;
  /** The one that programs act in; without it, the one that is labelled, or the first. */
  readonly service?: string;
  /** Names in the order of the compose file; a resolved configuration may have lost it. */
  readonly order: readonly string[];
  /** On the host. */
  readonly guestProgram: string;
  readonly socketFolder: string;
}

export interface Settled {
  readonly config: Json;
  readonly service: string;
  readonly ports: readonly ServicePort[];
}

export const insideFolder = '/.skillbox';
export const homeParent = `${insideFolder}/home`;
const mainLabel = 'skillbox.main';
const longestGraceMs = 30_000;

export function settle(checked: Json, settling: Settling): Settled {
  const services = entries(checked.services);
  const service = mainService(services, settling);
  const numbers = createNumbers(settling.busyPorts);
  const settled = services.map(([name, given]) => {
    const published = listOf(given.ports).flatMap((port) => publicationOf(port) ?? []);
    const exposed = listOf(given.expose).flatMap((port) => publicationOf(port) ?? []);
    const loopbacks = published.map((publication) => ({ publication, loopback: numbers.loopback() }));
    const reachable = [
      ...loopbacks.map(({ publication, loopback }) => ({ publication, ...(!settling.publicPorts && { loopback }) })),
      ...exposed.filter(({ target }) => !published.some((other) => other.target === target)).map((publication) => ({ publication })),
    ];
    const ports = settling.publicPorts ? given.ports : loopbacks.map(({ publication, loopback }) => onLoopback(publication, loopback));
    const body = settleService(given, settling, ports);
    return { name, reachable, body: name === service ? withGuest(body, settling) : body };
  });
  return {
    service,
    ports: settled.flatMap(({ name, reachable }) =>
      reachable
        .filter(({ publication }) => publication.protocol === 'tcp')
        .map(({ publication: { published, target }, ...more }) => ({
          ...{ service: name, port: numbers.inSandbox(published ?? target), target },
          ...more,
        })),
    ),
    config: {
      services: Object.fromEntries(settled.map(({ name, body }) => [name, body])),
      volumes: { ...ownNames(checked.volumes), [homeVolume]: {} },
      ...(checked.networks !== undefined && { networks: ownNames(checked.networks) }),
      ...(checked.configs !== undefined && { configs: ownNames(checked.configs) }),
      ...(checked.secrets !== undefined && { secrets: ownNames(checked.secrets) }),
    },
  };
}

const homeVolume = 'skillbox-home';

function mainService(services: readonly [string, Json][], { service, order }: Settling): string {
  const names = services.map(([name]) => name);
  if (service !== undefined && !names.includes(service))
    throw new BoxError('bad_request', `The project has no service ${service}.`, { hint: `It has ${names.join(', ')}.` });
  const labelled = services.find(([, { labels }]) => String(labelOf(labels, mainLabel)) === 'true')?.[0];
  const main = service ?? labelled ?? order.find((name) => names.includes(name)) ?? names[0];
  if (main === undefined) throw new BoxError('bad_request', 'The project has no service.');
  return main;
}

function labelOf(labels: unknown, name: string): unknown {
  if (!Array.isArray(labels)) return asMap(labels)[name];
  return labels.map((label) => String(label).split('=', 2)).find(([key]) => key === name)?.[1];
}

function settleService(given: Json, settling: Settling, ports: unknown): Json {
  const { container_name: _name, ports: _ports, deploy, restart, stop_grace_period, ...rest } = given;
  const kept = Object.entries(rest).filter(([key]) => !key.startsWith('x-'));
  const { resources, ...deployment } = asMap(deploy);
  const { limits: declared, ...resourcesLeft } = asMap(resources);
  const { memory, cpus, pids, ...limitsLeft } = asMap(declared);
  const deployed = { ...deployment, resources: { ...resourcesLeft, limits: limitsLeft } };
  const graceMs = parseDuration(String(stop_grace_period ?? '10s')) ?? longestGraceMs;
  return {
    ...Object.fromEntries(kept),
    ...(deploy !== undefined && { deploy: deployed }),
    ...(Array.isArray(ports) && ports.length > 0 && { ports }),
    ...(restart !== undefined && { restart: restart === 'always' ? 'unless-stopped' : restart }),
    ...limitsOf({ memory: given.mem_limit ?? memory, cpus: given.cpus ?? cpus, processes: given.pids_limit ?? pids }, settling),
    stop_grace_period: `${Math.ceil(Math.min(graceMs, longestGraceMs) / 1000)}s`,
  };
}

/** What the compose file says, but not above what the template allows. */
function limitsOf(declared: { memory: unknown; cpus: unknown; processes: unknown }, { limits, processors }: Settling): Json {
  const least = (value: number | undefined, most: number): number => (value !== undefined && value > 0 ? Math.min(value, most) : most);
  return {
    mem_limit: least(bytesOf(declared.memory), limits.memoryBytes),
    cpus: least(numberOf(declared.cpus), Math.min(limits.cpu, processors)),
    // One more: the guest.
    pids_limit: least(numberOf(declared.processes), limits.processes + 1),
  };
}

function numberOf(value: unknown): number | undefined {
  const number = value === undefined || value === null ? Number.NaN : Number(value);
  return Number.isFinite(number) ? number : undefined;
}

/** As compose counts: k, m and g are powers of 1024. */
function bytesOf(value: unknown): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([bkmgt]?)i?b?$/i.exec(String(value ?? '').trim());
  if (!match) return undefined;
  return Math.floor(Number(match[1]) * 1024 ** ' kmgt'.indexOf((match[2] ?? '').toLowerCase().replace('b', '') || ' '));
}

const onLoopback = ({ target, protocol }: Publication, loopback: number): string => `127.0.0.1:${loopback}:${target}/${protocol}`;

function withGuest(body: Json, { guestProgram, socketFolder }: Settling): Json {
  return {
    ...body,
    volumes: [
      ...listOf(body.volumes),
      { type: 'bind', source: guestProgram, target: `${insideFolder}/guest`, read_only: true },
      { type: 'bind', source: socketFolder, target: `${insideFolder}/run` },
      { type: 'volume', source: homeVolume, target: homeParent },
    ],
  };
}

/** A name of its own would be one for all projects of the host. What is external has one that matters. */
function ownNames(things: unknown): Json {
  return Object.fromEntries(
    entries(things).map(([key, { name, ...thing }]) => [key, isExternal(thing) && name !== undefined ? { ...thing, name } : thing]),
  );
}

const isExternal = ({ external }: Json): boolean => external !== undefined && external !== false && external !== null;

/** Below what a system hands out by itself. */
const firstLoopback = 20_000;
const loopbacks = 12_000;

function createNumbers(busy: ReadonlySet<number>) {
  const taken = new Set(busy);
  const used = new Set<number>();
  return {
    /** Chosen here and not by the engine, so that it is the same after a pause. */
    loopback(): number {
      const start = Math.floor(Math.random() * loopbacks);
      for (let step = 0; step < loopbacks; step += 1) {
        const port = firstLoopback + ((start + step) % loopbacks);
        if (taken.has(port)) continue;
        taken.add(port);
        return port;
      }
      throw new BoxError('sandbox_failed', 'The host has no free port.');
    },
    inSandbox(wanted: number): number {
      let port = wanted;
      while (used.has(port)) port = port < 30_000 ? 30_000 : port + 1;
      used.add(port);
      return port;
    },
  };
}
