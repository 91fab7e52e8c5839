/** skillbox sandbox cat and watch: what comes goes straight to the terminal. */

import { pipeline } from 'node:stream/promises';
import { BoxError, sandboxId } from '@skillbox/protocol';
import { z } from 'zod';
import { commandNamed } from './call.ts';
import type { CliContext, Outcome } from './leaf.ts';
import { oneLine } from './paint.ts';

const path = z.string().describe('Path in the sandbox; a relative one starts at /home/user');
const catInput = z.object({ id: sandboxId, path });
const watchInput = z.object({
  id: sandboxId,
  path: path.optional(),
  recursive: z.boolean().default(false).describe('Folders in it too'),
});

export const catPolish = {
  input: catInput,
  async run({ client }: CliContext, given: Record<string, unknown>): Promise<Outcome> {
    const bytes = await (await client()).open(commandNamed('sandbox.file.read'), catInput.parse(given));
    await pipeline(bytes, process.stdout, { end: false });
    return {};
  },
};

export const watchPolish = {
  description: 'One line for each change, until Ctrl-C; with --json one object per line.',
  input: watchInput,
  async run({ client, io }: CliContext, given: Record<string, unknown>): Promise<Outcome> {
    const box = await client();
    for await (const { event, data } of box.events(commandNamed('sandbox.file.watch'), watchInput.parse(given), { silenceMs: 45_000 })) {
      const { path: changed, message } = data as { path: string; message?: string };
      if (event === 'error') throw new BoxError('unavailable', message ?? 'The watch broke off.');
      io.print(io.json ? JSON.stringify({ event, path: changed }) : `${event.padEnd(10)} ${oneLine(changed)}`);
    }
    return {};
  },
};
