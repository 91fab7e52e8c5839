/** The registry of providers that are there only when the operator configured them. */

import { resolve } from 'node:path';
import type { Config } from '../../config.ts';
import type { LivingProvider } from '../living.ts';
import { nativeProgram } from './bubblewrap/files.ts';
import { loadSshHosts } from './ssh/hosts.ts';
import { createSsh } from './ssh/provider.ts';

/** `owner` keeps apart what several boxes have in one place. */
export function configuredProviders(config: Config, owner: string): LivingProvider[] {
  const { baseDir, sshHosts } = config;
  const guestProgram = nativeProgram('guest');
  return [...(sshHosts ? [createSsh({ hosts: loadSshHosts(resolve(baseDir, sshHosts)), guestProgram, owner })] : [])];
}
