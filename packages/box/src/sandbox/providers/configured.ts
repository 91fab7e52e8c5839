/** The registry of providers that are there only when the operator configured them. */

import { join, resolve } from 'node:path';
import type { Config } from '../../config.ts';
import type { LivingProvider } from '../living.ts';
import { nativeProgram } from './bubblewrap/files.ts';
import type { EngineAddress } from './docker/engine.ts';
import { createDocker } from './docker/provider.ts';
import { loadSshHosts } from './ssh/hosts.ts';
import { createSsh } from './ssh/provider.ts';

/** `owner` keeps apart what several boxes have in one place. */
export function configuredProviders(config: Config, owner: string): LivingProvider[] {
  const { baseDir, dockerHost, sshHosts } = config;
  const guestProgram = nativeProgram('guest');
  return [
    ...(dockerHost ? [createDocker({ ...engineAt(dockerHost), ...dockerOptions(config), guestProgram, owner })] : []),
    ...(sshHosts ? [createSsh({ hosts: loadSshHosts(resolve(baseDir, sshHosts)), guestProgram, owner })] : []),
  ];
}

const engineAt = (address: string): EngineAddress =>
  address.startsWith('unix://') ? { socket: address.slice('unix://'.length) } : { host: address };

function dockerOptions({ dockerRuntime, imageAllowlist, stateRoot }: Config) {
  const allowlist = imageAllowlist
    .split(',')
    .map((image) => image.trim())
    .filter((image) => image !== '');
  return { allowlist, runFolder: join(stateRoot, 'run', 'docker'), ...(dockerRuntime && { runtime: dockerRuntime }) };
}
