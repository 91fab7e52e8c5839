/** The box as an MCP server, with the official client: both kinds of revisions, over HTTP. */

import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commands } from '../../packages/box/src/commands/registry.ts';
import { withoutTool } from '../../packages/box/src/server/mcp/command-tools.ts';
import { toolNameOfCommand } from '../../packages/box/src/server/mcp/names.ts';
import { startTestBox, type TestBox } from '../support/box.ts';
import { connect, type Era, modernRequest, openSession } from '../support/mcp.ts';
import { pythonAnswer } from '../support/skills.ts';

const eras: readonly Era[] = ['modern', 'session'];
const validName = /^[a-zA-Z0-9_-]{1,64}$/;

const skill = (name: string, more: string, files: Record<string, string>): Record<string, string> => ({
  'SKILL.md': `---\nname: ${name}\nversion: 1.0.0\ndescription: The skill ${name}, for tests.\n${more}\n---\n\nInstructions of ${name}.\n`,
  ...files,
});

const adder = skill(
  'adder',
  `lang: python
input_schema:
  type: object
  properties: {a: {type: number}, b: {type: number}}
  required: [a, b]
output_schema:
  type: object
  properties: {sum: {type: number}}
  required: [sum]`,
  {
    'main.py': pythonAnswer(
      'given = json.load(open("/sandbox/input.json"))\nvalue = {"sum": given["a"] + given["b"]}\nopen(os.path.join(os.environ["SANDBOX_FILES_DIR"], "steps.txt"), "w").write("added")\nopen(os.path.join(os.environ["SANDBOX_FILES_DIR"], "dot.png"), "wb").write(bytes([137, 80, 78, 71, 255]))',
    ),
  },
);
const list = skill('list', 'lang: python\ninput_schema: {type: array, items: {type: integer}}\noutput_schema: {type: array}', {
  'main.py': pythonAnswer('value = sorted(json.load(open("/sandbox/input.json")))'),
});
const wordy = skill('wordy', 'lang: python', { 'main.py': pythonAnswer('value = {"text": "x" * 200000}') });
const slow = skill('slow', 'lang: python', {
  'main.py': 'import time, sys\nfor step in range(600):\n    print("step", step, flush=True)\n    time.sleep(0.1)\n',
});
const steps = skill('steps', 'lang: python', {
  'main.py': pythonAnswer(
    'import time\nfor step in range(4):\n    print("step", step, flush=True)\n    time.sleep(0.15)\nvalue = {"done": True}',
  ),
});
const failing = skill('failing', 'lang: python', { 'main.py': 'print("about to fail")\nraise SystemExit(3)\n' });
const longName = `a.${'long-name-'.repeat(9)}end`;
const long = skill(longName, 'lang: python', { 'main.py': pythonAnswer('value = {"ok": True}') });
const guide = skill('guide', 'mode: cognitive', {});

let box: TestBox;
let key: string;
const clients: Client[] = [];
const client = async (era: Era, as = key): Promise<Client> => {
  const made = await connect(box, era, as);
  clients.push(made);
  return made;
};

beforeAll(async () => {
  box = await startTestBox();
  key = await box.newKey('acme', ['skills:read', 'skills:write', 'executions:read', 'executions:run', 'sandboxes:read', 'sandboxes:use']);
  for (const files of [adder, list, wordy, slow, steps, failing, long, guide]) {
    const { status, body } = await box.push(files, key);
    expect(status, JSON.stringify(body)).toBe(201);
  }
});

afterAll(async () => {
  for (const one of clients) await one.close();
  await box.stop();
});

type Result = { content: { type: string; text?: string; uri?: string; name?: string }[]; structuredContent?: unknown; isError?: boolean };
const call = async (from: Client, name: string, args: Record<string, unknown> = {}, options = {}): Promise<Result> =>
  (await from.callTool({ name, arguments: args }, options)) as Result;

describe.each(eras)('a client of the %s kind', (era) => {
  let mcp: Client;
  beforeAll(async () => {
    mcp = await client(era);
  });

  it('finds skills as tools, with their words and schemas', async () => {
    const { tools } = await mcp.listTools();
    for (const { name, inputSchema } of tools) {
      expect(name).toMatch(validName);
      expect(inputSchema.type).toBe('object');
    }
    expect(new Set(tools.map(({ name }) => name)).size).toBe(tools.length);
    const found = tools.find(({ name }) => name === 'skill_adder');
    expect(found).toMatchObject({ title: 'adder', description: 'The skill adder, for tests.', annotations: { destructiveHint: false } });
    expect(found?.inputSchema.required).toEqual(['a', 'b']);
    expect(found?.outputSchema).toMatchObject({ required: ['sum'] });
    expect(tools.some(({ name }) => name === 'skill_guide')).toBe(false);
  });

  it('calls one: structured output, text, files as resources that can be read', async () => {
    const result = await call(mcp, 'skill_adder', { a: 2, b: 3 });
    expect(result.isError).toBeFalsy();
    expect(result.structuredContent).toEqual({ sum: 5 });
    expect(JSON.parse(result.content[0]?.text ?? '')).toEqual({ sum: 5 });
    const links = result.content.filter(({ type }) => type === 'resource_link');
    expect(links.map(({ name }) => name).sort()).toEqual(['dot.png', 'steps.txt']);
    const text = await mcp.readResource({ uri: links.find(({ name }) => name === 'steps.txt')?.uri ?? '' });
    expect(text.contents[0]).toMatchObject({ text: 'added', mimeType: 'text/plain' });
    const picture = await mcp.readResource({ uri: links.find(({ name }) => name === 'dot.png')?.uri ?? '' });
    expect(picture.contents[0]).toMatchObject({ blob: Buffer.from([137, 80, 78, 71, 255]).toString('base64'), mimeType: 'image/png' });
  });

  it('wraps an input that is no object', async () => {
    const result = await call(mcp, 'skill_list', { input: [3, 1, 2] });
    expect(JSON.parse(result.content[0]?.text ?? '')).toEqual([1, 2, 3]);
    expect(result.structuredContent).toEqual(era === 'modern' ? [1, 2, 3] : undefined);
  });

  it('tells the model what was wrong with its arguments, and how a run failed', async () => {
    const wrong = await call(mcp, 'skill_adder', { a: 'two' });
    expect(wrong).toMatchObject({ isError: true });
    expect(wrong.content[0]?.text).toMatch(/invalid_input|\/a|\/b/);
    const failed = await call(mcp, 'skill_failing');
    expect(failed.isError).toBe(true);
    expect(failed.content[0]?.text).toContain('about to fail');
  });

  it('gives a large output as a resource', async () => {
    const result = await call(mcp, 'skill_wordy');
    expect(result.content[0]?.text?.length).toBeLessThan(70_000);
    expect(result.structuredContent).toBeUndefined();
    const uri = result.content.find(({ name }) => name === 'output.json')?.uri ?? '';
    const { contents } = await mcp.readResource({ uri });
    expect((contents[0] as { text: string }).text).toHaveLength(200_011);
  });

  it('tells progress', async () => {
    const heard: { progress: number; message?: string }[] = [];
    const result = await call(mcp, 'skill_steps', {}, { onprogress: (progress: { progress: number }) => heard.push(progress) });
    expect(result.structuredContent).toEqual({ done: true });
    expect(heard.some(({ message }) => message?.startsWith('step'))).toBe(true);
    expect(heard.map(({ progress }) => progress)).toEqual([...heard.keys()].map((index) => index + 1));
  });

  it('cancels the run when the call is taken back', async () => {
    const controller = new AbortController();
    const running = call(mcp, 'skill_slow', {}, { signal: controller.signal, onprogress: () => controller.abort() });
    await expect(running).rejects.toThrow();
    const ended = await eventually(async () => {
      const { body } = await box.json<{ items: { status: string }[] }>('/v1/executions?skill=slow&limit=1', { key });
      return body.items[0]?.status === 'running' ? undefined : body.items[0]?.status;
    });
    expect(ended).toBe('cancelled');
  });

  it('reaches a skill whose name is no name for a tool', async () => {
    const { tools } = await mcp.listTools();
    const tool = tools.find(({ title }) => title === longName);
    expect(tool?.name).toMatch(/^skill_a_long-name-.*_[0-9a-f]{12}$/);
    expect((await call(mcp, tool?.name ?? '')).structuredContent).toEqual({ ok: true });
  });

  it('has instructions as prompts and resources', async () => {
    const { prompts } = await mcp.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual(['skill_guide']);
    const prompt = await mcp.getPrompt({ name: 'skill_guide', arguments: { task: 'Do it now.' } });
    expect(prompt.messages[0]?.content).toMatchObject({
      type: 'text',
      text: expect.stringMatching(/Instructions of guide\.[\s\S]*Do it now\.$/),
    });
    const { resources } = await mcp.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual(['skillbox://skills/guide']);
    const { contents } = await mcp.readResource({ uri: 'skillbox://skills/guide' });
    expect((contents[0] as { text: string }).text).toContain('Instructions of guide.');
    expect((await mcp.listResourceTemplates()).resourceTemplates).toHaveLength(4);
  });

  it('works in sandboxes: make, write, read, run, list, destroy', async () => {
    const made = await call(mcp, 'skillbox_sandbox_create');
    const { id } = made.structuredContent as { id: string };
    await call(mcp, 'skillbox_sandbox_file_write', { id, path: 'note.txt', content: 'from a tool' });
    expect((await call(mcp, 'skillbox_sandbox_file_read', { id, path: 'note.txt' })).content[0]?.text).toBe('from a tool');
    const ran = await call(mcp, 'skillbox_sandbox_exec', { id, cmd: 'cat note.txt; echo; id -u' });
    expect(ran.structuredContent).toMatchObject({ exit_code: 0, stdout: expect.stringContaining('from a tool') });
    expect(JSON.stringify((await call(mcp, 'skillbox_sandbox_list')).structuredContent)).toContain(id);
    expect((await call(mcp, 'skillbox_sandbox_destroy', { id })).structuredContent).toMatchObject({ state: 'destroyed' });
  });

  it('refuses unknown tools, prompts, resources and cursors in the words of the protocol', async () => {
    await expect(mcp.callTool({ name: 'skill_nothing' })).rejects.toMatchObject({ code: -32602 });
    await expect(mcp.getPrompt({ name: 'skill_adder' })).rejects.toMatchObject({ code: -32602 });
    const missing = mcp.readResource({ uri: 'skillbox://executions/7d4e1c1e-2a6b-4a7a-9f0e-3f5f3a0c9b11/output' });
    await expect(missing).rejects.toMatchObject({ code: -32602, data: { uri: expect.stringContaining('skillbox://') } });
    await expect(mcp.listTools({ cursor: 'nonsense' })).rejects.toMatchObject({ code: -32602 });
  });

  it('hears of a skill that is pushed, and not of another tenant’s', async () => {
    const heard: string[] = [];
    const listening = await client(era);
    for (const method of ['notifications/tools/list_changed', 'notifications/prompts/list_changed'] as const)
      listening.setNotificationHandler(method, () => void heard.push(method));
    const subscription = era === 'modern' ? await listening.listen({ toolsListChanged: true }) : await standaloneStream();
    const other = await box.newKey('other');
    await box.push(skill(`foreign-${era}`, 'lang: bash', { 'main.sh': 'true\n' }), other);
    expect((await box.push(skill(`new-${era}`, 'lang: bash', { 'main.sh': 'true\n' }), key)).status).toBe(201);
    await eventually(async () => (heard.length > 0 ? true : undefined));
    expect(heard.filter((method) => method.includes('tools'))).toHaveLength(1);
    expect((await listening.listTools()).tools.some(({ name }) => name === `skill_new-${era}`)).toBe(true);
    // Only what was asked for.
    if (era === 'modern') expect(heard.some((method) => method.includes('prompts'))).toBe(false);
    await subscription?.close();
  });
});

/** The client of sessions opens it by itself, a moment after it has connected. */
const standaloneStream = async (): Promise<undefined> => {
  await new Promise((resolve) => setTimeout(resolve, 300));
  return undefined;
};

async function eventually<T>(look: () => Promise<T | undefined>, withinMs = 8000): Promise<T> {
  for (const end = Date.now() + withinMs; ; ) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > end) throw new Error('it did not happen in time');
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

describe('tools of the box itself', () => {
  it('has one for every command but those that say why not, and no two of the same name', () => {
    const names = commands.map(({ name }) => toolNameOfCommand(name));
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(validName);
    for (const name of Object.keys(withoutTool)) expect(commands.some((command) => command.name === name)).toBe(true);
  });

  it('shows a key only what its scopes allow', async () => {
    const [few, all] = await Promise.all(
      [await box.newKey('acme', ['skills:read']), box.key].map(async (one) => {
        const { tools } = await (await client('modern', one)).listTools();
        return tools.map(({ name }) => name);
      }),
    );
    expect(few).toContain('skillbox_skill_list');
    expect(few?.filter((name) => name.startsWith('skill_'))).toEqual([]);
    expect(few).not.toContain('skillbox_key_create');
    expect(few).not.toContain('skillbox_sandbox_exec');
    const expected = commands.filter(({ name }) => !Object.hasOwn(withoutTool, name)).map(({ name }) => toolNameOfCommand(name));
    expect(all?.filter((name) => name.startsWith('skillbox_')).sort()).toEqual(expected.sort());
    const reader = await client('modern', await box.newKey('acme', ['skills:read']));
    await expect(reader.callTool({ name: 'skill_adder', arguments: { a: 1, b: 1 } })).rejects.toMatchObject({ code: -32602 });
    await expect(reader.callTool({ name: 'skillbox_key_list' })).rejects.toMatchObject({ code: -32602 });
  });

  it('has those of the environment, with the parameters they are known by, for keys that may', async () => {
    const known: Record<string, string> = {
      status: 'client profile',
      doctor: 'client profile',
      render: 'client profile why',
      logs: 'client profile service lines',
      sync: 'client profile dry_run',
      context: 'client profile dry_run',
      bootstrap: 'client profile task dry_run',
      up: 'client profile service mode dry_run wait_seconds',
      restart: 'client profile service mode dry_run wait_seconds',
      down: 'client profile service dry_run wait_seconds',
      focus: 'client_id profile service mode resume wait_seconds',
      pulse: '',
      session_start: 'client_id label goal',
      session_event: 'id type message detail',
      session_end: 'id state summary',
      session_resume: 'id',
      session_status: 'client_id state limit',
    };
    const operator = await client('modern', await box.newKey('ops', ['graph:read', 'graph:use']));
    const { tools } = await operator.listTools();
    for (const [name, parameters] of Object.entries(known)) {
      const tool = tools.find((each) => each.name === `skillbox_${name}`);
      expect(Object.keys(tool?.inputSchema.properties ?? {}).join(' '), name).toBe(parameters);
    }
    const logs = tools.find(({ name }) => name === 'skillbox_logs')?.inputSchema.properties as Record<string, { default?: number }>;
    expect(logs.lines?.default).toBe(40);
    const reader = await client('modern', await box.newKey('ops', ['graph:read']));
    const few = (await reader.listTools()).tools.map(({ name }) => name);
    expect(few).toContain('skillbox_status');
    for (const name of ['up', 'down', 'sync', 'focus', 'session_start']) expect(few).not.toContain(`skillbox_${name}`);
    await expect(reader.callTool({ name: 'skillbox_down' })).rejects.toMatchObject({ code: -32602 });
    expect((await (await client('modern')).listTools()).tools.map(({ name }) => name)).not.toContain('skillbox_status');
    expect((await call(reader, 'skillbox_render', {})).structuredContent).toMatchObject({ profiles: ['core'] });
  });

  it('marks what reads and what destroys', async () => {
    const { tools } = await (await client('modern', box.key)).listTools();
    const hints = (name: string) => tools.find((tool) => tool.name === name)?.annotations;
    expect(hints('skillbox_skill_list')).toMatchObject({ readOnlyHint: true, destructiveHint: false });
    expect(hints('skillbox_sandbox_destroy')).toMatchObject({ readOnlyHint: false, destructiveHint: true });
    expect(hints('skillbox_sandbox_create')).toMatchObject({ readOnlyHint: false, destructiveHint: false });
  });

  it('pushes a skill from texts, and leaves the trace that /v1 would', async () => {
    const author = await client('modern');
    const files = skill('by-tool', 'lang: bash', { 'main.sh': 'echo hello\n' });
    const pushed = await call(author, 'skillbox_skill_push', { files });
    expect(pushed.structuredContent, JSON.stringify(pushed)).toMatchObject({ name: 'by-tool', created: true });
    expect((await call(author, 'skill_by-tool')).content[0]?.text).toContain('hello');
    await call(author, 'skillbox_skill_delete', { name: 'by-tool', version: '1.0.0' });
    const { body } = await box.json<{ items: unknown[] }>('/v1/events?type=audit.skill.delete&limit=1');
    expect(body.items).toHaveLength(1);
  });
});

describe('pages', () => {
  it('goes through hundreds of skills, skills first, each once', async () => {
    const many = await box.newKey('many', ['skills:read', 'skills:write', 'executions:run']);
    const row = await box.box.store.database.kysely.selectFrom('skills').selectAll().where('name', '=', 'adder').executeTakeFirstOrThrow();
    const rows = Array.from({ length: 450 }, (_, index) => ({ ...row, tenant: 'many', name: `copy-${String(index).padStart(3, '0')}` }));
    for (let from = 0; from < rows.length; from += 50)
      await box.box.store.database.kysely
        .insertInto('skills')
        .values(rows.slice(from, from + 50))
        .execute();
    const names: string[] = [];
    let pages = 0;
    for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
      const request = modernRequest('tools/list', cursor === undefined ? {} : { cursor });
      const { body } = await box.json<{ result: { tools: { name: string }[]; nextCursor?: string } }>('/mcp', { key: many, ...request });
      names.push(...body.result.tools.map(({ name }) => name));
      cursor = body.result.nextCursor;
      pages += 1;
    }
    expect(pages).toBe(3);
    expect(names.slice(0, 450)).toEqual(rows.map(({ name }) => `skill_${name}`));
    expect(names[450]).toMatch(/^skillbox_/);
  });
});

describe('sessions', () => {
  it('end when the client says so, and are then unknown', async () => {
    const id = await openSession(box, key);
    const ping = { key, headers: { 'Mcp-Session-Id': id }, body: { jsonrpc: '2.0', id: 1, method: 'ping' } };
    expect((await box.json('/mcp', ping)).body).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    expect((await box.json('/mcp', { key, method: 'DELETE', headers: { 'Mcp-Session-Id': id } })).status).toBe(204);
    expect((await box.json('/mcp', ping)).status).toBe(404);
  });

  it('settle on a revision that both know', async () => {
    const open = async (protocolVersion: string) => {
      const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'by hand', version: '1' } };
      const { body } = await box.json<{ result: { protocolVersion: string; capabilities: object } }>('/mcp', {
        body: { jsonrpc: '2.0', id: 0, method: 'initialize', params },
      });
      return body.result.protocolVersion;
    };
    expect(await open('2025-06-18')).toBe('2025-06-18');
    expect(await open('2025-11-25')).toBe('2025-11-25');
    expect(await open('1999-01-01')).toBe('2025-11-25');
  });

  it('keep the rest of an answer for a client that was cut off', async () => {
    const id = await openSession(box, key);
    const headers = { 'Mcp-Session-Id': id, Accept: 'application/json, text/event-stream' };
    const params = { name: 'skill_steps', arguments: {}, _meta: { progressToken: 'p' } };
    const cut = new AbortController();
    const first = await box.request('/mcp', {
      key,
      headers,
      body: { jsonrpc: '2.0', id: 7, method: 'tools/call', params },
      signal: cut.signal,
    });
    expect(first.headers.get('content-type')).toContain('text/event-stream');
    const reader = first.body?.getReader();
    let seen = '';
    while (!/id: call\d+-1\n/.test(seen)) seen += Buffer.from((await reader?.read())?.value ?? []).toString();
    cut.abort();
    const last = /id: (call\d+-1)\n/.exec(seen)?.[1] ?? '';
    const rest = await box.request('/mcp', { key, headers: { ...headers, 'Last-Event-ID': last } });
    const messages = dataOf(await rest.text());
    expect(messages.some(({ method }) => method === 'notifications/progress')).toBe(true);
    expect(messages.at(-1)).toMatchObject({ id: 7, result: { structuredContent: { done: true } } });
  });
});

const dataOf = (text: string): { method?: string; id?: number; result?: unknown }[] =>
  [...text.matchAll(/^data: (.+)$/gm)].map((match) => JSON.parse(match[1] ?? ''));
