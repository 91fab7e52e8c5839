/** Named secrets over the API and the command line: kept, changed, deleted, and never told again. */

import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page, Secret } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { startTestBox, type TestBox } from '../support/box.ts';
import { main } from './cli-process.ts';

const value = 'sk-live-0123456789abcdef';
const set = (box: TestBox, name: string, body: unknown, key?: string) =>
  box.json<Secret>(`/v1/secrets/${name}`, { method: 'PUT', body, ...(key && { key }) });

let box: TestBox;
beforeAll(async () => {
  box = await startTestBox();
});
afterAll(() => box.stop());

describe('over the API', () => {
  it('answers with the name and the times, never with the value', async () => {
    const key = await box.newKey('api', ['secrets:manage']);
    const made = await set(box, 'TOKEN', { value }, key);
    expect(made).toMatchObject({ status: 200, body: { name: 'TOKEN', updated_by: expect.stringMatching(/^agt:key_/) } });
    const listed = await box.json<Page<Secret>>('/v1/secrets', { key });
    expect(listed.body.items).toEqual([made.body]);
    expect(JSON.stringify([made.body, listed.body])).not.toContain(value);
    expect((await box.request('/v1/secrets/TOKEN', { method: 'DELETE', key })).status).toBe(204);
    expect((await box.json('/v1/secrets/TOKEN', { method: 'DELETE', key })).status).toBe(404);
  });

  it('needs its own scope, which keys do not have unless somebody gives it', async () => {
    const { body } = await box.json<{ key: string }>('/v1/keys', { body: { name: 'plain', tenant: 'api' } });
    expect(await set(box, 'TOKEN', { value }, body.key)).toMatchObject({ status: 403, body: { error: 'forbidden' } });
    expect((await box.json('/v1/secrets', { key: body.key })).status).toBe(403);
  });

  it.each([
    ['two lines', `${value}\r\nX-Other: 1`],
    ['a line feed at the end', `${value}\n`],
    ['blanks around it', ` ${value}`],
    ['nothing', ''],
    ['what no header can hold', `${value}\u{1F600}`],
    ['too much', value.repeat(1000)],
    ['no text', { value }],
  ])('refuses %s without telling it', async (_what, wrong) => {
    const refused = await set(box, 'TOKEN', { value: wrong });
    expect(refused).toMatchObject({ status: 400, body: { error: 'bad_request', message: expect.stringContaining('/value') } });
    expect(JSON.stringify(refused.body)).not.toContain('0123456789abcdef');
  });

  it.each(['a b', '1a', 'a.b', 'ä', 'x'.repeat(64), '__proto__', 'a%2Fb'])('refuses the name %s', async (name) => {
    expect((await set(box, name, { value })).status).toBe(400);
  });

  it('does not quote a body that is no JSON', async () => {
    for (const body of [`{"value": ${value}}`, value, `{"value": '${value}'}`, `{"value": "${value}`]) {
      const refused = await box.request('/v1/secrets/TOKEN', { method: 'PUT', body, headers: { 'Content-Type': 'application/json' } });
      expect(refused.status).toBe(400);
      expect(await refused.text()).not.toContain(value.slice(0, 6));
    }
  });

  it('leaves the value in no file of the state root, and in no event', async () => {
    const rare = `rare-${'z9y8'.repeat(8)}`;
    await set(box, 'RARE', { value: rare });
    await box.request('/v1/secrets/RARE', { method: 'DELETE' });
    await set(box, 'RARE', { value: rare });
    expect(await box.box.vault.reveal('default', 'RARE')).toBe(rare);
    const files = filesBelow(box.stateRoot);
    expect(files.some((file) => file.endsWith('.sqlite'))).toBe(true);
    expect(files.filter((file) => readFileSync(file).includes(rare))).toEqual([]);
    const { body } = await box.json<{ items: unknown[] }>('/v1/events?type=audit.secret.&limit=500');
    expect(body.items.length).toBeGreaterThanOrEqual(3);
    expect(JSON.stringify(body)).not.toContain(rare);
  });
});

describe('on the command line', () => {
  const env = () => ({ SKILLBOX_SERVER_URL: box.url, SKILLBOX_API_KEY: box.key });

  it('takes the value from stdin without the end of line, shows names only, and deletes', async () => {
    const made = await main(['secret', 'set', 'CLI', '-t', 'shell'], env(), `${value}\n`);
    expect(made).toMatchObject({ exit: 0, stdout: expect.stringContaining('Kept CLI'), stderr: '' });
    expect(await box.box.vault.reveal('shell', 'CLI')).toBe(value);
    const changed = await main(['secret', 'set', 'CLI', '-t', 'shell', '--json'], env(), 'other');
    expect(JSON.parse(changed.stdout)).toMatchObject({ name: 'CLI' });
    expect(await box.box.vault.reveal('shell', 'CLI')).toBe('other');
    const listed = await main(['secret', 'list', '-t', 'shell'], env());
    expect(listed.stdout).toMatch(/CLI\s+.*\s+adm:key_/);
    expect((await main(['secret', 'delete', 'CLI', '-t', 'shell'], env())).stdout).toContain('Deleted CLI');
    expect(await box.box.vault.has('shell', 'CLI')).toBe(false);
    expect([made, changed, listed].map(({ stdout, stderr }) => stdout + stderr).join()).not.toContain(value);
  });

  it('takes no value as an argument, and none that is empty or too long', async () => {
    expect(await main(['secret', 'set', 'CLI', value], env())).toMatchObject({ exit: 2, stdout: '' });
    expect(await main(['secret', 'set', 'CLI', '--value', value], env())).toMatchObject({ exit: 2, stdout: '' });
    expect(await main(['secret', 'set', 'CLI'], env(), '\n')).toMatchObject({ exit: 2 });
    expect(await main(['secret', 'set', 'CLI'], env(), 'x'.repeat(100_000))).toMatchObject({ exit: 2 });
    expect(await box.box.vault.has('default', 'CLI')).toBe(false);
  });

  it('asks on a terminal, and what is typed does not show', async () => {
    const screen = await onTerminal(['secret', 'set', 'TYPED'], env(), `${value}x\x7f\r`);
    expect(screen).toContain('Value of TYPED (not shown):');
    expect(screen).toContain('Kept TYPED');
    expect(screen).not.toContain(value.slice(0, 6));
    expect(await box.box.vault.reveal('default', 'TYPED')).toBe(value);
    expect(await onTerminal(['secret', 'set', 'NONE'], env(), 'abc\x03')).toContain('No value was given');
    expect(await box.box.vault.has('default', 'NONE')).toBe(false);
  });
});

describe('docs/secrets.md', () => {
  it('has an example that works: the secret, the template, the sandbox', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/secrets.md'), 'utf8');
    const [, yaml = ''] = /```yaml\n(# github\.yaml\n.*?)```/s.exec(page) ?? [];
    const [, lines = ''] = /```sh\n(.*?)```/s.exec(page) ?? [];
    const folder = mkdtempSync(join(tmpdir(), 'skillbox-docs-'));
    try {
      writeFileSync(join(folder, 'github.yaml'), yaml);
      const env = { SKILLBOX_SERVER_URL: box.url, SKILLBOX_API_KEY: box.key };
      const commands = lines.trim().split('\n');
      expect(commands).toHaveLength(3);
      const early = await box.json('/v1/templates/github', { method: 'PUT', body: withoutName(parse(yaml)) });
      expect(early.status).toBe(200);
      const refused = await main(['sandbox', 'create', 'github'], env);
      expect(refused).toMatchObject({ exit: 2, stderr: expect.stringContaining('GITHUB_TOKEN') });
      for (const line of commands) {
        const words = (line.split('skillbox ')[1] ?? '').split(' ').map((word) => word.replace('github.yaml', join(folder, 'github.yaml')));
        expect(await main(words, env, 'ghp_example\n'), line).toMatchObject({ exit: 0 });
      }
      expect((await box.json<Page<{ template: string }>>('/v1/sandboxes')).body.items).toMatchObject([
        { template: 'github@2', network: 'allow' },
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

const withoutName = ({ name: _name, ...definition }: Record<string, unknown>) => definition;

/** Everything that a terminal shows while the text is typed after the first prompt. */
function onTerminal(words: readonly string[], env: Record<string, string>, typed: string): Promise<string> {
  const root = join(import.meta.dirname, '../..');
  const argv = [process.execPath, join(root, 'scripts/run-ts.mjs'), join(root, 'packages/box/src/cli/main.ts'), ...words];
  const program = `
import json, os, pty, sys
argv, typed = json.loads(sys.argv[1])
pid, fd = pty.fork()
if pid == 0: os.execv(argv[0], argv)
screen, sent = b"", False
while True:
  try: chunk = os.read(fd, 4096)
  except OSError: break
  if not chunk: break
  screen += chunk
  if not sent and b"): " in screen:
    os.write(fd, typed.encode()); sent = True
os.waitpid(pid, 0)
sys.stdout.buffer.write(screen)`;
  const child = spawn('python3', ['-c', program, JSON.stringify([argv, typed])], {
    env: { PATH: process.env.PATH, TERM: 'xterm', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let screen = '';
  child.stdout.on('data', (bytes) => {
    screen += bytes;
  });
  return new Promise((resolve) => child.on('close', () => resolve(screen)));
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile());
}
