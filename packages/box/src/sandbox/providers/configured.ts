/** The registry of providers that are there only when the operator configured them. */

import { join, resolve } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import type { Config } from '../../config.ts';
import type { Logger } from '../../observe/log.ts';
import type { LivingProvider } from '../living.ts';
import type { ImageRunner } from '../provider.ts';
import type { WorkspaceParts } from '../workspace/seat.ts';
import { nativeProgram } from './bubblewrap/files.ts';
import { createComposeSsh } from './compose-ssh/provider.ts';
import type { EngineAddress } from './docker/engine.ts';
import { createImageRunner } from './docker/image-runs.ts';
import { createDocker } from './docker/provider.ts';
import { dockerFolder } from './docker/socket.ts';
import { checkWorkspace } from './docker/workspace-check.ts';
import { createE2b } from './e2b/provider.ts';
import { loadSshHosts } from './machines/hosts.ts';
import { createSsh } from './ssh/provider.ts';

/** `owner` keeps apart what several boxes have in one place; `channelRoot` is what leads from sandboxes to the box. */
export function configuredProviders(config: Config, owner: string, channelRoot: string, workspace: WorkspaceParts): LivingProvider[] {
  const { baseDir, composeRoots, dockerHost, e2bApiKey, e2bApiUrl, e2bDomain, e2bSandboxUrl, sshHosts } = config;
  const guestProgram = nativeProgram('guest');
  const providers: LivingProvider[] = [];
  if (dockerHost) {
    const own = { parts: workspace, launcher: nativeProgram('launch') };
    providers.push(createDocker({ ...engineAt(dockerHost), ...dockerOptions(config), channelRoot, guestProgram, owner, workspace: own }));
  }
  if (sshHosts) {
    const hosts = loadSshHosts(resolve(baseDir, sshHosts));
    const placement = listOf(config.placement);
    const roots = listOf(composeRoots).map((folder) => resolve(baseDir, folder));
    providers.push(
      createSsh({ hosts, guestProgram, owner, placement }),
      createComposeSsh({ hosts, guestProgram, roots, owner, placement }),
    );
  }
  if (e2bApiKey) {
    const apiUrl = e2bApiUrl ?? `https://api.${e2bDomain}`;
    providers.push(createE2b({ key: e2bApiKey, apiUrl, sandboxUrl: e2bSandboxUrl, domain: e2bDomain, owner }));
  }
  return providers;
}

/** undefined where no engine is configured: then a skill that names an image cannot be run. */
export function configuredImages(config: Config, owner: string, log: Logger): ImageRunner | undefined {
  const { dockerHost } = config;
  if (!dockerHost) return undefined;
  const runFolder = join(config.stateRoot, 'run', 'images');
  return createImageRunner({
    ...engineAt(dockerHost),
    ...dockerOptions(config),
    runFolder,
    guestProgram: nativeProgram('guest'),
    owner,
    log,
  });
}

/** What docker has for the workspace; throws what it lacks. */
export async function checkDockerWorkspace(config: Config, image: string | undefined): Promise<string> {
  const { dockerHost } = config;
  if (dockerHost) return checkWorkspace({ ...engineAt(dockerHost), ...dockerOptions(config), image });
  throw new BoxError('no_provider', 'skillbox.yaml wants the workspace by docker, and no engine is configured.', {
    hint: 'SKILLBOX_DOCKER_HOST=unix:///var/run/docker.sock',
  });
}

const engineAt = (address: string): EngineAddress =>
  address.startsWith('unix://') ? { socket: address.slice('unix://'.length) } : { host: address };

function dockerOptions({ dockerRuntime, imageAllowlist, stateRoot }: Config) {
  return {
    allowlist: listOf(imageAllowlist),
    runFolder: dockerFolder(stateRoot),
    ...(dockerRuntime && { runtime: dockerRuntime }),
  };
}

const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
