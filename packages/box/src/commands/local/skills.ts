import { language, skillMode, skillName } from '@skillbox/protocol';
import { z } from 'zod';
import { localCommand } from './command.ts';

const folder = z.string().describe('Folder of the skill');

export const skillAuthorCommands = [
  localCommand({
    name: 'skill.init',
    summary: 'Start a skill: a folder that lints clean and runs',
    input: z.object({
      name: skillName,
      lang: language.default('python'),
      mode: skillMode.default('executable'),
    }),
    cli: {
      words: 'skill init',
      args: ['name'],
      examples: ['skillbox skill init my-skill', 'skillbox skill init my-guide --mode cognitive'],
    },
    run: async (context, input) => (await import('./skill-author.ts')).init(context, input),
  }),

  localCommand({
    name: 'skill.lint',
    summary: 'Check a skill: file, line, what is wrong, how to mend it',
    input: z.object({ path: folder.describe('Folder of the skill, or a zip of it') }),
    cli: { words: 'skill lint', args: ['path'], examples: ['skillbox skill lint ./my-skill', 'skillbox skill lint ./my-skill --json'] },
    run: async (context, { path }) => (await import('./skill-author.ts')).lint(context, path),
  }),

  localCommand({
    name: 'skill.package',
    summary: 'Pack a skill into a zip',
    description: 'The same files give the same bytes.',
    input: z.object({
      path: folder,
      out: z.string().optional().describe('File to write. Default NAME-VERSION.zip').meta({ placeholder: 'file' }),
    }),
    cli: {
      words: 'skill package',
      args: ['path'],
      examples: ['skillbox skill package ./my-skill', 'skillbox skill package ./my-skill --out dist/skill.zip'],
    },
    run: async (context, { path, out }) => (await import('./skill-author.ts')).pack(context, path, out),
  }),
];
