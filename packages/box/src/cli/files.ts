/** skillbox exec files: lists artifacts, and fetches them when told where to. */

import { type Artifact, executionId, type Page } from '@skillbox/protocol';
import { z } from 'zod';
import { commandNamed } from './call.ts';
import type { Client } from './client.ts';
import type { CliContext, Outcome } from './leaf.ts';
import { viewOf } from './views.ts';

const input = z.object({
  id: executionId,
  download: z.string().optional().describe('Save them into this folder').meta({ placeholder: 'dir' }),
});

export const filesPolish = {
  input,
  async run({ client, io }: CliContext, given: Record<string, unknown>): Promise<Outcome> {
    const { id, download } = input.parse(given);
    const box = await client();
    const { body, text } = await box.call(commandNamed('execution.files'), { id });
    const view = viewOf('execution.files', body, io);
    if (download === undefined) return { value: body, raw: text, text: view };
    const { items } = body as Page<Artifact>;
    await saveArtifacts(box, id, items, download);
    return { value: body, raw: text, text: items.length === 0 ? view : `${view}\n\nSaved in ${download}` };
  },
};

export async function saveArtifacts(client: Client, id: string, artifacts: readonly Artifact[], folder: string): Promise<void> {
  const { downloadArtifacts } = await import('./download.ts');
  const command = commandNamed('execution.file');
  await downloadArtifacts(artifacts, folder, ({ path }) => client.open(command, { id, path }));
}
