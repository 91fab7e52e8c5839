/** Which layers of the sandbox this host gives, and the line that mends a missing one. */

import { existsSync, readFileSync } from 'node:fs';
import type { LayerState } from '../../provider.ts';
import type { Cgroups } from './cgroup.ts';
import type { IdMode } from './command.ts';

export interface LayerFacts {
  readonly bwrap: { readonly path: string; readonly version: string } | undefined;
  readonly architectureKnown: boolean;
  readonly ids: IdMode;
  readonly cgroups: Cgroups;
  /** What the trial sandbox said; undefined when it ran well. */
  readonly trialFailure: string | undefined;
}

export function layerStates(facts: LayerFacts, accepted: readonly string[]): LayerState[] {
  const { bwrap, cgroups, ids } = facts;
  const ran = facts.trialFailure === undefined;
  const state = (name: string, present: boolean, detail: string, fix?: string): LayerState => ({
    name,
    present,
    accepted: !present && accepted.includes(name),
    detail,
    ...(present || fix === undefined ? {} : { fix }),
  });
  return [
    state(
      'bubblewrap',
      bwrap !== undefined && isRecent(bwrap.version),
      bwrap ? `${bwrap.path} ${bwrap.version}` : 'not found',
      'sudo apt-get install -y bubblewrap',
    ),
    state('user-namespace', ran, facts.trialFailure ?? 'a trial sandbox ran', namespaceFix()),
    state(
      'seccomp',
      facts.architectureKnown && ran,
      facts.architectureKnown ? 'filter loaded' : `no filter for ${process.arch}`,
      'Use an x86-64 or arm64 machine.',
    ),
    state('noexec', ran, 'work area and /tmp are mounted noexec'),
    state('uid', ids.kind !== 'self', uidDetail(ids), uidFix()),
    state('cgroup-memory', cgroups.available.has('memory'), cgroups.detail, cgroupFix()),
    state('cgroup-pids', cgroups.available.has('pids'), cgroups.detail, cgroupFix()),
    state('cgroup-cpu', cgroups.available.has('cpu'), cgroups.detail, cgroupFix()),
  ];
}

/** Usable when every layer is there or accepted; the floor cannot be accepted away, the manifest's rules see to that. */
export const isUsable = (layers: readonly LayerState[]): boolean => layers.every((layer) => layer.present || layer.accepted);

/** `--disable-userns` came with 0.8. */
function isRecent(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 0 || minor >= 8;
}

function uidDetail(ids: IdMode): string {
  if (ids.kind === 'root') return 'each sandbox has a host uid of its own';
  if (ids.kind === 'subordinate') return `each sandbox has a subordinate uid of its own, from ${ids.uidStart}`;
  return 'sandboxes share the uid of the server: as an ordinary user without subordinate ids it cannot be otherwise';
}

function uidFix(): string {
  return 'sudo apt-get install -y uidmap && sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 "$(id -un)"';
}

function namespaceFix(): string {
  if (readSysctl('kernel/apparmor_restrict_unprivileged_userns') === '1') {
    const profile = 'abi <abi/4.0>, include <tunables/global> profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }';
    return `echo '${profile}' | sudo tee /etc/apparmor.d/bwrap && sudo apparmor_parser -r /etc/apparmor.d/bwrap`;
  }
  if (readSysctl('kernel/unprivileged_userns_clone') === '0') return 'sudo sysctl -w kernel.unprivileged_userns_clone=1';
  if (readSysctl('user/max_user_namespaces') === '0') return 'sudo sysctl -w user.max_user_namespaces=15000';
  if (existsSync('/.dockerenv'))
    return 'docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --cap-add SYS_ADMIN …';
  return 'Allow user namespaces for /usr/bin/bwrap on this host; the message above says what refused them.';
}

function cgroupFix(): string {
  if (process.getuid?.() === 0) return 'Mount cgroups writable: mount -t cgroup2 none /sys/fs/cgroup';
  return 'systemd-run --user --scope -p Delegate=yes npx skillbox up';
}

function readSysctl(name: string): string | undefined {
  const path = `/proc/sys/${name}`;
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined;
}
