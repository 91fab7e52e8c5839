/** skillbox mcp with the official client over stdio, skillbox mcp install, and skillbox skill export. */

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { clientFor, type Era } from '../support/mcp.ts';
import { pythonAnswer } from '../support/skills.ts';
import { builtCli, built as main } from './cli-process.ts';

const head = (name: string, more = '') =>
  `---\nname: ${name}\nversion: 1.0.0\ndescription: The skill ${name}.\nlang: python\n${more}---\nRun it.\n`;
const doubler = {
  'SKILL.md': head('doubler', 'input_schema: {type: object, properties: {n: {type: number}}, required: [n]}\n'),
  'main.py': pythonAnswer('value = {"twice": 2 * json.load(open("/sandbox/input.json"))["n"]}'),
};
const slow = {
  'SKILL.md': head('slow'),
  'main.py': 'import time\nfor step in range(600):\n    print("step", step, flush=True)\n    time.sleep(0.1)\n',
};
const guide = { 'SKILL.md': '---\nname: guide\ndescription: How to.\nmode: cognitive\n---\nDo it so.\n' };

let box: TestBox;
let key: string;
let home: string;
let door: { server: Server; url: string; sessions: Set<string> };

beforeAll(async () => {
  box = await startTestBox();
  key = await box.newKey('acme');
  home = mkdtempSync(join(tmpdir(), 'skillbox-home-'));
  for (const files of [doubler, slow, guide]) expect((await box.push(files, key)).status).toBe(201);
  door = await startDoor(box.url);
});

afterAll(async () => {
  door.server.closeAllConnections();
  door.server.close();
  await box.stop();
  rmSync(home, { recursive: true, force: true });
});

/** Before the box, and sees which sessions there are. */
async function startDoor(url: string) {
  const sessions = new Set<string>();
  const server = createServer((incoming, response) => {
    const given = incoming.headers['mcp-session-id'];
    if (typeof given === 'string') sessions.add(given);
    const { hostname, port } = new URL(url);
    const outgoing = httpRequest({ hostname, port, path: incoming.url, method: incoming.method, headers: incoming.headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
    });
    outgoing.on('error', () => response.destroy());
    response.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, sessions, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function connect(era: Era, url = box.url): Promise<Client> {
  const client = clientFor(era);
  const env = { PATH: process.env.PATH ?? '', SKILLBOX_SERVER_URL: url, SKILLBOX_API_KEY: key };
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [builtCli, 'mcp'], env, stderr: 'ignore' }));
  return client;
}

async function eventually<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (const end = Date.now() + 8000; ; ) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > end) throw new Error('it did not happen in time');
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

describe.each(['modern', 'session'] as const)('skillbox mcp, for a client of the %s kind', (era) => {
  let client: Client;
  beforeAll(async () => {
    client = await connect(era, door.url);
  });
  afterAll(() => client.close());

  it('lists and calls tools, reads prompts, tells errors', async () => {
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('skill_doubler');
    const results = await Promise.all([1, 2, 3].map((n) => client.callTool({ name: 'skill_doubler', arguments: { n } })));
    expect(results.map(({ structuredContent }) => structuredContent)).toEqual([{ twice: 2 }, { twice: 4 }, { twice: 6 }]);
    expect((await client.getPrompt({ name: 'skill_guide' })).messages).toHaveLength(1);
    await expect(client.callTool({ name: 'skill_nothing' })).rejects.toMatchObject({ code: -32602 });
  });

  it('cancels a run that is taken back', async () => {
    const controller = new AbortController();
    const options = { signal: controller.signal, onprogress: () => controller.abort() };
    await expect(client.callTool({ name: 'skill_slow', arguments: {} }, options)).rejects.toThrow();
    const status = await eventually(async () => {
      const { body } = await box.json<{ items: { status: string }[] }>('/v1/executions?skill=slow&limit=1', { key });
      return body.items[0]?.status === 'running' ? undefined : body.items[0]?.status;
    });
    expect(status).toBe('cancelled');
  });

  it('hears of new skills', async () => {
    let heard = 0;
    client.setNotificationHandler('notifications/tools/list_changed', () => void heard++);
    const subscription = era === 'modern' ? await client.listen({ toolsListChanged: true }) : undefined;
    let version = 0;
    await eventually(async () => {
      version += 1;
      await box.push({ 'SKILL.md': head(`more-${era}`).replace('1.0.0', `1.0.${version}`), 'main.py': 'pass\n' }, key);
      await new Promise((resolve) => setTimeout(resolve, 200));
      return heard > 0 ? true : undefined;
    });
    await subscription?.close();
  });
});

it('goes on when the box has forgotten its session', async () => {
  door.sessions.clear();
  const client = await connect('session', door.url);
  await client.listTools();
  const forgotten = [...door.sessions];
  expect(forgotten).toHaveLength(1);
  for (const id of forgotten)
    expect((await box.json('/mcp', { key, method: 'DELETE', headers: { 'Mcp-Session-Id': id } })).status).toBe(204);
  expect((await client.callTool({ name: 'skill_doubler', arguments: { n: 4 } })).structuredContent).toEqual({ twice: 8 });
  expect(door.sessions.size).toBe(2);
  await client.close();
  // And leaves none behind.
  const left = [...door.sessions].filter((id) => !forgotten.includes(id));
  await eventually(async () => {
    const ping = { key, headers: { 'Mcp-Session-Id': left[0] ?? '' }, body: { jsonrpc: '2.0', id: 1, method: 'ping' } };
    return (await box.json('/mcp', ping)).status === 404 ? true : undefined;
  });
});

it('says what is wrong when no box is there, or the line is no message', async () => {
  const lines = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}\nnonsense\n';
  const { stdout, exit } = await main(['mcp'], { SKILLBOX_SERVER_URL: 'http://127.0.0.1:1', SKILLBOX_API_KEY: key }, lines);
  const answers = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(exit).toBe(0);
  expect(answers).toContainEqual(expect.objectContaining({ error: expect.objectContaining({ code: -32700 }) }));
  expect(answers).toContainEqual(
    expect.objectContaining({ id: 1, error: expect.objectContaining({ message: expect.stringContaining('skillbox up') }) }),
  );
});

describe('skillbox mcp install', () => {
  const env = () => ({ HOME: home, SKILLBOX_SERVER_URL: box.url, SKILLBOX_API_KEY: key });
  const files = {
    claude: ['.claude.json', '{\n    "numStartups": 3,\n    "mcpServers": {\n        "other": {"command": "x"}\n    }\n}\n'],
    codex: ['.codex/config.toml', '# mine\nmodel = "gpt"\n\n[mcp_servers.other]\ncommand = "x"\n\n[profiles.a]\nmodel = "b"\n'],
    opencode: ['.config/opencode/opencode.json', '{"$schema": "https://opencode.ai/config.json", "theme": "dark"}'],
    cursor: ['.cursor/mcp.json', ''],
    vscode: ['.config/Code/User/mcp.json', '{"inputs": [{"id": "mine", "type": "promptString"}], "servers": {}}'],
  } as const;

  it.each(Object.entries(files))(
    '%s: writes it, once, names the key and does not write it, keeps the rest, takes it out again',
    async (client, [name, before]) => {
      const file = join(home, name);
      if (before !== '') {
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, before, { mode: 0o640 });
      }
      const first = await main(['mcp', 'install', client], env());
      expect(first.exit, first.stderr).toBe(0);
      expect(first.stdout).toContain(`skillbox mcp install ${client} --undo`);
      const written = readFileSync(file, 'utf8');
      expect(written).toContain(`${box.url}/mcp`);
      expect(written).not.toContain(key);
      expect(written).toMatch(/SKILLBOX_API_KEY|skillbox-key/);
      expect(statSync(file).mode & 0o777).toBe(before === '' ? 0o600 : 0o640);
      expect((await main(['mcp', 'install', client, '--json'], env())).stdout).toContain('"changed":false');
      expect(readFileSync(file, 'utf8')).toBe(written);
      expect((await main(['mcp', 'install', client, '--undo'], env())).exit).toBe(0);
      if (before === '') expect(existsSync(file)).toBe(false);
      else if (name.endsWith('.toml')) expect(readFileSync(file, 'utf8')).toBe(before);
      else expect(withoutEmpty(JSON.parse(readFileSync(file, 'utf8')))).toEqual(withoutEmpty(JSON.parse(before)));
    },
  );

  it('prints and writes nothing with --print, and starts skillbox mcp with --stdio', async () => {
    const printed = await main(['mcp', 'install', 'cursor', '--print', '--stdio'], env());
    const { command, args } = JSON.parse(printed.stdout).mcpServers.skillbox as { command: string; args: string[] };
    expect(command).toBe(process.execPath);
    expect(args.slice(1)).toEqual(['mcp', '--state-root', expect.any(String)]);
    expect(existsSync(join(home, '.cursor/mcp.json'))).toBe(false);
  });

  it('leaves a file alone that it cannot change without harm', async () => {
    const file = join(home, '.cursor/mcp.json');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, '{\n  // mine\n  "mcpServers": {}\n}\n');
    const { exit, stderr } = await main(['mcp', 'install', 'cursor'], env());
    expect(exit).toBe(2);
    expect(stderr).toContain('--print');
    expect(readFileSync(file, 'utf8')).toContain('// mine');
  });
});

/** Undoing also takes what was empty before. */
const withoutEmpty = (value: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).filter(([, item]) => typeof item !== 'object' || Object.keys(item as object).length > 0));

describe('skillbox skill export', () => {
  const exported = async (format: string, ...words: string[]) => {
    const { exit, stdout, stderr } = await main(['skill', 'export', ...words, '--format', format], {
      SKILLBOX_SERVER_URL: box.url,
      SKILLBOX_API_KEY: key,
    });
    expect(exit, stderr).toBe(0);
    return JSON.parse(stdout) as Record<string, unknown>[];
  };
  const schema = { type: 'object', required: ['n'] };

  it.each([
    ['openai', { type: 'function', name: 'skill_doubler', description: 'The skill doubler.', parameters: schema, strict: false }],
    ['openai-chat', { type: 'function', function: { name: 'skill_doubler', description: 'The skill doubler.', parameters: schema } }],
    ['anthropic', { name: 'skill_doubler', description: 'The skill doubler.', input_schema: schema }],
    ['langchain', { name: 'skillbox_doubler', description: 'The skill doubler.', args_schema: schema, metadata: { skill: 'doubler' } }],
    ['mcp', { name: 'skill_doubler', title: 'doubler', inputSchema: schema }],
  ])('%s', async (format, tool) => {
    expect(await exported(format, 'doubler')).toEqual([expect.objectContaining(nested(tool))]);
  });

  it('has all skills that run, and none that is only read', async () => {
    const names = (await exported('mcp')).map(({ title }) => title);
    expect(names).toEqual(expect.arrayContaining(['doubler', 'slow']));
    expect(names).not.toContain('guide');
  });
});

/** Each object within it is a part of what is there. */
const nested = (value: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      name,
      item !== null && typeof item === 'object' && !Array.isArray(item)
        ? expect.objectContaining(nested(item as Record<string, unknown>))
        : item,
    ]),
  );
