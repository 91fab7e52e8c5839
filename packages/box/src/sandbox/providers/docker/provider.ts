/** Living sandboxes by a Docker-compatible engine on this machine, with the same guest inside as everywhere. */

import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import type { Capability, LivingProvider, NetworkMode, SandboxHandle, SandboxSpec } from '../../living.ts';
import type { WorkspaceParts } from '../../workspace/seat.ts';
import { containerOptions, insideFolder } from './container.ts';
import { type EngineAddress, openEngine } from './engine.ts';
import { openHomes, volumeMount } from './homes.ts';
import { allowedImage } from './images.ts';
import { createNames, labelFilter } from './names.ts';
import { openSandbox, type SandboxParts } from './sandbox.ts';
import { requireShortPath, socketFolder, socketName } from './socket.ts';
import { openWorkspace, type Workspace } from './workspace.ts';

export type DockerOptions = EngineAddress & {
  /** Images that sandboxes may be made of; empty denies all. */
  readonly allowlist: readonly string[];
  /** Of the engine's runtimes another than its default, such as runsc. */
  readonly runtime?: string;
  /** The guest, as this machine's path. */
  readonly guestProgram: string;
  /** Holds the sockets of guests. Its path must be short: a socket's may have 107 characters. */
  readonly runFolder: string;
  /** Holds a folder for each sandbox that has a way to the box, as this machine and the engine see it. Without it there are none. */
  readonly channelRoot?: string;
  /** Keeps what several boxes have in one engine apart. */
  readonly owner: string;
  /** What the workspace is made of, and who hands its folders over. Without it there is none. */
  readonly workspace?: { readonly parts: WorkspaceParts; readonly launcher: string };
};

export function createDocker(options: DockerOptions): LivingProvider {
  const { allowlist, runtime, runFolder } = options;
  const engine = openEngine(options);
  const { docker, ask } = engine;
  const names = createNames(options.owner);
  const handles = new Map<string, SandboxHandle>();
  mkdirSync(runFolder, { recursive: true, mode: 0o700 });
  // Folders in it are open for a moment while a guest starts; this one is what keeps other users of the machine out.
  chmodSync(runFolder, 0o700);
  const workspace = options.workspace && openWorkspace({ ...options.workspace, runtime, folder: join(runFolder, 'workspace-user') });
  const parts: SandboxParts = { engine, names, homes: openHomes(engine, names, engine.processors), runFolder, workspace };

  const handleFor = (spec: SandboxSpec): SandboxHandle => {
    const handle = handles.get(spec.id) ?? openSandbox(parts, spec, () => handles.delete(spec.id));
    handles.set(spec.id, handle);
    return handle;
  };

  const create = async (spec: SandboxSpec, image: string): Promise<void> => {
    const folder = socketFolder(runFolder, spec.id);
    const channel = spec.network === 'allow' && options.channelRoot ? join(options.channelRoot, spec.id) : undefined;
    const own = spec.workspace ? workspace : undefined;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    await parts.homes.create(spec, image);
    const container = await engine.createContainer(
      names.container(spec.id),
      containerOptions({
        ...{ image, limits: spec.limits, processors: await engine.processors(), labels: names.labels(spec, 'sandbox') },
        ...(runtime && { runtime }),
        ...(channel && { channel: true }),
        ...(own && { tmpfs: own.places() }),
        command: [`${insideFolder}/guest`, '--listen', `${insideFolder}/run/${socketName}`],
        mounts: [
          { Type: 'bind', Source: options.guestProgram, Target: `${insideFolder}/guest`, ReadOnly: true },
          { Type: 'bind', Source: folder, Target: `${insideFolder}/run` },
          volumeMount(names.home(spec.id), '/home'),
          ...(channel ? [{ Type: 'bind' as const, Source: channel, Target: `${insideFolder}/box`, ReadOnly: true }] : []),
          ...(own?.mounts ?? []),
        ],
      }),
    );
    if (!spec.snapshot) await parts.homes.prepare(container, '/home');
  };

  return {
    name: 'docker',
    tier: runtime === 'runsc' ? 'gvisor' : 'container',
    location: 'here',
    capabilities: new Set<Capability>([
      ...(['exec', 'pty', 'files', 'watch', 'ports', 'snapshot', 'fork', 'pause', 'metrics'] as const),
      ...(workspace ? (['workspace'] as const) : []),
    ]),
    networks: new Set<NetworkMode>(options.channelRoot ? ['none', 'allow'] : ['none']),
    async health() {
      try {
        const { ServerVersion, Runtimes } = await engine.look();
        if (runtime && !Runtimes?.[runtime]) return { healthy: false, detail: `the engine has no runtime ${runtime}` };
        return { healthy: true, detail: `Docker ${ServerVersion} at ${engine.address}` };
      } catch (error) {
        return { healthy: false, detail: (error as Error).message, ...(error instanceof BoxError && { hint: error.hint }) };
      }
    },
    async provision(spec) {
      const image = allowedImage(spec.options.image, allowlist);
      if (!this.networks.has(spec.network))
        throw new BoxError(
          'bad_request',
          `The docker provider has no network mode ${spec.network}, only ${[...this.networks].join(' and ')}.`,
        );
      requireShortPath(join(socketFolder(runFolder, spec.id), socketName));
      if (spec.workspace) requireWorkspace(workspace).places();
      await engine.requireImage(image);
      const existing = await ask(docker.listContainers({ all: true, ...labelFilter({ ...names.ours(), 'skillbox.sandbox': spec.id }) }));
      if (existing.length > 0) throw new BoxError('already_exists', `There is a sandbox ${spec.id} already.`);
      try {
        await create(spec, image);
      } catch (error) {
        // The first failure is the one to tell; what cannot be undone now is found by the sweep.
        if (!(error instanceof BoxError && error.code === 'already_exists'))
          await handleFor(spec)
            .teardown()
            .catch(() => undefined);
        throw error;
      }
      return { container: names.container(spec.id), image };
    },
    open: (_ref, spec) => handleFor(spec),
    async list() {
      const containers = await ask(docker.listContainers({ all: true, ...labelFilter(names.ours()) }));
      const marked = containers.map(({ Labels }) => Labels['skillbox.sandbox'] ?? '').filter(Boolean);
      // A disk may be all that is left of one.
      const all = new Set([...marked, ...(await parts.homes.all())]);
      return [...all].map((sandbox) => ({ sandbox, ref: { container: names.container(sandbox) } }));
    },
    removeSnapshot: parts.homes.removeSnapshot,
    async close() {
      handles.clear();
    },
  };
}

function requireWorkspace(workspace: Workspace | undefined): Workspace {
  if (workspace) return workspace;
  throw new BoxError('sandbox_unavailable', 'This host has no workspace by docker.');
}
