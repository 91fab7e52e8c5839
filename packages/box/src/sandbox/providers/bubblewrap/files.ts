/** The few files the provider needs on the host: the filter, the small /etc of every sandbox, the native programs. */

import { copyFileSync, cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import { packageRoot } from '../../../package-root.ts';
import { seccompFilter } from '../guest/seccomp.ts';
import type { Architecture } from '../guest/syscalls.ts';

const etcFiles: Record<string, string> = {
  passwd: 'sandbox:x:65534:65534:sandbox:/tmp:/bin/sh\n',
  group: 'sandbox:x:65534:\n',
  hosts: '127.0.0.1 localhost sandbox box.internal\n::1 localhost\n',
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\n',
  'host.conf': 'multi on\n',
  'resolv.conf': '',
  hostname: 'sandbox\n',
};

export interface ProviderFiles {
  readonly etc: string;
  readonly workspaceEtc: string;
  readonly filter: string;
  readonly nestFilter: string;
}

/** Written anew at every start, so that an edited or outdated copy cannot stay. */
export function writeProviderFiles(
  runFolder: string,
  architecture: Architecture,
  { user, home }: WorkspaceUser = { user: 'sandbox', home: '/home/sandbox' },
): ProviderFiles {
  const etc = writeEtc(join(runFolder, 'etc'), etcFiles);
  const workspaceEtc = writeEtc(join(runFolder, 'etc-workspace'), {
    ...etcFiles,
    passwd: `${user}:x:65534:65534:${user}:${home}:/bin/bash\n`,
    group: `${user}:x:65534:\n`,
  });
  const filter = join(runFolder, 'seccomp.bpf');
  writeFileSync(filter, seccompFilter(architecture), { mode: 0o600 });
  const nestFilter = join(runFolder, 'seccomp-nest.bpf');
  writeFileSync(nestFilter, seccompFilter(architecture, 'nest'), { mode: 0o600 });
  return { etc, workspaceEtc, filter, nestFilter };
}

/** Who programs in the workspace are. */
export interface WorkspaceUser {
  readonly user: string;
  readonly home: string;
}

function writeEtc(etc: string, files: Readonly<Record<string, string>>): string {
  for (const name of ['alternatives', 'ssl/certs', 'pki/tls/certs', 'pki/ca-trust/extracted'])
    mkdirSync(join(etc, name), { recursive: true, mode: 0o755 });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(etc, name), text, { mode: 0o644 });
  // Which library a name stands for; without it the loader searches folder by folder.
  if (existsSync('/etc/ld.so.cache')) copyFileSync('/etc/ld.so.cache', join(etc, 'ld.so.cache'));
  // What holds interpreters that are started ahead; the same in every sandbox, so that none can tell by it.
  cpSync(nativeProgram('warm'), join(etc, 'skillbox'), { recursive: true });
  return etc;
}

/** The compiled launcher and guest, which the build puts beside the bundle. */
export function nativeProgram(name: 'launch' | 'guest' | 'warm'): string {
  const path = join(packageRoot(), 'dist', 'native', name);
  if (existsSync(path)) return path;
  throw new BoxError('sandbox_unavailable', `The program ${name} has not been built.`, { hint: 'Run make build (it needs a C compiler).' });
}
