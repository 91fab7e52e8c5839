/** What the commands on the inside of a sandbox share: the use of it, paths, flags in queries, bodies as streams. */

import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { z } from 'zod';
import type { SandboxHandle } from '../sandbox/living.ts';
import { homeFolder } from '../sandbox/programs.ts';
import type { CommandContext } from './command.ts';

/** The sandbox counts as used while `work` goes on. 404 for what is another tenant's. */
export async function withSandbox<T>({ box, caller }: CommandContext, id: string, work: (handle: SandboxHandle) => Promise<T>): Promise<T> {
  const { handle, done } = await box.sandboxes.use(caller.tenant, id);
  try {
    return await work(handle);
  } finally {
    done();
  }
}

/** Absolute as the inside sees it; what is relative starts at home. */
export const sandboxPath = z
  .string()
  .min(1)
  .max(4095)
  .refine((path) => !path.includes('\0'), 'no null bytes')
  .transform((path) => posix.resolve(homeFolder, path))
  .describe('Path in the sandbox; a relative one starts at /home/user');

export const rawBody = z.instanceof(Readable).describe('The bytes');
