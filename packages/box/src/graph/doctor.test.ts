import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { errorKinds, type GraphCheck } from '@skillbox/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../config.ts';
import { identify } from '../process/identity.ts';
import { doctor } from './doctor.ts';
import type { Runtime } from './runtime.ts';
import { sync } from './sync/sync.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'doctor-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function put(file: string, text: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
}

function boxRuntime(): Runtime {
  const config = loadConfig({ cwd: folder, env: { PATH: process.env.PATH, SKILLBOX_API_PORT: '0' } });
  return { config, server: false, signal: new AbortController().signal, progress: () => undefined };
}

async function examined(graph: string, client?: string): Promise<{ healthy: boolean; of(name: string): GraphCheck[] }> {
  put('skillbox.yaml', `version: 1\n${graph}`);
  const { healthy, checks } = await doctor(boxRuntime(), { client, profiles: [] });
  return { healthy, of: (name) => checks.filter((check) => check.name === name) };
}

describe('doctor', () => {
  it('looks at the machine and at a graph that is as declared', async () => {
    put('here.txt', '');
    const { of } = await examined('graph:\n  checks: [{id: here, path: here.txt}]\n');
    expect(of('node')).toMatchObject([{ state: 'ok' }]);
    expect(of('state root')).toHaveLength(1);
    expect(of('graph')).toEqual([{ name: 'graph', code: null, state: 'ok', detail: '2 items for core', fix: null }]);
    expect(of('checks')).toMatchObject([{ state: 'ok', detail: '1 as declared' }]);
    expect(of('pulse')).toMatchObject([{ state: 'ok' }]);
  });

  it('names each finding with its line and fix, and is not healthy', async () => {
    const { healthy, of } = await examined('graph:\n  services:\n    - {id: web, command: x, depends_on: [db]}\n');
    expect(of('graph')).toEqual([
      {
        name: 'graph',
        code: 'graph_invalid',
        state: 'fail',
        detail: `${join(folder, 'skillbox.yaml')}:4 graph.unknown_reference web names db, which is not declared under services`,
        fix: expect.any(String),
      },
    ]);
    expect(healthy).toBe(false);
  });

  it('a client that is not there, and one whose overlay nobody could select', async () => {
    put('.skillbox-state/clients/acme/overlay.yaml', 'version: 1\nclient: {id: acme, connectors: [slack]}\n');
    expect((await examined('graph: {}\n', 'nobody')).of('graph')).toMatchObject([{ code: 'client_not_found', state: 'fail' }]);
    expect((await examined('graph: {}\n')).of('client acme')).toMatchObject([
      { code: 'graph_invalid', state: 'warn', detail: expect.stringContaining('graph.connector_unknown') },
    ]);
  });

  it('what is required fails, the rest is a remark; env files say where their source is wanted', async () => {
    const { healthy, of } = await examined(`graph:
  repos: [{id: app, path: app, required: true}, {id: wish, path: wish}]
  artifacts: [{id: tool, path: bin/tool}]
  env_files: [{id: env, path: out/.env, required: true, source: {path: secrets/app.env}}]
  tasks: [{id: build, command: make, outputs: [out/built]}]
  checks: [{id: must, path: absent, required: true}, {id: may, path: absent-too}]
  logs: [{id: log, path: logs}]
`);
    expect(healthy).toBe(false);
    expect(of('repos')).toMatchObject([
      { state: 'fail', fix: 'skillbox sync', detail: `app is not at ${join(folder, 'app')}` },
      { state: 'warn' },
    ]);
    expect(of('artifacts')).toMatchObject([{ state: 'warn' }]);
    expect(of('env files')).toMatchObject([
      { state: 'fail', code: 'LOCAL_RUNTIME_START_BLOCKED', fix: expect.stringContaining(join(folder, 'secrets/app.env')) },
    ]);
    expect(of('tasks')).toMatchObject([{ state: 'warn', fix: 'skillbox bootstrap --task build' }]);
    expect(of('checks')).toMatchObject([{ state: 'fail' }, { state: 'warn' }]);
    expect(of('logs')).toMatchObject([{ state: 'warn' }]);
  });

  it('a missing command and a port of somebody else', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    put('run.sh', '#!/bin/sh\n');
    chmodSync(join(folder, 'run.sh'), 0o755);
    const { of } = await examined(`graph:
  services:
    - {id: lost, command: no-such-program --serve, required: true}
    - {id: late, command: ./run.sh, ports: [${port}]}
    - {id: fine, command: ./run.sh}
`);
    taken.close();
    expect(of('services')).toMatchObject([
      { state: 'fail', code: 'command_missing', detail: expect.stringContaining('no-such-program') },
      { state: 'warn', code: 'port_in_use', detail: expect.stringContaining(`Port ${port}`) },
    ]);
  });

  it('where the ledger and the services disagree there is a coverage gap', async () => {
    const { healthy, of } = await examined(`graph:
  services: [{id: web, command: sh, profiles: [core]}]
  parity_ledger:
    - {legacy_surface: web, ownership_state: deferred}
    - {legacy_surface: mail, ownership_state: covered}
`);
    expect(healthy).toBe(false);
    expect(of('parity ledger')).toMatchObject([
      { code: 'LOCAL_RUNTIME_COVERAGE_GAP', state: 'fail', detail: expect.stringContaining('mail') },
      { code: 'LOCAL_RUNTIME_COVERAGE_GAP', state: 'fail', detail: expect.stringContaining('web') },
    ]);
  });

  it('a focus that no longer fits what is declared', async () => {
    put('.skillbox-state/clients/acme/overlay.yaml', 'version: 1\nclient: {id: acme}\n');
    const record = {
      version: 1,
      client: 'acme',
      profiles: [],
      services: [],
      mode: 'reuse',
      focused_at: '2026-01-02T03:04:05Z',
      ok: true,
      config_hash: 'old',
    };
    put('.skillbox-state/.focus.json', JSON.stringify(record));
    expect((await examined('graph: {}\n')).of('focus')).toMatchObject([{ state: 'warn', fix: 'skillbox focus acme' }]);
    put('.skillbox-state/.focus.json', JSON.stringify({ ...record, client: 'gone' }));
    expect((await examined('graph: {}\n')).of('focus')).toMatchObject([
      { state: 'warn', detail: 'gone was focused and cannot be any more' },
    ]);
  });

  it('skills that are not installed have their codes', async () => {
    put('skills/one/SKILL.md', '---\nname: one\ndescription: One.\n---\nDo it.\n');
    put('skill-repos.yaml', 'version: 2\nskill_repos:\n  - path: ./skills\n    pick: [one]\n');
    const { of } = await examined('graph:\n  skills: [{id: mine, required: true}]\n');
    expect(of('skills mine')).toMatchObject([{ code: 'SKILL_NOT_INSTALLED', state: 'fail', fix: 'Run skillbox sync.' }]);
    put('skill-repos.yaml', 'version: 2\nskill_repos: 7\n');
    expect((await examined('graph:\n  skills: [{id: mine}]\n')).of('skills mine')).toMatchObject([
      { code: 'SKILL_CONFIG_INVALID', state: 'fail' },
    ]);
  });

  it('a skill that was changed, and one that nothing declares, have their codes', async () => {
    put('skills/one/SKILL.md', '---\nname: one\ndescription: One.\n---\nDo it.\n');
    put('skill-repos.yaml', 'version: 2\nskill_repos:\n  - path: ./skills\n    pick: [one]\n');
    const graph = 'graph:\n  skills: [{id: mine, required: true}]\n';
    put('skillbox.yaml', `version: 1\n${graph}`);
    await sync(boxRuntime(), { profiles: [] }, { dryRun: false });
    expect((await examined(graph)).of('skills mine')).toMatchObject([{ code: null, state: 'ok', detail: '1 installed' }]);
    const home = '.skillbox-state/home/.claude/skills';
    put(`${home}/two/SKILL.md`, '---\nname: two\ndescription: Two.\n---\n');
    expect((await examined(graph)).of('skills mine')).toMatchObject([
      {
        code: 'SKILL_EXTRA_INSTALLED',
        state: 'warn',
        detail: 'two is installed and not declared',
        fix: errorKinds.SKILL_EXTRA_INSTALLED.hint,
      },
    ]);
    put(`${home}/one/SKILL.md`, 'changed by hand');
    const { healthy, of } = await examined(graph);
    expect(healthy).toBe(false);
    expect(of('skills mine')).toMatchObject([
      { code: 'SKILL_INSTALL_STALE', state: 'fail', detail: 'one is stale', fix: errorKinds.SKILL_INSTALL_STALE.hint },
      { code: 'SKILL_EXTRA_INSTALLED' },
    ]);
  });

  it('bridges: what was never written, and what is older than its source', async () => {
    const bridge = (required: boolean) =>
      `graph:\n  bridges: [{id: env, command: "true", output_root: out, legacy_targets: [web], inputs: [source], required: ${required}}]\n`;
    put('source', 'x');
    const out = join(folder, 'out/web/local.env');
    expect((await examined(bridge(true))).of('bridges')).toMatchObject([
      { code: 'LOCAL_RUNTIME_ENV_OUTPUT_MISSING', state: 'fail', detail: `env has not written ${out}`, fix: 'skillbox up' },
    ]);
    expect((await examined(bridge(false))).of('bridges')).toMatchObject([{ code: 'LOCAL_RUNTIME_ENV_OUTPUT_MISSING', state: 'warn' }]);
    put('out/web/local.env', 'A=1\n');
    const past = Date.now() / 1000 - 60;
    for (const file of ['skillbox.yaml', 'source']) utimesSync(join(folder, file), past, past);
    expect((await doctor(boxRuntime(), { profiles: [] })).checks.filter(({ name }) => name === 'bridges')).toMatchObject([
      { state: 'ok', detail: '1 as declared' },
    ]);
    const later = Date.now() / 1000 + 60;
    utimesSync(join(folder, 'source'), later, later);
    expect((await examined(bridge(true))).of('bridges')).toMatchObject([
      { state: 'warn', detail: 'env is older than what it is made from', fix: 'skillbox up' },
    ]);
  });

  it('pulse: whether it runs, what it would have to keep alive, and what it gave up', async () => {
    const graph = 'graph:\n  services: [{id: web, command: sleep 60}, {id: db, command: sleep 60}]\n';
    const record = { id: 'web', wanted: true, mode: 'reuse', selection: { profiles: [] }, startedAt: '2026-01-02T03:04:05Z', restarts: 0 };
    const state = '.skillbox-state/run/graph';
    put(`${state}/services/web.json`, JSON.stringify({ ...record, definition: '', log: 'web.log' }));
    expect((await examined(graph)).of('pulse')).toEqual([
      {
        ...{ name: 'pulse', code: null, state: 'warn', fix: 'skillbox pulse start' },
        detail: 'not running: nobody starts the service again when it falls',
      },
    ]);
    put(`${state}/services/db.json`, JSON.stringify({ ...record, id: 'db', definition: '', log: 'db.log' }));
    expect((await examined(graph)).of('pulse')).toMatchObject([{ state: 'warn', detail: expect.stringContaining('the 2 services') }]);

    const self = identify(process.pid);
    const living = { pid: self?.pid, start_time: self?.startTime, updated_at: '2026-01-02T03:04:05Z', interval: 30 };
    put(`${state}/pulse.json`, JSON.stringify(living));
    expect((await examined(graph)).of('pulse')).toMatchObject([{ state: 'ok', detail: `pid ${process.pid}, every 30 s`, fix: null }]);
    put(`${state}/pulse.json`, JSON.stringify({ ...living, given_up: ['web'] }));
    expect((await examined(graph)).of('pulse')).toMatchObject([
      { state: 'warn', detail: `pid ${process.pid}, every 30 s; gave up web`, fix: 'skillbox restart --service web' },
    ]);
    // The pid of a process that began at another time is somebody else.
    put(`${state}/pulse.json`, JSON.stringify({ ...living, start_time: '1', given_up: ['web'] }));
    expect((await examined(graph)).of('pulse')).toMatchObject([{ state: 'warn', fix: 'skillbox pulse start' }]);
  });

  it('writes nothing', async () => {
    put('skillbox.yaml', 'version: 1\n');
    const tree = (at: string): string[] =>
      readdirSync(at, { recursive: true, encoding: 'utf8' })
        .sort()
        .map((name) => `${name} ${statSync(join(at, name)).mtimeMs}`);
    const graph = 'graph:\n  repos: [{id: app, path: app}]\n  checks: [{id: c, path: x}]\n  services: [{id: web, command: sh}]\n';
    put('skillbox.yaml', `version: 1\n${graph}`);
    const before = tree(folder);
    const config = loadConfig({ cwd: folder, env: { SKILLBOX_API_PORT: '0' } });
    await doctor({ config, server: false, signal: new AbortController().signal, progress: () => undefined }, { profiles: [] });
    expect(tree(folder)).toEqual(before);
  });
});
