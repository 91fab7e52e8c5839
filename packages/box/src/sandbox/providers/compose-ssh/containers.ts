/** The containers of one compose project, by the engine of its host. Compose marks what it makes with the project's name. */

import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError } from '@skillbox/protocol';
import type { ContainerInfo, ContainerInspectInfo } from 'dockerode';
import { type Engine, statusOf } from '../docker/engine.ts';
import { labelFilter } from '../docker/names.ts';

export interface Containers {
  all(): Promise<ContainerInfo[]>;
  /** The first of a service; undefined when there is none. */
  of(service: string): Promise<ContainerInspectInfo | undefined>;
  /** Returns when every service runs and is healthy, or has done its work. Throws with its last words when one failed. */
  settled(signal: AbortSignal): Promise<void>;
  /** The last words of those that failed; empty when none did. */
  lastWords(): Promise<string>;
  usage(): Promise<{ cpuMs: number; memoryBytes: number; processes: number; diskBytes: number }>;
  /** Everything with the project's name on it, but for images; whether there was something. */
  sweep(): Promise<boolean>;
  /** Those that were built for it. */
  removeImages(): Promise<void>;
}

const projectLabel = 'com.docker.compose.project';
const serviceLabel = 'com.docker.compose.service';
const numberLabel = 'com.docker.compose.container-number';
const lookEveryMs = 200;
const wordsLines = 15;
const wordsLength = 1200;

export function createContainers(engine: Engine, project: string): Containers {
  const { docker, ask } = engine;
  const mine = labelFilter({ [projectLabel]: project });

  const all = (): Promise<ContainerInfo[]> => ask(docker.listContainers({ all: true, ...mine }));

  const inspect = async (id: string): Promise<ContainerInspectInfo | undefined> => {
    try {
      return await docker.getContainer(id).inspect();
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      return ask(Promise.reject(error));
    }
  };

  const standings = async (): Promise<Standing[]> => {
    const found = await Promise.all((await all()).map(({ Id }) => inspect(Id)));
    return found.flatMap((info) => (info ? [standingOf(info)] : []));
  };

  const wordsOf = async ({ id, service, problem }: Standing): Promise<string> => {
    const raw = await ask(docker.getContainer(id).logs({ stdout: true, stderr: true, tail: wordsLines })).catch(() => Buffer.alloc(0));
    const said = textOf(raw as Buffer).trim();
    return `${service} ${problem}${said ? `; it said: ${said}` : ''}`;
  };

  const describeFailed = async (failed: readonly Standing[]): Promise<string> =>
    (await Promise.all(failed.map(wordsOf))).join('. ').slice(0, wordsLength);

  return {
    all,
    async of(service) {
      const found = (await all()).filter(({ Labels }) => Labels[serviceLabel] === service);
      const first = found.sort((one, other) => numberOf(one) - numberOf(other))[0];
      return first && inspect(first.Id);
    },
    async settled(signal) {
      for (;;) {
        const now = await standings();
        const failed = now.filter(({ standing }) => standing === 'failed');
        if (failed.length > 0) throw new BoxError('sandbox_failed', `The project does not run: ${await describeFailed(failed)}`);
        const waiting = now.filter(({ standing }) => standing === 'waiting');
        if (waiting.length === 0) return;
        if (signal.aborted) throw new BoxError('sandbox_failed', `The project was not ready in time: ${await describeFailed(waiting)}`);
        await sleep(lookEveryMs);
      }
    },
    async lastWords() {
      return describeFailed((await standings()).filter(({ standing }) => standing === 'failed'));
    },
    async usage() {
      const running = (await all()).filter(({ State }) => State === 'running');
      const stats = await Promise.all(running.map(({ Id }) => ask(docker.getContainer(Id).stats({ stream: false, 'one-shot': true }))));
      const sum = (read: (one: (typeof stats)[number]) => number | undefined): number =>
        stats.reduce((total, one) => total + (read(one) ?? 0), 0);
      const { Containers, Volumes } = (await ask(docker.df())) as DiskUse;
      const written = (Containers ?? []).filter(({ Labels }) => Labels?.[projectLabel] === project).map(({ SizeRw }) => SizeRw ?? 0);
      const kept = (Volumes ?? []).filter(({ Labels }) => Labels?.[projectLabel] === project).map(({ UsageData }) => UsageData?.Size ?? 0);
      return {
        cpuMs: Math.round(sum((one) => one.cpu_stats?.cpu_usage?.total_usage) / 1e6),
        memoryBytes: sum((one) => one.memory_stats?.usage),
        processes: sum((one) => one.pids_stats?.current),
        diskBytes: [...written, ...kept].reduce((total, size) => total + Math.max(0, size), 0),
      };
    },
    async sweep() {
      const containers = await all();
      for (const { Id } of containers) await ignoring([404, 409], ask(docker.getContainer(Id).remove({ force: true, v: true })));
      const networks = await ask(docker.listNetworks(mine));
      for (const { Id } of networks) await ignoring([404], ask(docker.getNetwork(Id).remove()));
      const { Volumes } = await ask(docker.listVolumes(mine));
      for (const { Name } of Volumes ?? []) await ignoring([404], ask(docker.getVolume(Name).remove()));
      return containers.length + networks.length + (Volumes ?? []).length > 0;
    },
    async removeImages() {
      // Compose calls what it builds by the project and the service; the older one with another sign between them.
      const reference = [`${project}_*`, `${project}-*`];
      const images = await ask(docker.listImages({ filters: JSON.stringify({ reference }) }));
      for (const { RepoTags } of images)
        for (const tag of RepoTags ?? []) if (tag.startsWith(project)) await ignoring([404], ask(docker.getImage(tag).remove()));
    },
  };
}

/** Names of projects that left anything there. */
export async function projectsOf({ docker, ask }: Engine): Promise<string[]> {
  const marked = { filters: JSON.stringify({ label: [projectLabel] }) };
  const [containers, networks, { Volumes }] = await Promise.all([
    ask(docker.listContainers({ all: true, ...marked })),
    ask(docker.listNetworks(marked)),
    ask(docker.listVolumes(marked)),
  ]);
  return [...containers, ...networks, ...(Volumes ?? [])].map(({ Labels }) => Labels?.[projectLabel] ?? '');
}

interface DiskUse {
  readonly Containers?: readonly { readonly Labels?: Record<string, string> | null; readonly SizeRw?: number }[] | null;
  readonly Volumes?:
    | readonly { readonly Labels?: Record<string, string> | null; readonly UsageData?: { readonly Size: number } | null }[]
    | null;
}

interface Standing {
  readonly id: string;
  readonly service: string;
  readonly standing: 'good' | 'waiting' | 'failed';
  readonly problem: string;
}

function standingOf({ Id, State, Config }: ContainerInspectInfo): Standing {
  const service = Config.Labels[serviceLabel] ?? Id.slice(0, 12);
  const said = (standing: Standing['standing'], problem: string): Standing => ({ id: Id, service, standing, problem });
  const health = State.Health?.Status;
  if (State.Restarting) return said('waiting', `starts again and again, last with exit ${State.ExitCode}`);
  if (State.Running) {
    if (health === 'unhealthy') return said('failed', 'is not healthy');
    return health === 'starting' ? said('waiting', 'is not healthy yet') : said('good', 'runs');
  }
  if (State.Status === 'created')
    return State.Error ? said('failed', `could not start: ${State.Error}`) : said('waiting', 'has not started');
  // One that has done its work, such as a migration, is as it should be.
  return State.ExitCode === 0 && !State.Error
    ? said('good', 'has ended')
    : said('failed', `ended with ${State.Error || `exit ${State.ExitCode}`}`);
}

const numberOf = ({ Labels }: ContainerInfo): number => Number(Labels[numberLabel] ?? 0);

/** Without a terminal each piece of a log has a head of 8 bytes, of which the last 4 are its length. */
function textOf(raw: Buffer): string {
  const pieces: Buffer[] = [];
  let at = 0;
  while (at + 8 <= raw.length && (raw[at] ?? 9) < 3 && raw.readUInt32BE(at) % 2 ** 24 === 0) {
    const length = raw.readUInt32BE(at + 4);
    pieces.push(raw.subarray(at + 8, at + 8 + length));
    at += 8 + length;
  }
  return Buffer.concat(at === 0 ? [raw] : pieces).toString('utf8');
}

async function ignoring(statuses: readonly number[], work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!statuses.includes(statusOf(error) ?? 0)) throw error;
  }
}
