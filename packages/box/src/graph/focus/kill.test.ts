/** focus killed at every point it tells of: the next one goes on from there, and nothing is there twice or by halves. */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FocusReport } from '@skillbox/protocol';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { type GraphGround, newGround } from '../../../../../tests/support/graph.ts';
import { bundleProgram } from '../../../../../tests/support/program.ts';
import { writeServerRecord } from '../../state.ts';

const noPulse = `
const state = { running: true, pid: null, updated_at: null, interval: 30, auto_restart: true, cycle_count: 0, heals: 0, events_emitted: 0,
  config_hash: null, service_states: {}, check_states: {}, given_up: [], next_attempts: {} };
export const pulse = async () => state;
export const startPulse = async () => state;
export const stopPulse = async () => state;
`;

let program: string;
let ground: GraphGround;

beforeAll(async () => {
  program = await bundleProgram(
    `
    import { writeFileSync } from 'node:fs';
    import { loadConfig } from './packages/box/src/config.ts';
    import { focus } from './packages/box/src/graph/focus/focus.ts';
    import { down } from './packages/box/src/graph/services/down.ts';
    const [verb, folder, point, out] = process.argv.slice(2);
    const config = loadConfig({ cwd: folder, env: { PATH: process.env.PATH, HOME: folder } });
    const progress = (text) => { if (text.startsWith(point)) process.kill(process.pid, 'SIGKILL'); };
    const runtime = { config, server: true, signal: new AbortController().signal, progress };
    const options = { client: 'acme', profiles: [], services: [], mode: 'reuse', resume: false, waitSeconds: undefined };
    if (verb === 'down') await down(runtime, { profiles: [] }, { services: [], dryRun: false, waitSeconds: 0.01 });
    else writeFileSync(out, JSON.stringify(await focus(runtime, options)));
    `,
    { 'graph/pulse/control.ts': noPulse },
  );
});

beforeEach(() => {
  ground = newGround();
  const origin = join(ground.folder, 'origin');
  mkdirSync(origin);
  const git = (...words: string[]) => execFileSync('git', words, { cwd: origin, env: { PATH: process.env.PATH, HOME: ground.folder } });
  git('init', '-q', '-b', 'main');
  writeFileSync(join(origin, 'README.md'), 'hello\n');
  git('add', '.');
  git('-c', 'user.name=t', '-c', 'user.email=t@localhost', 'commit', '-q', '-m', 'Begin');
  const services = [
    { id: 'web', command: "echo start >> starts; trap 'exit 0' TERM; while :; do sleep 0.05; done", bootstrap_tasks: ['seed'] },
  ];
  const tasks = [{ id: 'seed', command: 'sleep 0.1; touch seeded', success: { type: 'path_exists', path: 'seeded' } }];
  writeFileSync(join(ground.folder, 'skillbox.yaml'), stringify({ version: 1, graph: { services, tasks } }));
  const overlay = join(ground.stateRoot, 'clients/acme');
  mkdirSync(overlay, { recursive: true });
  const repos = [{ id: 'app', path: '${SKILLBOX_REPOS_ROOT}/app', source: { url: origin, branch: 'main' } }];
  writeFileSync(join(overlay, 'overlay.yaml'), stringify({ version: 1, client: { id: 'acme', repos } }));
  // The server is taken for this process.
  mkdirSync(join(ground.stateRoot, 'run'), { recursive: true });
  writeServerRecord(ground.stateRoot, { url: 'http://127.0.0.1:1', host: 'here', version: '0' });
});
afterEach(async () => {
  await start('down', '-');
  ground.remove();
});

async function start(verb: 'focus' | 'down', point: string): Promise<NodeJS.Signals | null> {
  const child = spawn(process.execPath, [program, verb, ground.folder, point, join(ground.folder, 'report')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return signal;
}

/** Processes that run the service, whoever knows of them. */
const servicesAlive = (): string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('echo start >> starts') && readlink(pid) === ground.folder;
      } catch {
        // It ended meanwhile.
        return false;
      }
    });
const readlink = (pid: string): string =>
  execFileSync('readlink', [`/proc/${pid}/cwd`])
    .toString()
    .trim();

const points = ['1/6', 'Cloning', '2/6', 'Running task', '3/6', 'Starting web', '4/6', '5/6', '6/6'];

it.each(points)('at %s', async (point) => {
  expect(await start('focus', point)).toBe('SIGKILL');
  expect(await start('focus', '-')).toBeNull();
  const report = JSON.parse(readFileSync(join(ground.folder, 'report'), 'utf8')) as FocusReport;
  expect(report.ok, JSON.stringify(report.steps)).toBe(true);
  expect(report.attention).toEqual([]);
  expect(report.repos).toMatchObject([{ id: 'app', branch: 'main', dirty: 0 }]);
  expect(servicesAlive()).toHaveLength(1);
  expect(report.services.find(({ id }) => id === 'web')).toMatchObject({ state: 'running', pid: Number(servicesAlive()[0]) });
  const home = join(ground.stateRoot, 'home/.claude');
  expect(readFileSync(join(home, 'CLAUDE.md'), 'utf8')).toContain('Nothing needs attention.');
  expect(readdirSync(home)).toEqual(['CLAUDE.md']);
  expect(readdirSync(ground.stateRoot).filter((name) => name.endsWith('.tmp'))).toEqual([]);
});
