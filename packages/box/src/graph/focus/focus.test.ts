/** focus over real processes, a real repository and a real manifest. The server of the box is taken for this process. */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FocusReport, focusReport } from '@skillbox/protocol';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { stringify } from 'yaml';
import { type GraphGround, newGround } from '../../../../../tests/support/graph.ts';
import { loadConfig } from '../../config.ts';
import { writeServerRecord } from '../../state.ts';
import { exclusively, type Runtime } from '../runtime.ts';
import { recentActivity } from '../runtime-log.ts';
import { down } from '../services/down.ts';
import { readServiceRecord } from '../services/records.ts';
import { beginTimeline } from '../sessions/timeline.ts';
import { sync } from '../sync/sync.ts';
import { context } from './context.ts';
import { type FocusOptions, focus } from './focus.ts';
import { readFocus } from './record.ts';

// Here nobody may start again what a test stops.
vi.mock('../pulse/control.ts', () => import('../../../../../tests/support/still-pulse.ts'));

let ground: GraphGround;
let runtime: Runtime;
let said: string[];
beforeEach(() => {
  ground = newGround();
  said = [];
  const config = loadConfig({ cwd: ground.folder, env: { PATH: process.env.PATH, HOME: ground.folder } });
  runtime = { ...ground.runtime, config, server: true, progress: (text) => void said.push(text) };
  const origin = join(ground.folder, 'origin');
  const git = (...words: string[]) => execFileSync('git', words, { cwd: origin, env: { PATH: process.env.PATH, HOME: ground.folder } });
  mkdirSync(origin);
  git('init', '-q', '-b', 'main');
  writeFileSync(join(origin, 'README.md'), 'hello\n');
  git('add', '.');
  git('-c', 'user.name=t', '-c', 'user.email=t@localhost', 'commit', '-q', '-m', 'Begin with token=q1w2e3r4t5');
  declare({});
  mkdirSync(join(ground.stateRoot, 'run'), { recursive: true });
  writeServerRecord(ground.stateRoot, { url: 'http://127.0.0.1:1', host: 'here', version: '0' });
});
afterEach(async () => {
  // Without a client: everything, whoever declared it.
  await down(runtime, { profiles: [] }, { services: [], dryRun: false, waitSeconds: 0.001 });
  ground.remove();
});

type Declared = Record<string, unknown>;

const stay = (more = '') => `${more} trap 'exit 0' TERM; while :; do sleep 0.05; done`;
const web: Declared = { id: 'web', command: stay('touch started; echo "$(date +%s%N)" >> starts;'), bootstrap_tasks: ['seed'] };
const seed: Declared = { id: 'seed', command: 'echo ran >> seeds; touch seeded', success: { type: 'path_exists', path: 'seeded' } };

function declare(more: Record<string, Declared[]>): void {
  const manifest = join(ground.folder, 'skillbox.yaml');
  const overlay = join(ground.stateRoot, 'clients/acme');
  mkdirSync(overlay, { recursive: true });
  writeFileSync(manifest, stringify({ version: 1, graph: { tasks: [seed], services: [web], ...more } }));
  const repos = [{ id: 'app', path: '${SKILLBOX_REPOS_ROOT}/app', source: { url: join(ground.folder, 'origin'), branch: 'main' } }];
  writeFileSync(join(overlay, 'overlay.yaml'), stringify({ version: 1, client: { id: 'acme', label: 'Acme', repos } }));
  runtime = { ...runtime, config: loadConfig({ cwd: ground.folder, env: { PATH: process.env.PATH, HOME: ground.folder } }) };
}

const go = (more: Partial<FocusOptions> = {}): Promise<FocusReport> =>
  focus(runtime, { client: 'acme', profiles: [], services: [], mode: 'reuse', resume: false, waitSeconds: undefined, ...more });
const resume = (): Promise<FocusReport> => go({ client: undefined, resume: true });
const results = ({ steps }: FocusReport) => Object.fromEntries(steps.map(({ step, result }) => [step, result]));
const claude = (): string => readFileSync(join(ground.stateRoot, 'home/.claude/CLAUDE.md'), 'utf8');
const lines = (name: string): number => readFileSync(join(ground.folder, name), 'utf8').trim().split('\n').length;

function killService(id: string): void {
  const { process: leader } = readServiceRecord(ground.stateRoot, id) ?? {};
  if (!leader) throw new Error(`${id} does not run`);
  process.kill(-leader.pid, 'SIGKILL');
}

describe('in one pass', () => {
  it('syncs, bootstraps, starts, collects, tells agents and remembers', async () => {
    const session = beginTimeline(ground.stateRoot, { client_id: 'acme', label: null, goal: null });
    const report = await go();
    expect(focusReport.parse(report)).toEqual(report);
    expect(report).toMatchObject({ ok: true, client: 'acme', profiles: ['core'], resumed: false, sessions: [session.session_id] });
    expect(results(report)).toEqual({ sync: 'done', bootstrap: 'done', up: 'done', collect: 'done', context: 'done', persist: 'done' });
    expect(said.filter((text) => /^\d\/6/.test(text))).toEqual([
      '1/6 sync',
      '2/6 bootstrap',
      '3/6 up',
      '4/6 collect',
      '5/6 context',
      '6/6 persist',
    ]);
    expect(report.services.find(({ id }) => id === 'web')).toMatchObject({ state: 'running' });
    expect(report.repos).toEqual([
      {
        id: 'app',
        path: '/workspace/repos/app',
        branch: 'main',
        dirty: 0,
        last_commit: expect.stringMatching(/^[0-9a-f]{7,} Begin with token=\*\*\*$/),
      },
    ]);
    expect(report.activity.map(({ type }) => type)).toEqual(expect.arrayContaining(['task.done', 'service.started']));
    expect(claude()).toContain('# Client acme: Acme');
    expect(claude()).toMatch(/\| web \| running \| \d+ \|/);
    expect(claude()).toMatch(/\| app \| main \| 0 \| [0-9a-f]+ Begin with/);
    expect(claude()).not.toContain('q1w2e3r4t5');
    expect(report.context).toEqual([join(ground.stateRoot, 'home/.claude/CLAUDE.md'), join(ground.stateRoot, 'home/.codex/AGENTS.md')]);
    expect(readFocus(ground.stateRoot)).toMatchObject({ version: 1, client: 'acme', profiles: [], services: [], mode: 'reuse', ok: true });
    expect(recentActivity(ground.stateRoot, 5).at(-1)).toMatchObject({ type: 'focus', subject: 'client:acme', data: { ok: true } });
  });

  it('syncs once, although up would too', async () => {
    const report = await go();
    const fetched = recentActivity(ground.stateRoot, 100).filter(({ type, subject }) => type.startsWith('sync') && subject.includes('app'));
    expect(report.ok).toBe(true);
    expect(fetched.length).toBeLessThanOrEqual(1);
  });

  it('says what is missing when it is not told whom', async () => {
    await expect(go({ client: undefined })).rejects.toMatchObject({ code: 'needs_input', exit: 3 });
    await expect(resume()).rejects.toMatchObject({ code: 'needs_input', message: 'Nothing was focused yet.' });
    await expect(go({ client: 'acne' })).rejects.toMatchObject({ code: 'client_not_found' });
    expect(existsSync(join(ground.stateRoot, '.focus.json'))).toBe(false);
  });
});

describe('when something fails', () => {
  it('a service that does not start reaches Attention, and the rest is still done', async () => {
    declare({ services: [web, { id: 'broken', command: 'echo "Error: cannot bind"; exit 3' }] });
    const report = await go();
    expect(report.ok).toBe(false);
    expect(results(report)).toEqual({ sync: 'done', bootstrap: 'done', up: 'failed', collect: 'done', context: 'done', persist: 'done' });
    expect(report.attention[0]).toMatchObject({ severity: 'error', subject: 'focus:up', message: expect.stringContaining('broken') });
    expect(report.attention).toContainEqual(expect.objectContaining({ severity: 'error', subject: 'service:broken' }));
    expect(report.services.find(({ id }) => id === 'web')?.state).toBe('running');
    expect(report.errors).toContainEqual({ log: 'service broken', line: 'Error: cannot bind' });
    expect(claude().indexOf('## Attention')).toBeLessThan(claude().indexOf('service:broken'));
    expect(claude().indexOf('service:broken')).toBeLessThan(claude().indexOf('## Live Status'));
    expect(readFocus(ground.stateRoot)?.ok).toBe(false);
  });

  it('a task that fails does not keep others from what they can do', async () => {
    declare({ tasks: [seed, { id: 'bad', command: 'exit 1', success: { type: 'path_exists', path: 'never' } }] });
    const report = await go();
    expect(results(report)).toMatchObject({ bootstrap: 'failed', up: 'done', context: 'done', persist: 'done' });
    expect(report.ok).toBe(false);
    expect(report.attention[0]).toMatchObject({ subject: 'focus:bootstrap', message: expect.stringContaining('bad') });
  });

  it('a repository that cannot be had is told, and services start', async () => {
    rmSync(join(ground.folder, 'origin'), { recursive: true });
    const report = await go();
    expect(results(report)).toMatchObject({ sync: 'failed', up: 'done', persist: 'done' });
    expect(report.attention.map(({ subject }) => subject)).toEqual(expect.arrayContaining(['focus:sync', 'repo:app']));
  });
});

describe('resume', () => {
  it('does nothing again that still holds, and is quick', async () => {
    const first = await go();
    const since = performance.now();
    const report = await resume();
    expect(performance.now() - since).toBeLessThan(5000);
    expect(report).toMatchObject({ ok: true, client: 'acme', resumed: true });
    expect(results(report)).toMatchObject({ sync: 'unchanged', bootstrap: 'unchanged', up: 'unchanged' });
    expect([lines('starts'), lines('seeds')]).toEqual([1, 1]);
    const pid = ({ services }: FocusReport) => services.find(({ id }) => id === 'web')?.pid;
    expect(pid(report)).toBe(pid(first));
  });

  it('starts only what is down', async () => {
    declare({ services: [web, { id: 'other', command: stay('echo x >> others;') }] });
    await go();
    killService('web');
    const report = await resume();
    expect(report.ok).toBe(true);
    expect(results(report)).toMatchObject({ sync: 'unchanged', bootstrap: 'unchanged', up: 'done' });
    expect([lines('starts'), lines('others')]).toEqual([2, 1]);
  });

  it('does the task again whose result is gone, and the sync when the manifest changed', async () => {
    await go();
    rmSync(join(ground.folder, 'seeded'));
    expect(results(await resume())).toMatchObject({ sync: 'unchanged', bootstrap: 'done', up: 'unchanged' });
    declare({ logs: [{ id: 'more', path: '${SKILLBOX_LOG_ROOT}/more' }] });
    expect(results(await resume())).toMatchObject({ sync: 'done', up: 'unchanged' });
  });

  it('of another client is a focus of that one', async () => {
    await go();
    const other = join(ground.stateRoot, 'clients/other');
    mkdirSync(other);
    writeFileSync(join(other, 'overlay.yaml'), 'version: 1\nclient: { id: other }\n');
    expect(await go({ client: 'other', resume: true })).toMatchObject({ client: 'other', resumed: false });
    expect(readFocus(ground.stateRoot)?.client).toBe('other');
  });
});

it('what is down by now is found by context, and kept by sync', async () => {
  await go();
  expect(claude()).toContain('Nothing needs attention.');
  killService('web');
  await context(runtime, { client: 'acme', profiles: [] }, { dryRun: false });
  expect(claude()).toContain('**error** service:web: is down');
  const before = claude();
  await sync(runtime, { client: 'acme', profiles: [] }, { dryRun: false });
  expect(claude()).toBe(before);
  await sync(runtime, { profiles: [] }, { dryRun: false });
  expect(claude()).toBe(before);
});

it('two at once come one after the other', async () => {
  const order: string[] = [];
  const lockHeld = exclusively(runtime, 'test', async () => {
    await new Promise((wake) => setTimeout(wake, 200));
    order.push('first');
  });
  const both = Promise.all([go(), go()].map((one) => one.then(({ ok }) => order.push(`focus ${ok}`))));
  await lockHeld;
  await both;
  expect(order).toEqual(['first', 'focus true', 'focus true']);
  expect([lines('starts'), lines('seeds')]).toEqual([1, 1]);
});
