/** `skillbox` as agents in the workspace use it: the built program, a real box, and nothing set by hand. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DownReport, Page, RuntimeStatus, Sandbox, UpReport, WorkSession } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';

const manifest = `version: 1
graph:
  services:
    - { id: outside, command: 'echo from outside; while sleep 0.2; do echo line; done' }
    - { id: within, cwd: /workspace, command: 'echo from within; exec sleep 600' }
    - { id: asks, cwd: /workspace, command: 'skillbox status --json > /workspace/asked; exec sleep 600' }
  tasks:
    - { id: made, cwd: /workspace, command: 'skillbox describe --json > /workspace/described', outputs: [/workspace/described] }
`;
const overlay = 'version: 1\nclient:\n  id: acme\n  label: Acme\n';

interface Ran {
  readonly exit_code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

let folder: string;
let box: TestBox;
let sandbox: string;

const env = (): Record<string, string> => ({
  SKILLBOX_STATE_ROOT: join(folder, 'state'),
  SKILLBOX_MANIFEST: join(folder, 'skillbox.yaml'),
});
const inside = async (cmd: string, more: Record<string, unknown> = {}): Promise<Ran> => {
  const { status, body } = await box.json<Ran>(`/v1/sandboxes/${sandbox}/programs`, { body: { cmd, ...more } });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body;
};
/** What it answered, whatever its exit code. */
const asked = async <T>(words: string): Promise<{ exit: number | null; value: T }> => {
  const { exit_code: exit, stdout, stderr } = await inside(`skillbox ${words} --json`);
  if (stdout === '') throw new Error(stderr);
  return { exit, value: JSON.parse(stdout) as T };
};
const stateOf = (status: RuntimeStatus, id: string) => status.services.find((service) => service.id === id)?.state;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-inside-'));
  writeFileSync(join(folder, 'skillbox.yaml'), manifest);
  mkdirSync(join(folder, 'state', 'clients', 'acme'), { recursive: true });
  writeFileSync(join(folder, 'state', 'clients', 'acme', 'overlay.yaml'), overlay);
  box = await startTestBox(env());
  sandbox = (await box.json<Sandbox>('/v1/sandboxes', { body: { template: 'workspace', labels } })).body.id;
}, 120_000);
afterAll(async () => {
  await box?.json('/v1/runtime/down', { body: {} });
  await box?.json('/v1/runtime/pulse/stop', { body: {} });
  const { items = [] } = (await box?.json<{ items: { id: string }[] }>('/v1/sandboxes'))?.body ?? {};
  for (const { id } of items) await box.json(`/v1/sandboxes/${id}`, { method: 'DELETE' });
  await box?.stop();
  rmSync(folder, { recursive: true, force: true });
});
/** As the graph makes it. Its definition is left out: what runs in it is in use, also for who wants other settings. */
const labels = { 'skillbox.graph': 'workspace', 'skillbox.client': '' };

describe('skillbox inside the workspace', { timeout: 120_000 }, () => {
  it('is there without any setting, and tells the state of the box with a true exit code', async () => {
    expect((await inside('command -v skillbox')).stdout).toBe('/opt/skillbox/bin/skillbox\n');
    const { exit, value } = await asked<RuntimeStatus>('status');
    expect([stateOf(value, 'outside'), stateOf(value, 'api'), value.healthy]).toEqual(['declared', 'running', exit === 0]);
    expect((await inside('env -i /opt/skillbox/bin/skillbox describe')).exit_code).toBe(0);
    expect(await inside('skillbox status --client nobody')).toMatchObject({ exit_code: 1, stdout: '' });
    expect((await inside('skillbox version')).stdout).toMatch(/^skillbox \d/);
  });

  it('starts and stops what is declared, on the host and beside itself, and reads its logs', async () => {
    const up = await asked<UpReport>('up --service outside,within');
    expect(up.value.services.map(({ id, result }) => [id, result])).toEqual([
      ['api', 'already-running'],
      ['outside', 'started'],
      ['within', 'started'],
    ]);
    expect(up.exit).toBe(0);
    expect((await inside('skillbox logs --service outside')).stdout).toContain('from outside');
    expect((await inside('skillbox logs --service within')).stdout).toContain('from within');
    const followed = await inside('timeout 60 sh -c "skillbox logs --service outside --lines 1 --follow | head -n 4"');
    expect([followed.exit_code, followed.stdout.trim().split('\n')]).toEqual([0, ['line', 'line', 'line', 'line']]);
    const { body } = await box.json<Page<Sandbox>>('/v1/sandboxes');
    expect(body.items.map(({ id }) => id)).toEqual([sandbox]);
    const down = await asked<DownReport>('down --service within');
    expect([down.exit, down.value.services.map(({ id, result }) => [id, result])]).toEqual([0, [['within', 'stopped']]]);
  });

  it('works in services and tasks that run there', async () => {
    expect((await asked<UpReport>('up --service asks')).exit).toBe(0);
    expect(await asked('bootstrap --task made')).toMatchObject({ exit: 0 });
    const read = (name: string) => JSON.parse(readFileSync(join(folder, 'state', 'workspace', name), 'utf8'));
    expect(stateOf(read('asked') as RuntimeStatus, 'outside')).toBe('running');
    expect(read('described')).toHaveProperty('clients');
  });

  it('keeps work notes and focuses, and the box knows who did', async () => {
    const { value } = await asked<WorkSession>(`session start acme --label 'from inside'`);
    expect(await asked(`session event ${value.session_id} 'a note'`)).toMatchObject({ exit: 0, value: { session_id: value.session_id } });
    expect(await asked(`session end ${value.session_id}`)).toMatchObject({ exit: 0, value: { state: 'completed' } });
    expect(await asked(`session event ${value.session_id} late`)).toMatchObject({ exit: 1, value: { error: 'session_state_conflict' } });
    expect(await asked('context --client acme')).toMatchObject({ exit: 0 });
    expect(await asked('focus acme')).toMatchObject({ exit: 0, value: { ok: true } });
    expect(await asked('focus --resume')).toMatchObject({ exit: 0, value: { ok: true } });
    expect((await asked<{ running: boolean }>('pulse status')).value.running).toBe(true);
    const { body } = await box.json<Page<{ type: string; tenant: string; actor: { kind: string; id: string } }>>('/v1/events?limit=200');
    const acts = body.items.filter(({ type }) => type === 'audit.session.start' || type === 'audit.focus');
    expect(acts.map(({ actor, tenant }) => [actor.kind, actor.id, tenant])).toEqual(
      acts.map(() => ['agt', `workspace:${sandbox}`, 'default']),
    );
    expect(acts).toHaveLength(3);
  });

  it('stops everything but the box, pulse and the ground it stands on', async () => {
    const { exit, value } = await asked<DownReport>('down');
    expect(exit).toBe(0);
    expect(value.services.filter(({ result }) => result === 'external').map(({ id }) => id)).toEqual(['api']);
    expect((await asked<{ running: boolean }>('pulse status')).value.running).toBe(true);
    const { value: status } = await asked<RuntimeStatus>('status');
    expect([stateOf(status, 'outside'), stateOf(status, 'within'), stateOf(status, 'api')]).toEqual(['declared', 'declared', 'running']);
  });

  it('says what is not for the inside, and makes no box of its own', async () => {
    for (const words of ['skill list', 'key list', 'serve', 'pulse stop', 'pulse run', 'config show', 'sandbox list', 'shell'])
      expect(await inside(`cd /tmp && skillbox ${words}`), words).toMatchObject({
        stdout: '',
        stderr: expect.stringContaining('workspace'),
      });
    expect((await inside('cd /tmp && skillbox key list')).exit_code).toBe(3);
    // A manifest that lies there is somebody's work.
    await inside('printf "version: 1\\ngraph: 7\\n" > /workspace/skillbox.yaml; echo SKILLBOX_API_PORT=x > /workspace/.env');
    expect((await inside('cd /workspace && skillbox describe')).exit_code).toBe(0);
    await inside('rm /workspace/skillbox.yaml /workspace/.env');
    expect((await inside('find / -xdev -name .skillbox-state 2>/dev/null')).stdout).toBe('');
  });

  it('is an MCP server for agents there, which one line puts into their settings', async () => {
    const lines = [
      { id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } } },
      { method: 'notifications/initialized' },
      { id: 2, method: 'tools/list', params: {} },
      { id: 3, method: 'tools/call', params: { name: 'skillbox_status', arguments: {} } },
      { id: 4, method: 'tools/call', params: { name: 'skillbox_key_list', arguments: {} } },
    ].map((message) => JSON.stringify({ jsonrpc: '2.0', ...message }));
    const { stdout } = await inside(`printf '%s\\n' ${lines.map((line) => `'${line}'`).join(' ')} | skillbox mcp`);
    const answers = new Map(
      stdout
        .trim()
        .split('\n')
        .map((line) => [JSON.parse(line).id, JSON.parse(line)]),
    );
    const names = (answers.get(2).result.tools as { name: string }[]).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['skillbox_status', 'skillbox_up', 'skillbox_session_event', 'skillbox_pulse']));
    expect(names.filter((name) => /key|sandbox_|skill_|secret|tenant|execution|pulse_|event_list|health/.test(name))).toEqual([]);
    expect(answers.get(3).result.structuredContent).toHaveProperty('services');
    expect(answers.get(4).error.message).toContain('no tool');

    expect((await inside('skillbox mcp install claude && skillbox mcp install codex')).exit_code).toBe(0);
    const claude = JSON.parse(readFileSync(join(folder, 'state/home/.claude.json'), 'utf8'));
    expect(claude.mcpServers.skillbox).toEqual({ type: 'stdio', command: '/opt/skillbox/bin/skillbox', args: ['mcp'] });
    expect(readFileSync(join(folder, 'state/home/.codex/config.toml'), 'utf8')).toContain('command = "/opt/skillbox/bin/skillbox"');
  });
});
