/** One compose project on a placement host. Programs, files and terminals act in its main service, through our guest there. */

import { constants } from 'node:os';
import type { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { BoxError } from '@skillbox/protocol';
import type { ContainerInspectInfo } from 'dockerode';
import { pack } from 'tar-stream';
import { z } from 'zod';
import type { SandboxHandle, SandboxSpec } from '../../living.ts';
import type { Engine } from '../docker/engine.ts';
import { createGuestClient } from '../guest/guest-client.ts';
import type { Connection } from '../machines/connection.ts';
import { createHomePaths } from '../machines/home-paths.ts';
import { createContainers } from './containers.ts';
import { type Place, type PlacementHost, projectOf, socketOf } from './placement-host.ts';
import { homeParent, insideFolder } from './settle.ts';

export interface HostParts {
  readonly connection: Connection;
  readonly engine: Engine;
  readonly host: PlacementHost;
}

/** What is stored with the sandbox. One that only the sweep knows has no service. */
export const composeRef = z.object({
  host: z.string(),
  folder: z.string(),
  project: z.string(),
  service: z.string().default(''),
  ports: z.array(z.object({ service: z.string(), port: z.number(), target: z.number(), loopback: z.number().optional() })).default([]),
});
export type ComposeRef = z.infer<typeof composeRef>;

export interface ComposeSandbox extends SandboxHandle {
  /** The first start of the guest: its home is made for the user it runs as. */
  furnish(): Promise<void>;
}

const startLimitMs = 120_000;
const stopLimitMs = 120_000;
const downSeconds = '10';

export function openSandbox(
  { connection, engine, host }: HostParts,
  { folder, project, service, ports }: ComposeRef,
  spec: SandboxSpec,
  forget: () => void,
): ComposeSandbox {
  const at: Place = { sandbox: spec.id, folder, project };
  const containers = createContainers(engine, project);
  const paths = createHomePaths(`${homeParent}/user`);
  let starting: Promise<{ uid: number; gid: number }> | undefined;
  let ownEnv: Promise<Readonly<Record<string, string>>> | undefined;
  const addresses = new Map<string, string>();

  const main = async (): Promise<ContainerInspectInfo> => {
    const found = await containers.of(service);
    if (found) return found;
    throw new BoxError('not_found', `The host has no container of service ${service} of sandbox ${spec.id}.`);
  };

  const launch = async (): Promise<{ uid: number; gid: number }> => {
    if (!(await main()).State.Running) {
      addresses.clear();
      await host.run(at, ['start'], startLimitMs);
    }
    const { Id, State } = await main();
    if (!State.Running) {
      await containers.settled(AbortSignal.timeout(0));
      throw new BoxError('sandbox_failed', `The service ${service} has ended, and nothing can run in it.`);
    }
    await host.clearSocket(at);
    const { docker, ask } = engine;
    const exec = await ask(docker.getContainer(Id).exec({ Cmd: [`${insideFolder}/guest`, '--listen', `${insideFolder}/run/guest`] }));
    await ask(exec.start({ Detach: true }));
    return host.adoptSocket(at);
  };

  const started = (): Promise<{ uid: number; gid: number }> => {
    starting ??= launch().finally(() => {
      starting = undefined;
    });
    return starting;
  };

  const connect = async (): Promise<Duplex> => {
    const stream = starting ? undefined : await connection.reach(socketOf(folder));
    if (stream) return stream;
    await started();
    const reached = await connection.reach(socketOf(folder));
    if (reached) return reached;
    throw new BoxError('sandbox_failed', 'The guest runs, but is not reached.', {
      hint: 'The SSH server must allow forwarding to sockets: AllowStreamLocalForwarding yes.',
    });
  };

  const guest = createGuestClient(connect);

  const isRunning = async (): Promise<boolean> => {
    // Who waits for the start hears of its failure.
    await starting?.catch(() => undefined);
    const stream = await connection.reach(socketOf(folder));
    stream?.destroy();
    return stream !== undefined;
  };

  /** What the service itself was given; a program that somebody starts in it finds its database by the same names. */
  const environment = (): Promise<Readonly<Record<string, string>>> => {
    ownEnv ??= main().then(({ Config }) => Object.fromEntries((Config.Env ?? []).map((line) => split(line))));
    ownEnv.catch(() => {
      ownEnv = undefined;
    });
    return ownEnv;
  };

  const addressOf = async (name: string): Promise<string | undefined> => {
    const known = addresses.get(name);
    if (known) return known;
    const info = await containers.of(name);
    const found = Object.values(info?.NetworkSettings.Networks ?? {})
      .map(({ IPAddress }) => IPAddress)
      .find(Boolean);
    if (found) addresses.set(name, found);
    return found;
  };

  /** A port of another service, or one that the host's loopback has. */
  const reachService = async (port: (typeof ports)[number]): Promise<Duplex | undefined> => {
    if (port.loopback !== undefined) return connection.reachPort('127.0.0.1', port.loopback);
    const address = await addressOf(port.service);
    const stream = address && (await connection.reachPort(address, port.target));
    if (stream) return stream;
    // After a restart of its container it has another address.
    addresses.delete(port.service);
    const changed = await addressOf(port.service);
    return changed && changed !== address ? connection.reachPort(changed, port.target) : undefined;
  };

  const stop = async (): Promise<void> => {
    await starting?.catch(() => undefined);
    addresses.clear();
    await host.run(at, ['stop'], stopLimitMs);
  };

  /** What compose leaves, or what was made while it was being ended, goes until a look finds nothing more. */
  const sweep = async (patience: number): Promise<void> => {
    for (let round = 0; round < 20; round += 1) if (!(await containers.sweep()) && round >= patience) return;
    throw new BoxError('sandbox_failed', `Something of project ${project} would not go.`);
  };

  const removeFiles = async (image: string | undefined): Promise<void> => {
    if (!(await host.removeProject(at)) && image) await removeAsRoot(engine, image, folder);
    await containers.removeImages();
    await host.remove(at);
  };

  return {
    async furnish() {
      const { uid, gid } = await started();
      const archive = pack();
      archive.entry({ name: 'user', type: 'directory', mode: 0o755, uid, gid });
      archive.finalize();
      const { Id } = await main();
      await engine.ask(engine.docker.getContainer(Id).putArchive(await buffer(archive as AsyncIterable<Buffer>), { path: homeParent }));
    },
    async waitReady(signal) {
      signal.throwIfAborted();
      await guest.programs();
      await containers.settled(signal);
    },
    async start(program) {
      return guest.start(paths.programThere({ ...program, env: { ...(await environment()), ...spec.env, ...program.env } }));
    },
    join: guest.join,
    programs: async () => ((await isRunning()) ? (await guest.programs()).map(paths.programHere) : []),
    async signal(id, signal) {
      // To the guest 0 means everything it can reach, and here that is what the service itself runs.
      if (id < 1) throw new BoxError('bad_request', 'A signal goes to one program.');
      await guest.signal(id, signal);
    },
    async endAll() {
      if (!(await isRunning())) return;
      const running = (await guest.programs()).filter(({ ended }) => !ended);
      await Promise.all(
        running.map(({ id }) =>
          guest.signal(id, constants.signals.SIGKILL).catch((error) => {
            // It ended by itself meanwhile.
            if (!(error instanceof BoxError && error.code === 'not_found')) throw error;
          }),
        ),
      );
    },
    files: paths.files(guest.files),
    async connect(number) {
      const port = ports.find((candidate) => candidate.port === number);
      if (!port || port.service === service) return guest.tunnel(port?.target ?? number);
      const stream = await reachService(port);
      if (stream) return stream;
      throw new BoxError('nothing_listens', `Nothing answers at port ${port.target} of service ${port.service}.`);
    },
    async metrics() {
      const usage = await containers.usage();
      return { ...usage, memoryLimitBytes: spec.limits.memoryBytes, diskLimitBytes: spec.limits.diskBytes };
    },
    async snapshot() {
      throw new BoxError('capability_missing', 'The compose-ssh provider takes no snapshots.');
    },
    pause: stop,
    async isActive() {
      return (await isRunning()) && (await guest.programs()).some((program) => !program.ended);
    },
    async teardown() {
      await starting?.catch(() => undefined);
      const worked = await host.endWork(at);
      const image = (await containers.all()).find(({ ImageID }) => ImageID)?.ImageID;
      // What compose cannot end, the sweep does; and its reason shows there.
      await host.run(at, ['down', '--volumes', '--remove-orphans', '--timeout', downSeconds], stopLimitMs).catch(() => undefined);
      await sweep(worked ? 2 : 0);
      await removeFiles(image);
      forget();
    },
  };
}

/** Files that a container wrote as root are not the account's to remove; a container as root can. */
async function removeAsRoot({ docker, ask, createContainer }: Engine, image: string, folder: string): Promise<void> {
  const container = await createContainer(`skillbox-remove-${Date.now()}`, {
    Image: image,
    User: '0',
    Entrypoint: ['rm', '-rf', '--', `/folder${projectOf('')}`],
    Cmd: [],
    HostConfig: { NetworkMode: 'none', Binds: [`${folder}:/folder`], CapDrop: ['ALL'], CapAdd: ['DAC_OVERRIDE', 'FOWNER'] },
  });
  try {
    await ask(container.start());
    await ask(container.wait());
  } finally {
    await ask(docker.getContainer(container.id).remove({ force: true }));
  }
}

function split(line: string): [string, string] {
  const at = line.indexOf('=');
  return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1)];
}
