/** The TypeScript SDK as built, against a real box: the snippets of its README, and what only TypeScript has. */

import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { APIError, Client, type SocketConstructor } from '@skillbox/sdk';
import { callTool, openaiTools, skillTools } from '@skillbox/sdk/tools';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { startTestBox, type TestBox } from '../support/box.ts';

const skills = join(import.meta.dirname, '../../examples/skills');
let box: TestBox;
let client: Client;
let folder: string;

beforeAll(async () => {
  box = await startTestBox();
  client = new Client(box.url, box.key, { WebSocket: WebSocket as unknown as SocketConstructor });
  folder = mkdtempSync(join(tmpdir(), 'skillbox-sdk-'));
  for (const name of ['data-analysis', 'text-summary', 'word-counter']) await client.registerSkill(join(skills, name));
  await client.skills.pushFiles({
    'SKILL.md': '---\nname: slow\nversion: 1.0.0\ndescription: Counts, slowly.\nlang: bash\n---\nCounts.\n',
    'main.sh': 'for n in 1 2 3; do echo "line $n"; sleep 0.05; done\n[ "$FOREVER" = 1 ] && sleep 60\nexit 0\n',
  });
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await box.stop();
});

describe('the names of the first SDKs', () => {
  it('discover skills and run one: structured in, structured out', async () => {
    const names: string[] = [];
    for (const skill of await client.listSkills()) names.push(`${skill.name}: ${skill.description}`);
    expect(names.join('\n')).toContain('data-analysis: ');
    const result = await client.run<{ row_count: number; mean: number }>('data-analysis', { data: [1, 2, 3, 4, 5] });
    expect(result.output).toMatchObject({ row_count: 5, mean: 3 });
  });

  it('act for a tenant, and download files', async () => {
    const team = client.withTenant('my-team');
    await team.registerSkill(join(skills, 'text-summary'));
    const result = await team.run<{ summary: string; sentence_count: number }>('text-summary', {
      text: 'Boxes hold things. Some boxes hold agents. Agents run skills. Skills answer in JSON. Nothing leaks.',
      max_sentences: 2,
    });
    expect(result).toMatchObject({ status: 'success', tenant_id: 'my-team', output: { sentence_count: 2 } });
    expect(result.hasFiles).toBe(result.files_list.length > 0);

    const analysed = await client.run('data-analysis', { data: [{ age: 30 }, { age: 25 }] });
    expect(analysed.hasFiles).toBe(true);
    const written = await client.downloadFiles(analysed, join(folder, 'output'));
    expect(written).toEqual(analysed.files_list.map(({ path }) => join(folder, 'output', path)));
    for (const path of written) expect(existsSync(path)).toBe(true);
    expect(JSON.parse(JSON.stringify(analysed))).not.toHaveProperty('hasFiles');
  });

  it('look at skills, executions, logs and health', async () => {
    const { execution_id } = await client.run('slow');
    expect(await client.getExecution(execution_id)).toMatchObject({ status: 'success', finished: true });
    expect(await client.getExecutionLogs(execution_id)).toContain('line 3');
    expect(await client.getSkill('slow')).toMatchObject({ version: '1.0.0', instructions: 'Counts.' });
    expect(await client.health()).toMatchObject({ host: expect.any(String) });
    expect(await client.ready()).toMatchObject({ status: 'ok' });
    const error = await client.getSkill('none').catch((thrown: unknown) => thrown as APIError);
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ statusCode: 404, errorCode: 'skill_not_found', hint: expect.stringContaining('skill list') });
    expect((error as APIError).requestId).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('executions', () => {
  it('are followed while they run, and gone on with after an event', async () => {
    const { execution_id, finished } = await client.executions.submit({ skill: 'slow' });
    expect(finished).toBe(false);
    const events = [];
    for await (const event of client.executions.stream(execution_id)) events.push(event);
    const text = events.filter(({ event }) => event === 'stdout').map(({ data }) => data.text);
    expect(text.join('')).toBe('line 1\nline 2\nline 3\n');
    expect(events.at(-1)).toMatchObject({ event: 'status', data: { text: 'success' } });
    const rest = [];
    for await (const event of client.executions.stream(execution_id, { lastEventId: events[1]?.id })) rest.push(event.id);
    expect(rest).toEqual(events.slice(2).map(({ id }) => id));
  });

  it('are cancelled, and waited for', async () => {
    const { execution_id } = await client.executions.submit({ skill: 'slow', env: { FOREVER: '1' } });
    for await (const { data } of client.executions.stream(execution_id)) if (data.text.includes('line 3')) break;
    const [waited, cancelled] = await Promise.all([client.executions.wait(execution_id), client.executions.cancel(execution_id)]);
    expect(waited.status).toBe('cancelled');
    expect(cancelled.status).toBe('cancelled');
  });

  it('the same Idempotency-Key runs once', async () => {
    const options = { idempotencyKey: crypto.randomUUID() };
    const [one, two] = await Promise.all([client.run('slow', {}, options), client.run('slow', {}, options)]);
    expect(one.execution_id).toBe(two.execution_id);
  });

  it('artifacts go nowhere else, whatever their names and the folder say', async () => {
    const { execution_id, files_list } = await client.run('data-analysis', { data: [1, 2] });
    const target = join(folder, 'strict');
    for (const path of ['../out.txt', '/etc/x', 'a/../../x', 'a//b', 'C:x', 'a\\..\\b', '', '.']) {
      const named = [...files_list, { path, size: 1, sha256: '' }];
      await expect(client.downloadFiles({ execution_id, files_list: named }, target)).rejects.toMatchObject({ code: 'usage' });
    }
    expect(existsSync(target)).toBe(false);
    const [{ path, sha256 } = { path: '', sha256: '' }] = files_list;
    const outside = join(folder, 'outside');
    writeFileSync(outside, 'kept');
    await client.downloadFiles({ execution_id, files_list }, target);
    rmSync(join(target, path));
    symlinkSync(outside, join(target, path));
    await client.downloadFiles({ execution_id, files_list }, target);
    expect(readFileSync(outside, 'utf8')).toBe('kept');
    symlinkSync(folder, join(target, 'link'));
    await expect(client.downloadFiles({ execution_id, files_list: [{ path: 'link/x', size: 1, sha256 }] }, target)).rejects.toThrow(
      'a link',
    );
    const wrong = [{ path, size: 1, sha256: '0'.repeat(64) }];
    await expect(client.downloadFiles({ execution_id, files_list: wrong }, target)).rejects.toThrow('did not arrive');
  });
});

describe('sandboxes', () => {
  it('run programs with their output as it comes', async () => {
    const sandbox = await client.sandboxes.create({ labels: { for: 'sdk' } });
    expect(sandbox.record.state).toBe('ready');
    expect(await sandbox.exec('echo out; echo err >&2; exit 3')).toMatchObject({
      stdout: 'out\n',
      stderr: 'err\n',
      exit_code: 3,
      timed_out: false,
    });
    const pieces: string[] = [];
    const streamed = await sandbox.exec(['bash', '-c', 'echo one; sleep 0.05; echo two'], { onStdout: (text) => pieces.push(text) });
    expect(pieces).toEqual(['one\n', 'two\n']);
    expect(streamed).toMatchObject({ stdout: 'one\ntwo\n', exit_code: 0 });

    const cat = await sandbox.start('cat', { stdin: true });
    await cat.write('hello ');
    await cat.write(new TextEncoder().encode('wörld'));
    await cat.closeStdin();
    expect(await cat.wait()).toMatchObject({ stdout: 'hello wörld', exit_code: 0 });
    const sleeper = await sandbox.start('sleep 60');
    await sleeper.kill('SIGKILL');
    expect(await sleeper.wait()).toMatchObject({ exit_code: null, signal: 'SIGKILL' });
    const so_far = [];
    for await (const event of cat.output({ follow: false, encoding: 'base64' })) so_far.push(event.event);
    expect(so_far).toContain('stdout');
    expect((await sandbox.programs()).length).toBeGreaterThan(3);
    expect(await sandbox.program(cat.program).get()).toMatchObject({ ended: true, exit_code: 0 });
    await sandbox.destroy();
    expect(await sandbox.get()).toMatchObject({ state: 'destroyed' });
  });

  it('keep files', async () => {
    const sandbox = await client.sandboxes.create();
    await sandbox.files.write('notes/ä b.txt', 'first\n');
    await sandbox.files.write('notes/ä b.txt', new Blob(['second\n']).stream() as ReadableStream<Uint8Array>, { append: true });
    expect(await sandbox.files.readText('notes/ä b.txt')).toBe('first\nsecond\n');
    expect(new TextDecoder().decode(await sandbox.files.read('notes/ä b.txt', { offset: 6, limit: 3 }))).toBe('sec');
    expect((await sandbox.files.list('notes')).map(({ path }) => path)).toEqual(['/home/user/notes/ä b.txt']);
    const stop = new AbortController();
    const watched = (async () => {
      for await (const { data } of sandbox.files.watch('notes', {}, { signal: stop.signal })) return data.path;
    })();
    const made = setInterval(() => void sandbox.files.write(`notes/${Date.now()}`, 'x').catch(() => undefined), 100);
    expect(await watched).toBeTruthy();
    clearInterval(made);
    stop.abort();
    await expect(sandbox.files.stat('none')).rejects.toMatchObject({ status: 404 });
    await sandbox.destroy();
  });

  it('give terminals, which are returned to', async () => {
    const sandbox = await client.sandboxes.create();
    const shown: string[] = [];
    const decoder = new TextDecoder();
    const onData = (bytes: Uint8Array): void => void shown.push(decoder.decode(bytes));
    const terminal = await sandbox.pty({ cols: 100, rows: 30, onData });
    terminal.write('stty size; echo sum=$((40+2))\n');
    await expect.poll(() => shown.join(''), { timeout: 10_000 }).toContain('sum=42');
    expect(shown.join('')).toContain('30 100');
    terminal.resize(120, 40);
    terminal.write('stty size\n');
    await expect.poll(() => shown.join(''), { timeout: 10_000 }).toContain('40 120');
    terminal.close();
    await expect(terminal.exited).rejects.toThrow('left');
    const again = await sandbox.pty({ program: terminal.program, onData });
    again.write('exit 7\n');
    expect(await again.exited).toEqual({ code: 7, signal: null });
    await sandbox.destroy();
    await expect(sandbox.pty()).rejects.toMatchObject({ code: 'unreachable' });
  });
});

describe('skills as tools of a model', () => {
  const skill = (name: string, more: string, body = 'Read this.') =>
    `---\nname: ${name}\nversion: 1.0.0\ndescription: The skill ${name}.\n${more}\n---\n${body}\n`;

  it('have names that models take, each its own, and schemas of objects', async () => {
    const team = client.withTenant('tools');
    const echo = 'cp /sandbox/input.json "$SANDBOX_OUTPUT"\n';
    for (const name of ['a.b', 'a-b', `${'x'.repeat(70)}.1`])
      await team.skills.pushFiles({ 'SKILL.md': skill(name, 'lang: bash'), 'main.sh': echo });
    const list = 'lang: bash\ninput_schema: {type: array, items: {type: integer}}';
    await team.skills.pushFiles({ 'SKILL.md': skill('sum', list), 'main.sh': echo });
    await team.skills.pushFiles({ 'SKILL.md': skill('style', 'mode: cognitive', 'Be brief.') });
    await team.skills.pushFiles({ 'SKILL.md': skill('broken', 'lang: bash'), 'main.sh': 'echo it broke >&2\nexit 3\n' });

    const tools = await skillTools(team);
    expect(tools.map(({ name }) => name)).toEqual([
      'skillbox_a_b',
      expect.stringMatching(/^skillbox_a_b_[0-9a-f]{6}$/),
      'skillbox_broken',
      'skillbox_style',
      'skillbox_sum',
      `skillbox_${'x'.repeat(55)}`,
    ]);
    expect(openaiTools(tools).every(({ name, parameters }) => /^[\w-]{1,64}$/.test(name) && parameters.type === 'object')).toBe(true);
    expect(await callTool(tools, 'skillbox_sum', '{"input": [1, 2]}')).toMatchObject({ content: '[1,2]', failed: false });
    expect(await callTool(tools, 'skillbox_sum', '{"input": ["x"]}')).toMatchObject({
      content: expect.stringContaining('/0'),
      failed: true,
    });
    expect(await callTool(tools, 'skillbox_style', '')).toEqual({ content: 'Be brief.', failed: false });
    const failed = await callTool(tools, 'skillbox_broken', '{}');
    expect(failed).toMatchObject({
      content: expect.stringMatching(/^exit_nonzero: .*it broke/s),
      failed: true,
      execution: { exit_code: 3 },
    });
    expect(await callTool(tools, 'none', '{}')).toMatchObject({ failed: true });
    expect(await callTool(tools, 'skillbox_sum', '[1]')).toMatchObject({ failed: true });
  });
});
