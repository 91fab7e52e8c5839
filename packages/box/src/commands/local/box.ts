import { exitCodes } from '@skillbox/protocol';
import { z } from 'zod';
import { version } from '../../version.ts';
import { localCommand } from './command.ts';
import { listening } from './listening.ts';

export const boxCommands = [
  localCommand({
    name: 'box.serve',
    summary: 'Run the server in the foreground',
    description: 'The log goes to stderr as JSON lines. Ctrl-C or SIGTERM lets executions finish, then stops; a second one stops at once.',
    input: z.object(listening),
    cli: { words: 'serve', examples: ['skillbox serve', 'skillbox serve --bind 0.0.0.0 --port 8080 --state-root /srv/box'] },
    run: async (context, flags) => (await import('./serve.ts')).serve(context, flags),
  }),

  localCommand({
    name: 'box.version',
    summary: 'Print the version',
    input: z.object({}),
    cli: { words: 'version', examples: ['skillbox version', 'skillbox version --json'] },
    run: async () => ({
      value: { version, node: process.version, platform: `${process.platform}-${process.arch}` },
      text: `skillbox ${version}`,
      exit: exitCodes.ok,
    }),
  }),
];
