import { exitCodes } from '@skillbox/protocol';
import { z } from 'zod';
import { localCommand } from './command.ts';

export const configCommands = [
  localCommand({
    name: 'config.validate',
    summary: 'Check the manifest and the overlays of clients',
    description: 'Every finding has its file, line and fix. Without FILE the manifest of this box is checked.',
    input: z.object({ file: z.string().optional().describe('Manifest to check') }),
    cli: {
      words: 'config validate',
      args: ['file?'],
      examples: ['skillbox config validate', 'skillbox config validate ./skillbox.yaml --json'],
    },
    run: async (context, { file }) => (await import('./config-validate.ts')).validate(context, file),
  }),

  localCommand({
    name: 'config.show',
    summary: 'Show the effective settings, who gave each, and the manifest',
    description: 'Secrets are masked.',
    input: z.object({}),
    cli: { words: 'config show', examples: ['skillbox config show', 'skillbox config show --json'] },
    run: async (context) => (await import('./config-show.ts')).show(context),
  }),

  localCommand({
    name: 'config.schema',
    summary: 'Print the JSON Schema of skillbox.yaml, for editors',
    input: z.object({}),
    cli: { words: 'config schema', examples: ['skillbox config schema > skillbox.schema.json'] },
    async run() {
      const { manifestJsonSchema } = await import('../../manifest/json-schema.ts');
      const value = manifestJsonSchema();
      return { value, text: JSON.stringify(value, null, 2), exit: exitCodes.ok };
    },
  }),
];
