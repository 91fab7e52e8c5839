import { exitCodes } from '@skillbox/protocol';
import { z } from 'zod';
import { version } from '../../version.ts';
import { localCommand } from './command.ts';

/** Texts, because configuration parses them like the variables they stand for. */
const listening = {
  bind: z.string().optional().describe('Address to listen on (SKILLBOX_BIND). Default 127.0.0.1').meta({ placeholder: 'address' }),
  port: z
    .string()
    .regex(/^\d{1,5}$/, 'expected a port')
    .optional()
    .describe('Port to listen on (SKILLBOX_API_PORT); 0 takes a free one. Default 8080')
    .meta({ placeholder: 'port' }),
};

export const boxCommands = [
  localCommand({
    name: 'box.up',
    summary: 'Start the box in the background and wait until it is ready',
    description: 'Its log is logs/server.log in the state root. When the box runs already, nothing is changed.',
    input: z.object(listening),
    cli: { words: 'up', examples: ['skillbox up', 'skillbox up --port 9090'] },
    run: async (context, flags) => (await import('./up.ts')).up(context, flags),
  }),

  localCommand({
    name: 'box.down',
    summary: 'Stop the box',
    description: 'Executions that run may finish within the drain time (SKILLBOX_DRAIN_TIMEOUT); then they are ended.',
    input: z.object({}),
    cli: { words: 'down', examples: ['skillbox down', 'skillbox down --state-root /srv/box'] },
    run: async (context) => (await import('./down.ts')).down(context),
  }),

  localCommand({
    name: 'box.serve',
    summary: 'Run the server in the foreground',
    description: 'The log goes to stderr as JSON lines. Ctrl-C or SIGTERM lets executions finish, then stops; a second one stops at once.',
    input: z.object(listening),
    cli: { words: 'serve', examples: ['skillbox serve', 'skillbox serve --bind 0.0.0.0 --port 8080 --state-root /srv/box'] },
    run: async (context, flags) => (await import('./serve.ts')).serve(context, flags),
  }),

  localCommand({
    name: 'box.doctor',
    summary: 'Check what this machine has and lacks, with the line that mends it',
    input: z.object({}),
    cli: { words: 'doctor', examples: ['skillbox doctor', 'skillbox doctor --json'] },
    run: async (context) => (await import('./doctor.ts')).doctor(context),
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
