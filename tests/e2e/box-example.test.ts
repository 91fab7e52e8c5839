/** examples/box as a person would use it: from the checkout to focused in one command, a minute of kills, all well again, and down. */

import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Activity, FocusReport, RuntimeStatus, ServiceStatus, WorkSession } from '@skillbox/protocol';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { recentActivity } from '../../packages/box/src/graph/runtime-log.ts';
import { identify } from '../../packages/box/src/process/identity.ts';
import { freePort } from '../support/graph.ts';
import { seeded } from '../support/random.ts';
import { builtCli } from './cli-process.ts';

const example = join(import.meta.dirname, '../../examples/box');
const killMs = 60_000;
const seed = Number(process.env.SKILLBOX_SEED ?? Date.now() % 1_000_000);

let state: string;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  state = mkdtempSync(join(tmpdir(), 'skillbox-example-'));
  env = {
    PATH: process.env.PATH,
    HOME: state,
    SKILLBOX_STATE_ROOT: join(state, 'state'),
    DEMO_ORIGIN: join(state, 'origin'),
    SKILLBOX_API_PORT: '0',
    SKILLBOX_STORE_PORT: String(await freePort()),
    SKILLBOX_WEB_PORT: String(await freePort()),
  };
});
afterAll(async () => {
  await skillbox('down');
  rmSync(state, { recursive: true, force: true });
}, 60_000);

interface Ended {
  readonly exit: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** By files, not pipes: what stays behind must not keep the test waiting. */
function run(program: string, words: readonly string[]): Promise<Ended> {
  const child = spawn(program, words, { cwd: example, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (exit) => setTimeout(() => resolve({ exit, stdout, stderr }), 20));
  });
}

const skillbox = (...words: string[]): Promise<Ended> => run(process.execPath, [builtCli, ...words]);

async function asked<T>(...words: string[]): Promise<T> {
  const { exit, stdout, stderr } = await skillbox(...words, '--json');
  if (stdout === '') throw new Error(`skillbox ${words.join(' ')} ended with ${exit}: ${stderr}`);
  return JSON.parse(stdout) as T;
}

const look = (): Promise<RuntimeStatus> => asked('status', '--client', 'demo');
const count = async (): Promise<number> =>
  ((await (await fetch(`http://127.0.0.1:${env.SKILLBOX_WEB_PORT}/`)).json()) as { count: number }).count;

async function until<T>(what: string, withinMs: number, attempt: () => Promise<T | undefined>): Promise<T> {
  const deadline = Date.now() + withinMs;
  let last: unknown;
  for (;;) {
    try {
      const found = await attempt();
      if (found !== undefined) return found;
    } catch (error) {
      last = error;
    }
    if (Date.now() > deadline) throw new Error(`${what}: not within ${withinMs} ms${last ? `; ${String(last)}` : ''}`);
    await sleep(500);
  }
}

const wellAgain = (): Promise<RuntimeStatus> =>
  until('everything healthy', 150_000, async () => {
    const status = await look();
    return status.healthy && status.services.every(({ state: is }) => is === 'running') ? status : undefined;
  });

it('goes from the checkout to focused in one command', async () => {
  const { exit, stdout, stderr } = await run(join(example, 'start.sh'), []);
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: expect.any(String) });
  expect(stdout).toContain('✓ Focused demo');
  expect(stdout).toContain('Nothing needs attention.');
  const status = await wellAgain();
  expect(status.services.map(({ id }) => id).sort()).toEqual(['api', 'store', 'ticker', 'web']);
  expect(status.tasks).toMatchObject([{ id: 'seed', state: 'ready' }]);
  expect(status.repos).toMatchObject([{ id: 'notes', state: 'ok', branch: 'main' }]);
  expect(status.env_files).toMatchObject([{ id: 'store-env', state: 'ok' }]);
  expect(status.checks).toMatchObject([{ id: 'count-is-shown', state: 'ok' }]);
  expect(status.skills).toMatchObject([{ id: 'demo-skills', state: 'ok', skills: [{ name: 'tell-the-count' }] }]);
  expect(status.pulse.running).toBe(true);
  const context = readFileSync(join(state, 'state/home/.codex/AGENTS.md'), 'utf8');
  expect(context).toContain('# Client demo: Demo client');
  expect(context).toContain('skillbox logs --client demo --service ticker');
  expect(context).toMatch(/\| notes \| main \| 0 \| \w+ Begin the notes \|/);
  const secret = /STORE_TOKEN=(\w+)/.exec(readFileSync(join(state, 'state/demo/store.env'), 'utf8'))?.[1];
  expect(secret).toMatch(/^[0-9a-f]{48}$/);
  expect(context).not.toContain(secret);
  await until('the ticker ticks', 15_000, async () => ((await count()) >= 2 ? true : undefined));
}, 200_000);

interface Kill {
  readonly id: string;
  readonly pid: number;
}

it(
  'is well again after a minute of kills, and the history tells each',
  async () => {
    const random = seeded(seed);
    console.log(`seed ${seed}: SKILLBOX_SEED=${seed} repeats it`);
    const before = await count();
    const kills: Kill[] = [];
    const end = Date.now() + killMs;
    while (Date.now() < end) {
      const running = (await look()).services.filter(
        (one): one is ServiceStatus & { pid: number } => one.state === 'running' && one.pid !== null,
      );
      const victim = running[Math.floor(random() * running.length)];
      // Never a pid alone: it must be there still.
      if (victim && identify(victim.pid)) {
        process.kill(victim.pid, 'SIGKILL');
        kills.push({ id: victim.id, pid: victim.pid });
      }
      await sleep(1000 + random() * 3000);
    }
    const killed = kills.map(({ id, pid }) => `${id} ${pid}`).join(', ');
    console.log(`${kills.length} kills: ${killed}`);
    expect(kills.length, killed).toBeGreaterThan(8);
    expect(new Set(kills.map(({ id }) => id)).size, killed).toBeGreaterThan(2);

    const { services, pulse } = await wellAgain();
    const history = recentActivity(join(state, 'state'), 10_000);
    for (const { id, pid } of kills) {
      const fall = history.findIndex(
        ({ type, subject, data }) => type === 'service.crashed' && subject === `service:${id}` && data.pid === pid,
      );
      expect(fall, `the fall of ${id} ${pid}:\n${tell(history)}`).toBeGreaterThanOrEqual(0);
      const next = history.slice(fall + 1).find(({ type, subject }) => subject === `service:${id}` && type === 'service.restarted');
      expect(next, `the start after the fall of ${id} ${pid}:\n${tell(history)}`).toBeDefined();
      expect(next?.data.pid).not.toBe(pid);
    }
    const falls = history.filter(({ type }) => type === 'service.crashed').map(({ subject, data }) => `${subject} ${data.pid}`);
    expect([...falls].sort(), 'no fall that was none').toEqual(kills.map(({ id, pid }) => `service:${id} ${pid}`).sort());
    expect(pulse).toMatchObject({ given_up: [], next_attempts: {} });
    for (const { id, restarts } of services) expect([id, restarts]).toEqual([id, kills.filter((kill) => kill.id === id).length]);
    await until('the ticker ticks on', 15_000, async () => ((await count()) > before ? true : undefined));
  },
  killMs + 240_000,
);

const tell = (history: readonly Activity[]): string =>
  history.map(({ time, type, subject, data }) => `${time} ${type} ${subject} ${JSON.stringify(data)}`).join('\n');

it('resumes without doing anything again, and keeps a timeline of notes', async () => {
  const { session_id } = await asked<WorkSession>('session', 'start', 'demo', '--label', 'why did it fall?');
  expect((await skillbox('session', 'event', session_id, 'somebody killed it', '--type', 'decision')).exit).toBe(0);
  const report = await asked<FocusReport>('focus', '--resume');
  expect(report).toMatchObject({ ok: true, resumed: true, client: 'demo', attention: [], sessions: [session_id] });
  expect(report.steps.slice(0, 3).map(({ step, result }) => `${step} ${result}`)).toEqual([
    'sync unchanged',
    'bootstrap unchanged',
    'up unchanged',
  ]);
  const ended = await asked<WorkSession>('session', 'end', session_id, '--summary', 'it stands again');
  expect(readFileSync(join(ended.path, 'handoff.md'), 'utf8')).toContain('decision: somebody killed it');
  expect((await skillbox('session', 'event', session_id, 'too late')).exit).toBe(1);
}, 60_000);

it('and down leaves nothing', async () => {
  const { exit, stderr } = await skillbox('down');
  expect({ exit, stderr }).toMatchObject({ exit: 0 });
  expect(
    await until('no process of the box', 10_000, async () => (processesOfBox().length === 0 ? [] : undefined)).catch(() =>
      processesOfBox(),
    ),
  ).toEqual([]);
  for (const port of [env.SKILLBOX_STORE_PORT, env.SKILLBOX_WEB_PORT]) expect(await listens(Number(port))).toBe(false);
  const { services } = await look();
  expect(services.every(({ state: is, wanted, pid }) => is === 'declared' && !wanted && pid === null)).toBe(true);
}, 60_000);

/** All that were started with its state root, whoever started them. */
function processesOfBox(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    .flatMap((pid) => {
      try {
        const facts = readFileSync(`/proc/${pid}/environ`, 'utf8') + readFileSync(`/proc/${pid}/cmdline`, 'utf8');
        return facts.includes(state) && identify(Number(pid))
          ? [`${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')}`]
          : [];
      } catch {
        // It ended meanwhile.
        return [];
      }
    });
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
