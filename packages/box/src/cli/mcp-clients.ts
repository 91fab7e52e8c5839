/** Agents that `mcp install` knows: where each keeps its MCP servers, and how it writes one. The key is never in a file: it is named. */

import { homedir, platform } from 'node:os';
import { join } from 'node:path';

export const clientNames = ['claude', 'codex', 'opencode', 'cursor', 'vscode'] as const;
export type ClientName = (typeof clientNames)[number];

/** The variable that holds the key, for every client but VS Code, which asks for it. */
export const keyVariable = 'SKILLBOX_API_KEY';

export type Server =
  | { readonly kind: 'http'; readonly url: string }
  | { readonly kind: 'stdio'; readonly command: string; readonly args: readonly string[] };

type Json = Record<string, unknown>;

export interface JsonClient {
  readonly format: 'json';
  /** Where in the file it stands. */
  readonly at: readonly string[];
  entry(server: Server): Json;
  /** What else the file needs for it: an item of the list at this key, found again by its id. */
  readonly item?: { readonly list: string; readonly value: Json & { readonly id: string } };
}

export interface TomlClient {
  readonly format: 'toml';
  readonly table: string;
  entry(server: Server): Json;
}

export type ClientForm = JsonClient | TomlClient;

const bearer = (reference: string): Json => ({ Authorization: `Bearer ${reference}` });

export function formOf(client: ClientName, existing: unknown): ClientForm {
  switch (client) {
    case 'claude':
      return {
        format: 'json',
        at: ['mcpServers', 'skillbox'],
        entry: (server) =>
          server.kind === 'http'
            ? { type: 'http', url: server.url, headers: bearer(`\${${keyVariable}}`) }
            : { type: 'stdio', command: server.command, args: server.args },
      };
    case 'cursor':
      return {
        format: 'json',
        at: ['mcpServers', 'skillbox'],
        entry: (server) =>
          server.kind === 'http'
            ? { url: server.url, headers: bearer(`\${env:${keyVariable}}`) }
            : { command: server.command, args: server.args },
      };
    case 'vscode':
      return {
        format: 'json',
        at: ['servers', 'skillbox'],
        entry: (server) =>
          server.kind === 'http'
            ? { type: 'http', url: server.url, headers: bearer('${input:skillbox-key}') }
            : { type: 'stdio', command: server.command, args: server.args },
        item: {
          list: 'inputs',
          value: { id: 'skillbox-key', type: 'promptString', description: 'A key of the Skillbox', password: true },
        },
      };
    case 'opencode': {
      // Its second major version has a level more, and no `enabled`.
      const newer = isObject(existing) && isObject(existing.mcp) && isObject(existing.mcp.servers);
      const on = newer ? {} : { enabled: true };
      return {
        format: 'json',
        at: newer ? ['mcp', 'servers', 'skillbox'] : ['mcp', 'skillbox'],
        entry: (server) =>
          server.kind === 'http'
            ? { type: 'remote', url: server.url, headers: bearer(`{env:${keyVariable}}`), ...on }
            : { type: 'local', command: [server.command, ...server.args], ...on },
      };
    }
    case 'codex':
      return {
        format: 'toml',
        table: 'mcp_servers.skillbox',
        entry: (server) =>
          server.kind === 'http'
            ? { url: server.url, bearer_token_env_var: keyVariable }
            : // It starts servers without its own environment, but for what is named.
              { command: server.command, args: server.args, env_vars: [keyVariable] },
      };
  }
}

/** Of the person, or of the project in this folder. */
export function fileOf(client: ClientName, project: boolean): string {
  const home = homedir();
  const editor = platform() === 'darwin' ? join(home, 'Library/Application Support') : join(home, '.config');
  const files: Readonly<Record<ClientName, readonly [string, string]>> = {
    claude: [join(home, '.claude.json'), '.mcp.json'],
    codex: [join(home, '.codex/config.toml'), '.codex/config.toml'],
    opencode: [join(home, '.config/opencode/opencode.json'), 'opencode.json'],
    cursor: [join(home, '.cursor/mcp.json'), '.cursor/mcp.json'],
    vscode: [join(editor, 'Code/User/mcp.json'), '.vscode/mcp.json'],
  };
  return files[client][project ? 1 : 0];
}

export const isObject = (value: unknown): value is Json => value !== null && typeof value === 'object' && !Array.isArray(value);
