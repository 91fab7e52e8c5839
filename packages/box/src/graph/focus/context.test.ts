import { lstatSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../config.ts';
import { loadGraph } from '../load.ts';
import type { Runtime } from '../runtime.ts';
import { context, putContext, writeContext } from './context.ts';
import { type Live, writeFocus } from './record.ts';

let folder: string;
let state: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-context-'));
  state = join(folder, 'state');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const put = (path: string, text: string): void => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
};

function runtimeOf(env: Record<string, string> = {}): Runtime {
  const config = loadConfig({ cwd: folder, env: { SKILLBOX_STATE_ROOT: state, ...env } });
  return { config, server: false, signal: new AbortController().signal, progress: () => undefined };
}

const claude = () => join(state, 'home/.claude/CLAUDE.md');
const agents = () => join(state, 'home/.codex/AGENTS.md');

function box(): Runtime {
  put(
    'skillbox.yaml',
    `version: 1
name: test-box
graph:
  connectors: [github, slack]
  repos:
    - { id: shared, path: "\${SKILLBOX_MONOSERVER_ROOT}/shared" }
  services:
    - { id: db, kind: database, command: exec db, healthcheck: { type: port, port: 5432 } }
  logs:
    - { id: box-logs, path: "\${SKILLBOX_LOG_ROOT}/box" }
`,
  );
  put(
    'state/clients/acme/overlay.yaml',
    `version: 1
client:
  id: acme
  label: Acme Studio
  default_cwd: "\${SKILLBOX_REPOS_ROOT}/app"
  connectors: [github]
  context: { ticket_system: tracker.example }
  repos:
    - { id: app, path: "\${SKILLBOX_REPOS_ROOT}/app", source: { url: "https://example.com/app.git" }, notes: The product }
  tasks:
    - { id: migrate, command: ./migrate, success: { type: path_exists, path: /workspace/done } }
  services:
    - { id: web, command: exec web, depends_on: [db], bootstrap_tasks: [migrate], healthcheck: { type: http, url: "http://127.0.0.1:5173/health?x=1" } }
    - { id: extra, command: exec extra, profiles: [surfaces] }
  checks:
    - { id: there, path: /workspace/repos/app/README.md }
`,
  );
  return runtimeOf();
}

const live = (more: Partial<Live> = {}): Live => ({
  collected_at: '2026-01-02T03:04:05.000Z',
  attention: [
    { severity: 'error', subject: 'service:web', message: 'its process is gone', fix: 'skillbox logs --client acme --service web' },
  ],
  services: [],
  repos: [{ id: 'app', path: '/workspace/repos/app', branch: 'main', dirty: 2, last_commit: 'abc1234 Fix | pipes' }],
  errors: [{ log: 'service web', line: 'Error: `rm -rf` is not an instruction' }],
  activity: [{ time: '2026-01-02T03:04:00.000Z', type: 'service.crashed', subject: 'service:web', data: { pid: 7 } }],
  sessions: ['20260102-030405-0a1b2c'],
  ...more,
});

describe('what agents read', () => {
  it('names the client, its folder, and for each thing the exact command', async () => {
    const report = await context(box(), { client: 'acme', profiles: ['surfaces'] }, { dryRun: false });
    const text = readFileSync(claude(), 'utf8');
    expect(report).toEqual({
      client: 'acme',
      files: [
        { path: claude(), changed: true },
        { path: agents(), changed: true },
      ],
      bytes: Buffer.byteLength(text),
    });
    for (const part of [
      '# Client acme: Acme Studio\n',
      '- work in: `/workspace/repos/app`',
      '- box: `test-box`',
      '- profiles: `core`, `surfaces`',
      '- ticket_system: tracker.example',
      '- `app` at `/workspace/repos/app` (git). The product',
      '- `shared` at `/monoserver/shared`',
      '- `web` (service), after `db`, answers at `http://127.0.0.1:5173/health`',
      'start `skillbox up --client acme --profile surfaces --service web`',
      'stop `skillbox down --client acme --profile surfaces --service web`',
      'read `skillbox logs --client acme --profile surfaces --service web`',
      '`extra`',
      '- `migrate`: `skillbox bootstrap --client acme --profile surfaces --task migrate`',
      '- `box-logs` at `/workspace/logs/box`',
      '- `there` (path_exists)',
      '## Connectors\n\n`github`.',
      '`skillbox focus acme`',
      '`skillbox doctor --client acme --profile surfaces`',
    ])
      expect(text).toContain(part);
    expect(text).not.toContain('slack');
    expect(text).not.toContain('undefined');
    expect(text).not.toMatch(/\d{4}-\d\d-\d\dT/);
    expect(text.length).toBeLessThan(6000);
  });

  it('is one file for both agents, by a link that leads there from both sides', async () => {
    await context(box(), { client: 'acme', profiles: [] }, { dryRun: false });
    expect(lstatSync(agents()).isSymbolicLink()).toBe(true);
    expect(readlinkSync(agents())).toBe('../.claude/CLAUDE.md');
    expect(readFileSync(agents(), 'utf8')).toBe(readFileSync(claude(), 'utf8'));
  });

  it('is the same for the same graph, and then not written again', async () => {
    const runtime = box();
    await context(runtime, { client: 'acme', profiles: [] }, { dryRun: false });
    const [text, { mtimeMs, ino }, link] = [readFileSync(claude(), 'utf8'), statSync(claude()), lstatSync(agents()).ino];
    await new Promise((wake) => setTimeout(wake, 20));
    const again = await context(runtime, { client: 'acme', profiles: [] }, { dryRun: false });
    expect(again.files.map(({ changed }) => changed)).toEqual([false, false]);
    expect([readFileSync(claude(), 'utf8'), statSync(claude()).mtimeMs, statSync(claude()).ino]).toEqual([text, mtimeMs, ino]);
    expect(lstatSync(agents()).ino).toBe(link);
  });

  it('is not written by a dry run, which says what would change', async () => {
    const report = await context(box(), { client: 'acme', profiles: [] }, { dryRun: true });
    expect(report.files.map(({ changed }) => changed)).toEqual([true, true]);
    expect(statSync(join(state, 'home'), { throwIfNoEntry: false })).toBeUndefined();
  });

  it('stays short, however much is declared', async () => {
    const items = Array.from({ length: 500 }, (_, at) => `    - { id: s${at}, command: exec s${at}, notes: "${'n'.repeat(500)}" }`).join(
      '\n',
    );
    const repos = Array.from({ length: 500 }, (_, at) => `    - { id: r${at}, path: "/workspace/repos/r${at}" }`).join('\n');
    put('skillbox.yaml', `version: 1\ngraph:\n  services:\n${items}\n  repos:\n${repos}\n`);
    await context(runtimeOf(), { profiles: [] }, { dryRun: false });
    const text = readFileSync(claude(), 'utf8');
    expect(text).toMatch(/- and 48\d more: `skillbox status`/);
    expect(text).toContain('- and 470 more: `skillbox status`');
    expect(text.length).toBeLessThan(20_000);
  });
});

describe('the live part', () => {
  it('stands first, with what needs attention before all', () => {
    const runtime = box();
    const graph = loadGraph(runtime.config, { client: 'acme', profiles: [] });
    putContext(runtime, graph, live(), { dryRun: false });
    const text = readFileSync(claude(), 'utf8');
    const titles = [...text.matchAll(/^## (.*)$/gm)].map(([, title]) => title);
    expect(titles.slice(0, 5)).toEqual(['Attention', 'Live Status', 'Repo State', 'Recent Activity', 'Environment']);
    expect(text).toContain('- **error** service:web: its process is gone → `skillbox logs --client acme --service web`');
    expect(text).toContain("- service web: `Error: 'rm -rf' is not an instruction`");
    expect(text).toContain('| app | main | 2 | abc1234 Fix \\| pipes |');
    expect(text).toContain('- open session `20260102-030405-0a1b2c`');
    expect(text).toContain('- 2026-01-02T03:04:00 service.crashed service:web {"pid":7}');
  });

  it('says so when nothing needs attention', () => {
    const runtime = box();
    putContext(runtime, loadGraph(runtime.config, { client: 'acme', profiles: [] }), live({ attention: [], errors: [] }), {
      dryRun: false,
    });
    expect(readFileSync(claude(), 'utf8')).toContain('## Attention\n\nNothing needs attention.\n');
  });

  const focused = (runtime: Runtime, profiles: string[] = []): void =>
    writeFocus(runtime.config.stateRoot, {
      ...{ version: 1, client: 'acme', profiles, services: [], mode: 'reuse', focused_at: '2026-01-02T03:04:05.000Z', ok: true },
      ...{ config_hash: 'x', live: live() },
    });

  it('is kept by a sync of what is focused', async () => {
    const runtime = box();
    mkdirSync(state, { recursive: true });
    focused(runtime);
    await writeContext(runtime, loadGraph(runtime.config, { client: 'acme', profiles: [] }), { dryRun: false });
    expect(readFileSync(claude(), 'utf8')).toContain('its process is gone');
  });

  it('and a sync of something else leaves what agents were told', async () => {
    const runtime = box();
    mkdirSync(state, { recursive: true });
    focused(runtime);
    const graph = (selection: Parameters<typeof loadGraph>[1]) => loadGraph(runtime.config, selection);
    await writeContext(runtime, graph({ client: 'acme', profiles: [] }), { dryRun: false });
    const text = readFileSync(claude(), 'utf8');
    for (const other of [{ client: 'acme', profiles: ['surfaces'] }])
      expect((await writeContext(runtime, graph(other), { dryRun: false })).files.every(({ changed }) => !changed)).toBe(true);
    put('state/clients/other/overlay.yaml', 'version: 1\nclient: { id: other }\n');
    await writeContext(runtime, graph({ client: 'other', profiles: [] }), { dryRun: false });
    expect(readFileSync(claude(), 'utf8')).toBe(text);
  });
});

describe('what must not get there', () => {
  it('no secret, wherever somebody wrote one', () => {
    const secret = 'Zx81-q9Kd-secret-Value-77';
    const token = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789';
    put('from.env', `PLAIN=${secret}\nTOKEN=${secret}x\n`);
    put(
      'skillbox.yaml',
      `version: 1
graph:
  env_files:
    - { id: app-env, path: "\${SKILLBOX_STATE_ROOT}/app.env", source: { path: from.env }, notes: "password=${secret}" }
  repos:
    - { id: app, path: /workspace/repos/app, source: { url: "https://user:${secret}@example.com/app.git" }, notes: "clone with ${token}" }
  tasks:
    - { id: t, command: "TOKEN=${secret} ./t", env: { API_TOKEN: "${secret}", OTHER: "${token}" }, notes: "uses ${secret}" }
  services:
    - { id: s, kind: "kind ${token}", command: "exec s --token ${secret}", env: { DB_PASSWORD: "${secret}" }, healthcheck: { type: http, url: "http://u:${secret}@127.0.0.1:9/x?token=${secret}" } }
`,
    );
    put(
      'state/clients/acme/overlay.yaml',
      `version: 1
client:
  id: acme
  label: "Acme ${token}"
  context: { api_key: "${secret}", nested: { password: "${secret}", fine: yes }, hint: "bearer ${secret}" }
`,
    );
    writeFileSync(join(state, 'app.env'), `PLAIN=${secret}\n`);
    const runtime = runtimeOf();
    const graph = loadGraph(runtime.config, { client: 'acme', profiles: [] });
    const everywhere = live({
      attention: [{ severity: 'error', subject: `service:${token}`, message: `ended: ${secret}`, fix: `run --token ${secret}` }],
      repos: [{ id: 'app', path: '/x', branch: `b-${secret}`, dirty: 0, last_commit: `abc add ${token}` }],
      errors: [{ log: 'service s', line: `error: cannot log in with ${secret}` }],
      activity: [{ time: '2026-01-02T03:04:00.000Z', type: 'x', subject: `y:${secret}`, data: { secret, nested: [token] } }],
    });
    putContext(runtime, graph, everywhere, { dryRun: false });
    const text = readFileSync(claude(), 'utf8');
    expect(text).not.toContain(secret);
    expect(text).not.toContain('q9Kd');
    expect(text).not.toContain('abcdefghijklmnop');
    expect(text).toContain('***');
    expect(text).toContain('"fine":"yes"');
  });

  it('nothing from inside leads it elsewhere', async () => {
    const runtime = box();
    const outside = join(folder, 'outside');
    mkdirSync(outside);
    mkdirSync(join(state, 'home'), { recursive: true });
    symlinkSync(outside, join(state, 'home/.claude'));
    await expect(context(runtime, { client: 'acme', profiles: [] }, { dryRun: false })).rejects.toMatchObject({ code: 'sync_failed' });
    expect(statSync(join(outside, 'CLAUDE.md'), { throwIfNoEntry: false })).toBeUndefined();
    rmSync(join(state, 'home/.claude'));
    symlinkSync(outside, join(state, 'home/.codex'));
    await expect(context(runtime, { client: 'acme', profiles: [] }, { dryRun: false })).rejects.toMatchObject({ code: 'sync_failed' });
    expect(lstatSync(join(outside, 'AGENTS.md'), { throwIfNoEntry: false })).toBeUndefined();
    rmSync(join(state, 'home/.codex'));
    // A link or another file in the place of the files themselves is replaced, not followed.
    const target = join(outside, 'target');
    writeFileSync(target, 'mine');
    rmSync(claude(), { force: true });
    symlinkSync(target, claude());
    mkdirSync(dirname(agents()));
    writeFileSync(agents(), 'something else');
    await context(runtime, { client: 'acme', profiles: [] }, { dryRun: false });
    expect(readFileSync(target, 'utf8')).toBe('mine');
    expect(lstatSync(claude()).isFile()).toBe(true);
    expect(readlinkSync(agents())).toBe('../.claude/CLAUDE.md');
  });
});
