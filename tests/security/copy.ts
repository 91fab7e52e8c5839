/** `skillbox sandbox cp` as the command line calls it, without a process for each. */

import { BoxError } from '@skillbox/protocol';
import { createClient } from '../../packages/box/src/cli/client.ts';
import { createIo } from '../../packages/box/src/cli/io.ts';
import type { CliContext } from '../../packages/box/src/cli/leaf.ts';
import { cpLeaf } from '../../packages/box/src/cli/sandbox-cp.ts';
import type { Living } from './living.ts';

/** Whether it was copied; a refusal is not an error. */
export async function copy(url: string, { key }: Living, from: string, to: string): Promise<boolean> {
  const client = createClient({ url, key, tenant: undefined });
  const context = { io: createIo({ json: true, colour: false }), client: async () => client, flags: {}, leaves: [] };
  return cpLeaf.run(context as unknown as CliContext, { from, to }).then(
    () => true,
    (error) => {
      // What became something else between two looks ends the copy; what matters is where it led.
      if (
        error instanceof BoxError ||
        ['ENOENT', 'ENOTDIR', 'ELOOP', 'EEXIST', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')
      )
        return false;
      throw error;
    },
  );
}
