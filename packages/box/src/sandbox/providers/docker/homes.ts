/**
 * The disks of sandboxes: one volume each, mounted at /home, and one for each snapshot. The engine keeps them; the host never
 * opens a path in them. A copy is made by `cp` of the sandbox's image, in a container as closed as the sandbox itself.
 */

import { buffer } from 'node:stream/consumers';
import { BoxError } from '@skillbox/protocol';
import type Dockerode from 'dockerode';
import { pack } from 'tar-stream';
import type { SandboxSpec } from '../../living.ts';
import { containerOptions, sandboxUid } from './container.ts';
import { type Engine, statusOf } from './engine.ts';
import { type Labels, labelFilter, type Names } from './names.ts';

export interface Homes {
  create(spec: SandboxSpec, image: string): Promise<void>;
  /** Of a container that has it mounted and has never run: a new volume is root's. */
  prepare(container: Dockerode.Container, folder: string): Promise<void>;
  snapshot(spec: SandboxSpec, image: string, name: string): Promise<void>;
  removeSnapshot(name: string): Promise<void>;
  remove(sandbox: string): Promise<void>;
  all(): Promise<string[]>;
  usedBytes(sandbox: string): Promise<number>;
}

/** Asking costs the engine a walk through all its volumes, so that one answer serves all who ask within this time. */
const usageAgeMs = 2000;

export function openHomes(engine: Engine, names: Names, processors: () => Promise<number>): Homes {
  const { docker, ask } = engine;
  let usage: { readonly at: number; readonly sizes: Promise<Map<string, number>> } | undefined;

  const exists = async (volume: string): Promise<boolean> => {
    try {
      await docker.getVolume(volume).inspect();
      return true;
    } catch (error) {
      if (statusOf(error) === 404) return false;
      return ask(Promise.reject(error));
    }
  };

  const removeVolume = async (volume: string): Promise<void> => {
    try {
      await docker.getVolume(volume).remove();
    } catch (error) {
      if (statusOf(error) !== 404) await ask(Promise.reject(error));
    }
  };

  const copy = async (spec: SandboxSpec, image: string, from: string, to: string): Promise<void> => {
    const helper = await engine.createContainer(
      `${to}.copy`,
      containerOptions({
        ...{ image, limits: spec.limits, processors: await processors() },
        labels: names.labels(spec, 'copy'),
        command: ['/bin/cp', '-a', '/from/user/.', '/to/user/'],
        mounts: [volumeMount(from, '/from', true), volumeMount(to, '/to')],
      }),
    );
    try {
      await prepare(helper, '/to');
      await ask(helper.start());
      const { StatusCode } = (await ask(helper.wait())) as { StatusCode: number };
      if (StatusCode !== 0) throw new BoxError('sandbox_failed', `The disk could not be copied: cp ended with ${StatusCode}.`);
    } finally {
      await ask(helper.remove({ force: true, v: true }));
    }
  };

  const prepare = async (container: Dockerode.Container, folder: string): Promise<void> => {
    const archive = pack();
    archive.entry({ name: 'user', type: 'directory', mode: 0o755, uid: sandboxUid, gid: sandboxUid });
    archive.finalize();
    await ask(container.putArchive(await buffer(archive as AsyncIterable<Buffer>), { path: folder }));
  };

  const readUsage = async (): Promise<Map<string, number>> => {
    const { Volumes } = (await ask(docker.df())) as { Volumes: { Name: string; UsageData?: { Size: number } }[] | null };
    return new Map((Volumes ?? []).map(({ Name, UsageData }) => [Name, Math.max(0, UsageData?.Size ?? 0)]));
  };

  return {
    async create(spec, image) {
      const volume = names.home(spec.id);
      if (await exists(volume)) throw new BoxError('already_exists', `There is a disk of sandbox ${spec.id} already.`);
      const from = spec.snapshot && names.snapshot(spec.snapshot);
      if (from && !(await exists(from))) throw new BoxError('not_found', `There is no snapshot ${spec.snapshot}.`);
      const labels: Labels = { ...names.labels(spec, 'home'), ...(spec.snapshot && { 'skillbox.snapshot': spec.snapshot }) };
      await ask(docker.createVolume({ Name: volume, Labels: labels }));
      if (from) await copy(spec, image, from, volume);
    },
    prepare,
    async snapshot(spec, image, name) {
      const volume = names.snapshot(name);
      if (await exists(volume)) throw new BoxError('already_exists', `There is a snapshot ${name} already.`);
      await ask(docker.createVolume({ Name: volume, Labels: { ...names.labels(spec, 'snapshot'), 'skillbox.snapshot': name } }));
      try {
        await copy(spec, image, names.home(spec.id), volume);
      } catch (error) {
        await removeVolume(volume);
        throw error;
      }
    },
    async removeSnapshot(name) {
      const { Volumes } = await ask(docker.listVolumes(labelFilter({ ...names.ours('home'), 'skillbox.snapshot': name })));
      if (Volumes.length > 0) throw new BoxError('already_exists', `Snapshot ${name} is what ${Volumes.length} sandboxes were made from.`);
      await removeVolume(names.snapshot(name));
    },
    remove: (sandbox) => removeVolume(names.home(sandbox)),
    async all() {
      const { Volumes } = await ask(docker.listVolumes(labelFilter(names.ours('home'))));
      return Volumes.map(({ Labels }) => Labels['skillbox.sandbox'] ?? '').filter(Boolean);
    },
    async usedBytes(sandbox) {
      if (!usage || Date.now() - usage.at > usageAgeMs) usage = { at: Date.now(), sizes: readUsage() };
      return (await usage.sizes).get(names.home(sandbox)) ?? 0;
    },
  };
}

/** Empty at first, whatever the image has there. */
export function volumeMount(volume: string, target: string, readOnly = false): Dockerode.MountSettings {
  return { Type: 'volume', Source: volume, Target: target, ReadOnly: readOnly, VolumeOptions: noCopy };
}

const noCopy = { NoCopy: true } as NonNullable<Dockerode.MountSettings['VolumeOptions']>;
