import { z } from 'zod';
import { localCommand } from './command.ts';

export const templateAuthorCommands = [
  localCommand({
    name: 'template.validate',
    summary: 'Check a template file, without a box',
    input: z.object({ file: z.string().describe('YAML or JSON file with a template') }),
    cli: { words: 'template validate', args: ['file'], examples: ['skillbox template validate template.yaml'] },
    run: async (context, { file }) => (await import('../../cli/template.ts')).validateTemplate(context, file),
  }),
];
