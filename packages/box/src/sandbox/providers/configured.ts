/** The registry of providers that are there only when the operator configured them. */

import { resolve } from 'node:path';
import type { Config } from '../../config.ts';
import type { LivingProvider } from '../living.ts';
import { nativeProgram } from './bubblewrap/files.ts';
import { createE2b } from './e2b/provider.ts';
import { loadSshHosts } from './ssh/hosts.ts';
import { createSsh } from './ssh/provider.ts';

/** `owner` keeps apart what several boxes have in one place. */
export function configuredProviders(config: Config, owner: string): LivingProvider[] {
  const { baseDir, e2bApiKey, e2bApiUrl, e2bDomain, e2bSandboxUrl, sshHosts } = config;
  const providers: LivingProvider[] = [];
  if (sshHosts) providers.push(createSsh({ hosts: loadSshHosts(resolve(baseDir, sshHosts)), guestProgram: nativeProgram('guest'), owner }));
  if (e2bApiKey) {
    const apiUrl = e2bApiUrl ?? `https://api.${e2bDomain}`;
    providers.push(createE2b({ key: e2bApiKey, apiUrl, sandboxUrl: e2bSandboxUrl, domain: e2bDomain, owner }));
  }
  return providers;
}
