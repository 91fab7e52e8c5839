/** The registry of providers that are there only when the operator configured them. */

import { join, resolve } from 'node:path';
import type { Config } from '../../config.ts';
import type { LivingProvider } from '../living.ts';
import { nativeProgram } from './bubblewrap/files.ts';
import type { EngineAddress } from './docker/engine.ts';
import { createDocker } from './docker/provider.ts';
import { createE2b } from './e2b/provider.ts';
import { loadSshHosts } from './ssh/hosts.ts';
import { createSsh } from './ssh/provider.ts';

/** `owner` keeps apart what several boxes have in one place. */
export function configuredProviders(config: Config, owner: string): LivingProvider[] {
  const { baseDir, dockerHost, e2bApiKey, e2bApiUrl, e2bDomain, e2bSandboxUrl, sshHosts } = config;
  const guestProgram = nativeProgram('guest');
  const providers: LivingProvider[] = [];
  if (dockerHost) providers.push(createDocker({ ...engineAt(dockerHost), ...dockerOptions(config), guestProgram, owner }));
  if (sshHosts) providers.push(createSsh({ hosts: loadSshHosts(resolve(baseDir, sshHosts)), guestProgram, owner }));
  if (e2bApiKey) {
    const apiUrl = e2bApiUrl ?? `https://api.${e2bDomain}`;
    providers.push(createE2b({ key: e2bApiKey, apiUrl, sandboxUrl: e2bSandboxUrl, domain: e2bDomain, owner }));
  }
  return providers;
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
