/** What a sandbox is to the engine. Everything that holds it back is in this file. */

import type { ContainerCreateOptions, HostConfig } from 'dockerode';
import type { LivingLimits } from '../../living.ts';
import type { Architecture } from '../guest/syscalls.ts';
import { seccompProfile } from './seccomp-profile.ts';

/** Nobody, inside and out, unless the engine maps users. */
export const sandboxUid = 65534;
export const insideFolder = '/.skillbox';
const rootBytes = 16 * 2 ** 20;
const shmBytes = 64 * 2 ** 20;

export interface ContainerSpec {
  readonly image: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly limits: Pick<LivingLimits, 'memoryBytes' | 'cpu' | 'processes' | 'openFiles' | 'tmpBytes'>;
  /** Processors of the engine's host, which refuses a limit above them. */
  readonly processors: number;
  readonly runtime?: string;
  readonly command: readonly string[];
  readonly mounts: HostConfig['Mounts'];
  /** More folders in memory, with their options. */
  readonly tmpfs?: Readonly<Record<string, string>>;
  /** Whether it has a way to the box: its relay is a process more, and the box has a name. */
  readonly channel?: boolean;
}

export function containerOptions(spec: ContainerSpec): ContainerCreateOptions {
  const { image, labels, command } = spec;
  return {
    Image: image,
    Labels: { ...labels },
    User: `${sandboxUid}:${sandboxUid}`,
    Hostname: 'sandbox',
    WorkingDir: '/',
    Entrypoint: [...command],
    Cmd: [],
    // The image's own would start programs that nobody asked for.
    Healthcheck: { Test: ['NONE'] },
    Tty: false,
    OpenStdin: false,
    HostConfig: hostConfig(spec),
  };
}

/** The types lack one field that engines have had since 2020. */
type CompleteHostConfig = HostConfig & { readonly CgroupnsMode: 'private' };

function hostConfig({ channel, limits, processors, runtime, mounts, tmpfs }: ContainerSpec): CompleteHostConfig {
  return {
    ...(runtime && { Runtime: runtime }),
    Mounts: mounts,
    Privileged: false,
    ReadonlyRootfs: true,
    CapDrop: ['ALL'],
    SecurityOpt: ['no-new-privileges', `seccomp=${JSON.stringify(seccompProfile(process.arch as Architecture))}`],
    NetworkMode: 'none',
    IpcMode: 'private',
    // Not the host's and not another container's; empty is the engine's word for its own.
    PidMode: '',
    CgroupnsMode: 'private',
    Devices: [],
    Memory: limits.memoryBytes,
    // Memory and swap together: no swap.
    MemorySwap: limits.memoryBytes,
    NanoCpus: Math.round(Math.min(limits.cpu, processors) * 1e9),
    // One more: the guest; two with its relay.
    PidsLimit: limits.processes + (channel ? 2 : 1),
    ...(channel && { ExtraHosts: ['box.internal:127.0.0.1'] }),
    Ulimits: [
      { Name: 'nofile', Soft: limits.openFiles, Hard: limits.openFiles },
      { Name: 'core', Soft: 0, Hard: 0 },
    ],
    ShmSize: shmBytes,
    Tmpfs: {
      '/tmp': `rw,noexec,nosuid,nodev,size=${limits.tmpBytes},mode=1777`,
      '/root': `rw,noexec,nosuid,nodev,size=${rootBytes},mode=0700,uid=${sandboxUid},gid=${sandboxUid}`,
      ...tmpfs,
    },
    // Programs speak through the guest; what is written to the container's own output would fill the host's disk.
    LogConfig: { Type: 'none', Config: {} },
    RestartPolicy: { Name: 'no' },
    AutoRemove: false,
  };
}
