/** skillbox mcp install: the box in the settings of an agent, and out of them again. */

import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import { z } from 'zod';
import { insideCommand } from '../sandbox/workspace/program.ts';
import { editJson, editToml } from './config-edit.ts';
import type { CliContext, Leaf, Outcome } from './leaf.ts';
import { type ClientName, clientNames, fileOf, formOf, keyVariable, type Server } from './mcp-clients.ts';

const input = z.object({
  client: z.enum(clientNames).describe('The agent'),
  project: z.boolean().default(false).describe('For the project in this folder, not for you everywhere'),
  stdio: z.boolean().default(false).describe('Let it start skillbox mcp, which finds the box and its key by itself'),
  print: z.boolean().default(false).describe('Only show what would be written'),
  undo: z.boolean().default(false).describe('Take it out again'),
});

export const mcpInstallLeaf: Leaf = {
  name: 'mcp.install',
  words: 'mcp install',
  summary: 'Put the box into the settings of an agent',
  description:
    'Everything else in the file stays as it is. No key is written: the file names the variable that holds it, or asks for it. With --stdio neither is needed on this machine.',
  examples: [
    'skillbox mcp install claude',
    'skillbox mcp install codex --print',
    'skillbox mcp install cursor --stdio',
    'skillbox mcp install vscode --undo',
  ],
  input,
  args: ['client'],
  remote: true,
  async run(context: CliContext, given: Record<string, unknown>): Promise<Outcome> {
    const { client, project, stdio, print, undo } = input.parse(given);
    const file = resolve(fileOf(client, project));
    const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
    const server = undo ? undefined : await serverOf(context, stdio);
    if (print) return { value: { client, file, content: edited(client, '', server) }, text: edited(client, '', server).trimEnd() };
    const after = edited(client, before, server);
    if (after !== before) write(file, after);
    const { paint } = context.io;
    const back = `skillbox mcp install ${client}${project ? ' --project' : ''} --undo`;
    const done = after === before ? `${file} stays as it is` : undo ? `Taken out of ${file}` : `Wrote ${file}`;
    const notes = undo ? [] : [...keyNote(client, server), `Undo: ${back}`];
    return {
      value: { client, file, changed: after !== before, ...(!undo && { undo: back }) },
      text: [`${paint('green', '✓')} ${done}`, ...notes.map((note) => paint('dim', note))].join('\n'),
    };
  },
};

async function serverOf({ config, flags }: CliContext, stdio: boolean): Promise<Server> {
  const { findConnection } = await import('./connection.ts');
  const settings = config();
  // There is no key inside, and the program finds the box by itself.
  if (settings.inside) return { kind: 'stdio', command: insideCommand, args: ['mcp'] };
  if (!stdio) return { kind: 'http', url: `${findConnection(settings).url}/mcp` };
  // The agent starts it from anywhere.
  const where = flags.serverUrl === undefined ? ['--state-root', settings.stateRoot] : ['--server', flags.serverUrl];
  return { kind: 'stdio', command: process.execPath, args: [realpathSync(process.argv[1] ?? ''), 'mcp', ...where] };
}

function edited(client: ClientName, text: string, server: Server | undefined): string {
  const form = formOf(client, asJson(text));
  return form.format === 'toml' ? editToml(text, form, server) : editJson(text, form, server);
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Told when it is edited.
    return undefined;
  }
}

function keyNote(client: ClientName, server: Server | undefined): string[] {
  if (server?.kind !== 'http') return [];
  if (client === 'vscode') return ['It asks for the key when it first connects: skillbox key create makes one.'];
  return [`It reads the key from ${keyVariable}: skillbox key create makes one, export ${keyVariable}=… sets it.`];
}

/** Whole or not at all, through a link, with the permissions it had. What becomes empty is removed. */
function write(file: string, text: string): void {
  const target = existsSync(file) ? realpathSync(file) : file;
  try {
    if (text === '') {
      rmSync(target, { force: true });
      return;
    }
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    const mode = existsSync(target) ? statSync(target).mode & 0o777 : 0o600;
    const temporary = `${target}.${process.pid}.tmp`;
    writeFileSync(temporary, text, { mode });
    renameSync(temporary, target);
  } catch (cause) {
    throw new BoxError('usage', `${file} cannot be written: ${(cause as Error).message}`, {
      cause,
      hint: 'Let --print show what belongs into it.',
    });
  }
}
