/** Whether docker could make the workspace here. Looks, and makes nothing: for skillbox doctor. */

import { BoxError } from '@skillbox/protocol';
import { type EngineAddress, openEngine } from './engine.ts';
import { allowedImage } from './images.ts';
import { requireAble } from './workspace.ts';

export type WorkspaceCheck = EngineAddress & {
  readonly allowlist: readonly string[];
  readonly runtime?: string;
  readonly image: string | undefined;
};

/** What there is; throws what is missing, with the line that mends it. */
export async function checkWorkspace(options: WorkspaceCheck): Promise<string> {
  requireAble(options.runtime);
  const image = allowedImage(options.image, options.allowlist);
  const engine = openEngine(options);
  const { SecurityOptions = [], ServerVersion } = await engine.look();
  const mapping = SecurityOptions.find((option) => /^name=(userns|rootless)\b/.test(option));
  if (mapping !== undefined)
    throw new BoxError('sandbox_unavailable', `The engine at ${engine.address} maps users (${mapping}).`, {
      hint: 'Use provider: bubblewrap for the workspace, or an engine without userns-remap that runs as root.',
    });
  await engine.requireImage(image);
  return `Docker ${ServerVersion} at ${engine.address}, image ${image}`;
}
