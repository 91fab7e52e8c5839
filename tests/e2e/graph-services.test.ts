/** Services of a declared environment through the built CLI: real processes, a real server, a real pulse. */

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DownReport, RuntimeStatus, UpReport } from '@skillbox/protocol';
import { afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { stringify } from 'yaml';
import { freePort, smallServer } from '../support/graph.ts';
import { endSandboxes } from './cli-process.ts';

const root = join(import.meta.dirname, '../..');
const bin = join(root, 'packages/box/bin/skillbox.js');
let folder = '';

// Dozens of calls of the CLI, each a process of its own.
vi.setConfig({ testTimeout: 120_000 });

beforeAll(() => {
  execFileSync(process.execPath, [join(root, 'packages/box/scripts/build.mjs')]);
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-services-'));
});
afterEach(async () => {
  if (run('down').stdout.includes('lives on')) await endSandboxes(async (...words) => run(...words));
  expect(ours()).toEqual([]);
  rmSync(folder, { recursive: true, force: true });
});

const environment = () => ({
  ...{ PATH: process.env.PATH, HOME: folder, NO_COLOR: '1', SKILLBOX_API_PORT: '0' },
  ...{ SKILLBOX_SECRET_KEY: 'k'.repeat(40), SKILLBOX_LOG_LEVEL: 'warn' },
});

function run(...words: string[]): { code: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...words], {
    ...{ cwd: folder, env: environment(), encoding: 'utf8', timeout: 60_000 },
  });
  return { code: status, stdout, stderr };
}

function json<T>(code: number, ...words: string[]): T {
  const result = run(...words, '--json');
  expect({ words, code: result.code, stderr: result.stderr }).toMatchObject({ words, code });
  return JSON.parse(result.stdout) as T;
}

function declare(graph: Record<string, object[]>): void {
  writeFileSync(join(folder, 'skillbox.yaml'), stringify({ version: 1, graph }));
}

/** Processes of this folder, whoever started them. */
function ours(mark = `HOME=${folder}`): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      return readFileSync(`/proc/${name}/environ`, 'utf8').split('\0').includes(mark) ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

async function until(what: string, condition: () => boolean): Promise<void> {
  for (const since = Date.now(); Date.now() - since < 20_000; await sleep(20)) if (condition()) return;
  throw new Error(`waited in vain: ${what}`);
}

it('up starts the server, the services in order and pulse; status is well; down leaves nothing', async () => {
  const [db, web] = [await freePort(), await freePort()];
  declare({
    services: [
      { id: 'web', command: smallServer(web), depends_on: ['db'], healthcheck: { type: 'http', url: `http://127.0.0.1:${web}/` } },
      { id: 'db', command: `env; ${smallServer(db)}`, healthcheck: { type: 'port', port: db } },
    ],
  });
  const up = json<UpReport>(0, 'up');
  expect(up.services.map(({ id, result }) => `${id} ${result}`)).toEqual(['api started', 'db started', 'web started']);
  expect(up.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const seen = json<RuntimeStatus>(0, 'status');
  expect(seen.attention).toEqual([]);
  expect(seen.services.map(({ id, state, healthy }) => ({ id, state, healthy }))).toEqual([
    { id: 'api', state: 'running', healthy: true },
    { id: 'web', state: 'running', healthy: true },
    { id: 'db', state: 'running', healthy: true },
  ]);
  expect(seen.pulse.running).toBe(true);
  expect(run('up').stdout).toMatch(/The box is up already\.\nurl/);
  const log = run('logs', '--service', 'db', '--lines', '100');
  expect(log.stdout).toContain(`HOME=${folder}`);
  expect(log.stdout).not.toContain('kkkk');

  const over = await fetch(`${up.url}/v1/runtime/down`, {
    method: 'POST',
    headers: { authorization: `Bearer ${readFileSync(up.admin_key_file ?? '', 'utf8').trim()}`, 'content-type': 'application/json' },
    body: JSON.stringify({ service: 'web' }),
  });
  expect(((await over.json()) as DownReport).services).toMatchObject([{ id: 'web', result: 'stopped' }]);
  expect(run('down').stdout).toMatch(/^✓ db {2}stopped .*\n✓ The box is down\.\n$/);
  expect(run('status').code).toBe(2);
});

it('a failure ends with 1, shows its last lines, and takes back what was started for it', () => {
  declare({
    services: [
      { id: 'web', command: 'echo the last straw; exit 3', depends_on: ['db'] },
      { id: 'db', command: 'exec sleep 300' },
    ],
  });
  const failed = run('up', '--service', 'web');
  expect(failed.code).toBe(1);
  expect(failed.stdout).toContain('✗ web  failed');
  expect(failed.stdout).toContain('│ the last straw');
  expect(failed.stdout).toMatch(/db {2}stopped/);
  expect(failed.stdout).toContain('✗ Not all is up.');
  const status = run('status');
  expect(status.code).toBe(2);
  expect(status.stdout).toContain('exit code 3');
});

it('up that is killed at any moment leaves records that are true, and the next one completes', async () => {
  const port = await freePort();
  declare({
    tasks: [{ id: 'seed', command: 'sleep 0.2; touch seeded', outputs: ['seeded'] }],
    services: [
      { id: 'slow', command: `sleep 0.3; ${smallServer(port)}`, bootstrap_tasks: ['seed'], healthcheck: { type: 'port', port } },
      ...Array.from({ length: 6 }, (_, at) => ({ id: `s${at}`, command: `exec sleep 30${at}` })),
      { id: 'last', command: 'exec sleep 400', depends_on: ['slow'] },
    ],
  });
  json<UpReport>(0, 'up', '--service', 's0');
  for (const delay of [200, 400, 600, 800, 1100]) {
    run('down', '--service', 'slow,last,s0,s1,s2,s3,s4,s5');
    rmSync(join(folder, 'seeded'), { force: true });
    const child = spawn(process.execPath, [bin, 'up'], { cwd: folder, env: environment(), stdio: 'ignore' });
    await sleep(delay);
    child.kill('SIGKILL');
    const again = json<UpReport>(0, 'up');
    expect({ delay, ok: again.ok, services: again.services.length }).toEqual({ delay, ok: true, services: 9 });
    // One of each, and the one that is written down.
    for (const { id, pid } of again.services.slice(1)) {
      const recorded = JSON.parse(readFileSync(join(folder, '.skillbox-state/run/graph/services', `${id}.json`), 'utf8'));
      expect({ id, pid: recorded.process.pid, wanted: recorded.wanted }).toEqual({ id, pid, wanted: true });
    }
    const leaders = again.services.slice(1).map(({ pid }) => pid ?? 0);
    const services = ours().filter((pid) => readFileSync(`/proc/${pid}/environ`, 'utf8').includes('SKILLBOX_SERVICE_RUN='));
    expect(services.filter((pid) => !leaders.includes(pid) && sessionOf(pid) === pid)).toEqual([]);
    expect(readdirSync(join(folder, '.skillbox-state/run/graph/services')).filter((name) => name.endsWith('.json'))).toHaveLength(9);
  }
});

const sessionOf = (pid: number): number => Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[3]);

it('a service and a task that name a template run inside that sandbox, and end with down', () => {
  declare({
    tasks: [
      {
        ...{
          id: 'seed',
          template: 'workspace',
          command: 'echo "$PWD" > "$SKILLBOX_WORKSPACE_ROOT/seeded"',
          outputs: ['/workspace/seeded'],
        },
        env: { SKILLBOX_WORKSPACE_ROOT: '/workspace' },
      },
    ],
    services: [
      {
        ...{ id: 'inside', template: 'workspace', bootstrap_tasks: ['seed'] },
        command: 'echo from inside; test ! -e "$HOME/.skillbox-state" && exec python3 -m http.server 8123 --bind 127.0.0.1',
        healthcheck: { type: 'http', url: 'http://127.0.0.1:8123/' },
      },
    ],
  });
  const up = json<UpReport>(0, 'up');
  expect(up.tasks).toMatchObject([{ id: 'seed', result: 'done' }]);
  expect(up.services).toMatchObject([{ id: 'api' }, { id: 'inside', result: 'started', pid: null }]);
  const inside = json<RuntimeStatus>(0, 'status').services.find(({ id }) => id === 'inside');
  expect(inside).toMatchObject({ state: 'running', healthy: true, pid: null, sandbox: expect.any(String) });
  expect(run('logs', '--service', 'inside').stdout).toContain('from inside');
  expect(json<UpReport>(0, 'up').services.at(-1)).toMatchObject({ id: 'inside', result: 'already-running' });
  expect(json<DownReport>(0, 'down', '--service', 'inside').services).toMatchObject([{ id: 'inside', result: 'stopped' }]);
});

it('logs can be followed, over several services and through a rotation', async () => {
  declare({ services: ['one', 'two'].map((id) => ({ id, command: `echo ${id} begins; exec sleep 300` })) });
  json<UpReport>(0, 'up');
  const child = spawn(process.execPath, [bin, 'logs', '--service', 'one,two', '--follow'], { cwd: folder, env: environment() });
  let out = '';
  child.stdout.on('data', (bytes) => {
    out += bytes;
  });
  const file = join(folder, '.skillbox-state/logs/services/one.log');
  await until('the first lines', () => out.includes('one  one begins') && out.includes('two  two begins'));
  appendFileSync(file, 'half a li');
  appendFileSync(file, 'ne\n');
  await until('a whole line', () => out.includes('one  half a line\n'));
  truncateSync(file, 0);
  appendFileSync(file, 'anew\n');
  await until('the line after the cut', () => out.includes('one  anew\n'));
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGINT');
  expect(await ended).toBe(0);
});

it('a box without a manifest is its server and pulse', () => {
  const up = json<UpReport>(0, 'up');
  expect(up).toMatchObject({ services: [{ id: 'api', result: 'started' }], tasks: [] });
  expect(existsSync(join(folder, '.skillbox-state', 'run', 'graph', 'services', 'api.json'))).toBe(true);
  expect(run('down').stdout).toBe('✓ The box is down.\n');
  // What agents are told was written, which is no news for who starts the box.
  const first = run('up');
  expect(first.stdout).toMatch(/^✓ The box is up\.\n/);
  expect(existsSync(join(folder, '.skillbox-state/home/.claude/CLAUDE.md'))).toBe(true);
});

it('down of what is dead but wanted says what it cleared', async () => {
  declare({ services: [{ id: 'web', command: 'exec sleep 300' }] });
  json<UpReport>(0, 'up');
  run('pulse', 'stop');
  for (const pid of ours()) process.kill(pid, 'SIGKILL');
  await until('all are dead', () => ours().length === 0);
  const { stdout, code } = run('down');
  expect(code).toBe(0);
  expect(stdout).toMatch(/- web {2}not-running.* it was gone already; nobody starts it again now\n/);
  expect(stdout).toMatch(/- api {2}not-running.* it was gone already; nobody starts it again now\n/);
  expect(run('down').stdout).toBe('Nothing runs.\n');
});
