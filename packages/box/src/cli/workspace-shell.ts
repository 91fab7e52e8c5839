/** skillbox shell: a terminal in the workspace, or one command in it. */

import { BoxError, graphClient } from '@skillbox/protocol';
import { z } from 'zod';
import type { Config } from '../config.ts';
import type { CliContext, Leaf, Outcome } from './leaf.ts';
import { execPolish } from './sandbox-exec.ts';
import { shellLeaf } from './sandbox-shell.ts';

const input = z.object({
  command: z.array(z.string()).optional().describe('Program and its words, after --. Default: an interactive shell'),
  client: graphClient.optional().describe('Start in the folder of this client'),
});

export const workspaceShellLeaf: Leaf = {
  name: 'workspace.shell',
  words: 'shell',
  summary: 'Open a terminal in the workspace, or run a command in it',
  description:
    'The workspace is the one durable sandbox of the box: what is written to /workspace, /monoserver and /home/sandbox stays. It is made when there is none. Exits with the exit code of the shell or the command.',
  examples: ['skillbox shell', 'skillbox shell --client personal', 'skillbox shell -- git status'],
  input,
  args: ['command?'],
  remote: true,
  async run(context: CliContext, given: Record<string, unknown>): Promise<Outcome> {
    const { client, command = [] } = input.parse(given);
    // It is the box's own, whichever tenant other commands act for.
    const config: Config = { ...context.config(), tenant: undefined };
    const [cwd, id] = [await folderOf(config, client), await workspaceOf(config, context)];
    const own = { ...context, config: () => config };
    if (command.length === 0) return shellLeaf.run(own, { id, ...(cwd !== undefined && { cmd: interactive(cwd) }) });
    const [{ createClient }, { findConnection }] = await Promise.all([import('./client.ts'), import('./connection.ts')]);
    const box = async () => createClient(findConnection(config));
    return execPolish.run({ ...own, client: box }, { id, command, stdin: process.stdin.isTTY !== true, ...(cwd !== undefined && { cwd }) });
  },
};

/** Where the client works, as the workspace sees it. */
async function folderOf(config: Config, client: string | undefined): Promise<string | undefined> {
  if (client === undefined) return undefined;
  if (config.serverUrl !== undefined)
    throw new BoxError('usage', 'The clients of another box are not known here.', {
      hint: 'Leave --client out, and change the folder there.',
    });
  const { loadGraph } = await import('../graph/load.ts');
  const place = loadGraph(config, { client, profiles: [] }).client?.defaultCwd;
  return place && (place.inside || place.path !== place.hostPath) ? place.path : undefined;
}

async function workspaceOf(config: Config, { io }: CliContext): Promise<string> {
  const [{ createBoxApi, requireLocalBox }, { sandboxFor }, { findConnection }, { workspaceName }] = await Promise.all([
    import('../graph/box-api.ts'),
    import('../graph/sandbox-for.ts'),
    import('./connection.ts'),
    import('../sandbox/workspace/template.ts'),
  ]);
  const named = config.serverUrl !== undefined || config.apiKey !== undefined;
  const api = named ? createBoxApi({ ...findConnection(config), host: undefined }) : requireLocalBox(config.stateRoot);
  io.progress.show('Opening the workspace');
  try {
    return await sandboxFor(api, { template: workspaceName, client: undefined, stateRoot: config.stateRoot, note: io.note });
  } finally {
    io.progress.clear();
  }
}

/** A folder that is not there yet keeps nobody out. */
const interactive = (cwd: string): string => `cd -- '${cwd.replaceAll("'", "'\\''")}'; exec /bin/bash -l`;
