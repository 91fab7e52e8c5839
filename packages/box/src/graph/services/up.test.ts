/** up, down and restart over real processes and a real manifest. The server of the box is taken for this process. */

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError, type DownReport, type UpReport } from '@skillbox/protocol';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { stringify } from 'yaml';
import { freePort, type GraphGround, newGround, smallServer } from '../../../../../tests/support/graph.ts';
import { loadConfig } from '../../config.ts';
import { identify } from '../../process/identity.ts';
import type { Runtime } from '../runtime.ts';
import { status } from '../status.ts';
import { bootstrap } from '../tasks/bootstrap.ts';
import { type DownOptions, down } from './down.ts';
import { readServiceRecord } from './records.ts';
import { type RestartOptions, restart } from './restart.ts';
import { type UpOptions, up } from './up.ts';

// Here nobody may start again what a test stops.
vi.mock('../pulse/control.ts', () => import('../../../../../tests/support/still-pulse.ts'));

let ground: GraphGround;
let runtime: Runtime;
beforeEach(() => {
  ground = newGround();
});
afterEach(async () => {
  if (runtime) await down(runtime, { profiles: [] }, { ...quiet, waitSeconds: 0.001 });
  ground.remove();
});

type Declared = Record<string, unknown>;

function declare(graph: Record<string, Declared[]>): void {
  writeFileSync(join(ground.folder, 'skillbox.yaml'), stringify({ version: 1, graph }));
  const config = loadConfig({ cwd: ground.folder, env: { PATH: process.env.PATH, HOME: ground.folder } });
  runtime = { ...ground.runtime, config, server: true };
}

const quiet: DownOptions = { services: [], dryRun: false, waitSeconds: undefined };
const goUp = (more: Partial<UpOptions> = {}, profiles: string[] = []): Promise<UpReport> =>
  up(runtime, { profiles }, { services: [], mode: 'reuse', dryRun: false, waitSeconds: undefined, ...more });
const goDown = (...services: string[]): Promise<DownReport> => down(runtime, { profiles: [] }, { ...quiet, services });
const again = (more: Partial<RestartOptions> = {}): Promise<UpReport> =>
  restart(runtime, { profiles: [] }, { services: [], mode: undefined, dryRun: false, waitSeconds: undefined, ...more });

const results = ({ services }: { services: readonly { id: string; result: string }[] }) =>
  Object.fromEntries(services.filter(({ id }) => id !== 'api').map(({ id, result }) => [id, result]));
const pidOf = (id: string): number | undefined => readServiceRecord(ground.stateRoot, id)?.process?.pid;
const alive = (id: string): boolean => identify(pidOf(id) ?? 0) !== undefined;
const note = (text: string): string => `echo "${text} $(date +%s%N)" >> order`;
const order = (): string[] =>
  readFileSync(join(ground.folder, 'order'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' ')[0] ?? '');
const sleeper = (id: string, ...depends_on: string[]): Declared => ({
  id,
  command: `${note(id)}; trap '${note(`${id}-down`)}; exit 0' TERM; while :; do sleep 0.05; done`,
  depends_on,
});

/** Every file with its size and time, to see that nothing was written. */
function tree(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const { size, mtimeMs } = statSync(join(folder, name));
      return `${name} ${size} ${mtimeMs}`;
    });
}

async function refusal(work: Promise<unknown>): Promise<BoxError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof BoxError) return error;
  throw new Error(`expected a BoxError, got ${String(error)}`);
}

describe('up', () => {
  it('starts what is needed first, the rest at once, and says so again without doing anything', async () => {
    // Each of the three waits until all three have begun: one after the other, none would ever be ready.
    const together = 'while ! [ -e one.begun -a -e two.begun -a -e three.begun ]; do sleep 0.05; done';
    const slow = (id: string, ...depends_on: string[]): Declared => ({
      id,
      command: `${note(`${id}-begins`)}; touch ${id}.begun; ${depends_on.includes('db') ? together : 'sleep 0.1'}; touch ${id}.ready; ${note(id)}; exec sleep 60`,
      healthcheck: { type: 'path_exists', path: `${id}.ready` },
      depends_on,
    });
    declare({ services: [slow('web', 'one', 'two', 'three'), slow('one', 'db'), slow('two', 'db'), slow('three', 'db'), slow('db')] });
    const first = await goUp();
    expect(first.ok).toBe(true);
    expect(results(first)).toEqual({ web: 'started', one: 'started', two: 'started', three: 'started', db: 'started' });
    expect(order().slice(0, 2)).toEqual(['db-begins', 'db']);
    expect(order().slice(-2)).toEqual(['web-begins', 'web']);
    // The three between them begin before any of them is there.
    expect(order().slice(2, 5).sort()).toEqual(['one-begins', 'three-begins', 'two-begins']);
    expect(ground.told.join('\n')).toMatch(/Starting (one|two|three), (one|two|three), (one|two|three) \(1 of 5 done\)/);
    const pids = first.services.map(({ pid }) => pid);
    const second = await goUp();
    expect(new Set(Object.values(results(second)))).toEqual(new Set(['already-running']));
    expect(second.services.map(({ pid }) => pid)).toEqual(pids);
  });

  it('of one service brings what it needs; when it fails, what was started for it is stopped again', async () => {
    declare({
      services: [
        { id: 'web', command: 'echo starting; sleep 0.1; echo boom; exit 3', depends_on: ['auth'] },
        sleeper('auth', 'db'),
        sleeper('db'),
        sleeper('other', 'db'),
      ],
    });
    const report = await goUp({ services: ['web'] });
    expect(report.ok).toBe(false);
    expect(results(report)).toEqual({ db: 'stopped', auth: 'stopped', web: 'failed' });
    const web = report.services.find(({ id }) => id === 'web');
    expect(web).toMatchObject({ error: { error: 'service_failed' }, tail: ['starting', 'boom'] });
    expect(['db', 'auth', 'web'].filter(alive)).toEqual([]);
    // Dependents go first, here too.
    expect(order()).toEqual(['db', 'auth', 'auth-down', 'db-down']);
  });

  it('leaves what was asked for and came up, and what ran before', async () => {
    declare({
      services: [sleeper('db'), { id: 'bad', command: 'exit 1', depends_on: ['db'] }, sleeper('late', 'bad'), sleeper('good', 'db')],
    });
    await goUp({ services: ['db'] });
    const db = pidOf('db');
    const report = await goUp({ services: ['bad'] });
    expect(results(report)).toEqual({ db: 'already-running', bad: 'failed' });
    const all = await goUp();
    expect(all.ok).toBe(false);
    expect(results(all)).toEqual({ db: 'already-running', bad: 'failed', late: 'skipped', good: 'started' });
    expect(all.services.find(({ id }) => id === 'late')).toMatchObject({
      error: { error: 'LOCAL_RUNTIME_START_BLOCKED', message: expect.stringContaining('service bad') },
    });
    expect(pidOf('db')).toBe(db);
    expect(alive('good')).toBe(true);
  });

  it('runs the tasks that services need, and blocks those whose task failed', async () => {
    declare({
      tasks: [
        { id: 'schema', command: `${note('schema')}; touch schema.done`, outputs: ['schema.done'] },
        { id: 'seed', command: `${note('seed')}; touch seed.done`, outputs: ['seed.done'], depends_on: ['schema'] },
        { id: 'broken', command: 'echo no luck; exit 4' },
        { id: 'unneeded', command: 'touch unneeded' },
      ],
      services: [
        { ...sleeper('db'), bootstrap_tasks: ['seed'] },
        { ...sleeper('web'), bootstrap_tasks: ['broken'] },
      ],
    });
    const report = await goUp();
    expect(report.ok).toBe(false);
    expect(report.tasks).toMatchObject([
      { id: 'schema', result: 'done' },
      { id: 'broken', result: 'failed', error: { error: 'task_failed' }, tail: ['no luck'] },
      { id: 'seed', result: 'done' },
    ]);
    expect(results(report)).toEqual({ db: 'started', web: 'skipped' });
    expect(order()).toEqual(['schema', 'seed', 'db']);
    expect(existsSync(join(ground.folder, 'unneeded'))).toBe(false);
    expect((await goUp()).tasks.map(({ result }) => result)).toEqual(['ready', 'failed', 'ready']);
  });

  it('refuses a mode that one service lacks, before anything changes', async () => {
    declare({
      services: [sleeper('db'), { id: 'web', commands: { reuse: 'exec sleep 60', prod: 'exec sleep 61' } }],
      tasks: [{ id: 'never', command: 'touch never' }],
    });
    const error = await refusal(goUp({ mode: 'fresh' }));
    expect(error).toMatchObject({ code: 'LOCAL_RUNTIME_MODE_UNSUPPORTED', message: expect.stringContaining('web has reuse, prod') });
    expect(existsSync(join(ground.folder, 'order'))).toBe(false);
    expect(results(await goUp({ mode: 'fresh', services: ['db'] }))).toEqual({ db: 'started' });
  });

  it('refuses names that are not there and circles, before anything changes', async () => {
    declare({ services: [sleeper('db')] });
    expect(await refusal(goUp({ services: ['dbb'] }))).toMatchObject({ code: 'graph_item_not_found' });
    expect(await refusal(goDown('dbb'))).toMatchObject({ code: 'graph_item_not_found' });
    declare({ services: [sleeper('db'), sleeper('a', 'b'), sleeper('b', 'a')] });
    expect(await refusal(goUp())).toMatchObject({ code: 'graph_invalid', message: expect.stringContaining('circle') });
    expect(existsSync(join(ground.folder, 'order'))).toBe(false);
  });

  it('refuses what the parity ledger defers, by name, and tells where the two disagree', async () => {
    const ledger = (legacy_surface: string, ownership_state: string): Declared => ({ legacy_surface, ownership_state });
    declare({
      services: [sleeper('db')],
      parity_ledger: [
        ledger('old-worker', 'deferred'),
        ledger('sync', 'bridge-only'),
        ledger('mail', 'external'),
        ledger('lost', 'covered'),
      ],
    });
    for (const surface of ['old-worker', 'sync', 'mail']) {
      expect(await refusal(goUp({ services: [surface] }))).toMatchObject({
        ...{ code: 'LOCAL_RUNTIME_SERVICE_DEFERRED', message: expect.stringContaining(surface), hint: expect.any(String) },
      });
    }
    expect(await refusal(again({ services: ['old-worker'] }))).toMatchObject({ code: 'LOCAL_RUNTIME_SERVICE_DEFERRED' });
    const { attention, healthy } = await status(runtime, { profiles: [] });
    expect(healthy).toBe(false);
    expect(attention).toContainEqual(
      expect.objectContaining({ severity: 'error', message: expect.stringMatching(/^LOCAL_RUNTIME_COVERAGE_GAP: .*lost is covered/) }),
    );
  });

  it('waits for env files that are not there', async () => {
    declare({
      env_files: [{ id: 'db-env', path: 'db.env', required: true }],
      services: [{ ...sleeper('db'), env_files: ['db-env'] }],
    });
    const report = await goUp();
    expect(report.services.at(-1)).toMatchObject({
      ...{ id: 'db', result: 'failed', error: { error: 'LOCAL_RUNTIME_START_BLOCKED', message: expect.stringContaining('db-env') } },
    });
    writeFileSync(join(ground.folder, 'db.env'), 'A=1\n', { mode: 0o600 });
    expect(results(await goUp())).toEqual({ db: 'started' });
  });

  it('in a dry run says what it would do and writes nothing', async () => {
    declare({
      services: [sleeper('db'), sleeper('web', 'db')],
      tasks: [{ id: 'seed', command: 'touch seeded' }],
      bridges: [{ id: 'env', command: 'touch x', output_root: 'out', legacy_targets: ['web'] }],
    });
    const before = tree(ground.folder);
    const report = await goUp({ dryRun: true });
    expect(results(report)).toEqual({ db: 'dry-run', web: 'dry-run' });
    expect(await down(runtime, { profiles: [] }, { ...quiet, dryRun: true })).toMatchObject({ dry_run: true });
    expect((await again({ dryRun: true })).dry_run).toBe(true);
    expect((await bootstrap(runtime, { profiles: [] }, { tasks: [], dryRun: true })).tasks).toMatchObject([
      { id: 'seed', result: 'dry-run' },
    ]);
    await status(runtime, { profiles: [] });
    expect(tree(ground.folder)).toEqual(before);
  });

  it('two at once are one after the other', async () => {
    declare({ services: [{ id: 'web', command: `${note('web')}; exec sleep 60` }] });
    const both = await Promise.all([goUp(), goUp()]);
    expect(both.map((report) => results(report).web).sort()).toEqual(['already-running', 'started']);
    expect(order()).toEqual(['web']);
    expect(ground.told.some((text) => text.includes('Waiting for skillbox up'))).toBe(true);
  });

  it('interrupted, stops what was not yet healthy and keeps what was', async () => {
    const abort = new AbortController();
    declare({
      services: [
        sleeper('db'),
        { id: 'web', command: 'exec sleep 60', depends_on: ['db'], healthcheck: { type: 'port', port: await freePort() } },
      ],
    });
    runtime = { ...runtime, signal: abort.signal };
    const going = goUp();
    while (!alive('web')) await sleep(20);
    abort.abort(new BoxError('cancelled', 'Interrupted.'));
    expect(await refusal(going)).toMatchObject({ code: 'cancelled' });
    expect([alive('db'), alive('web')]).toEqual([true, false]);
    runtime = { ...runtime, signal: new AbortController().signal };
  });
});

describe('bridges', () => {
  const bridge = (command: string, more: Declared = {}): Declared => ({
    ...{ id: 'env', command, output_root: 'out', legacy_targets: ['web', 'db'], env_tier: 'local', inputs: ['source.txt'] },
    ...more,
  });
  const writes = `${note('bridge')}; for t in web db; do mkdir -p out/$t; echo A=1 > out/$t/local.env; done`;

  it('run before services, and again only when what they read is newer', async () => {
    writeFileSync(join(ground.folder, 'source.txt'), 'one');
    declare({ bridges: [bridge(writes)], services: [sleeper('web')] });
    await goUp();
    expect(order()).toEqual(['bridge', 'web']);
    await goUp();
    expect(order()).toEqual(['bridge', 'web']);
    expect((await status(runtime, { profiles: [] })).bridges).toMatchObject([{ id: 'env', state: 'fresh' }]);
    const later = Date.now() / 1000 + 5;
    utimesSync(join(ground.folder, 'source.txt'), later, later);
    expect((await status(runtime, { profiles: [] })).bridges).toMatchObject([{ id: 'env', state: 'stale' }]);
    await goUp();
    expect(order()).toEqual(['bridge', 'web', 'bridge']);
  });

  it('that fail or leave an output out stop everything, with their last words', async () => {
    declare({ bridges: [bridge('echo first; echo sync.sh: no such target >&2; exit 9')], services: [sleeper('web')] });
    const failed = await refusal(goUp());
    expect(failed).toMatchObject({ code: 'LOCAL_RUNTIME_ENV_BRIDGE_FAILED', hint: expect.any(String) });
    expect(failed.message).toContain('exit code 9');
    expect(failed.message).toContain('sync.sh: no such target');
    declare({ bridges: [bridge('mkdir -p out/web; echo A=1 > out/web/local.env')], services: [sleeper('web')] });
    const missing = await refusal(goUp());
    expect(missing.code).toBe('LOCAL_RUNTIME_ENV_OUTPUT_MISSING');
    expect(missing.message).toContain('out/db/local.env');
    expect(existsSync(join(ground.folder, 'order'))).toBe(false);
  });
});

describe('down', () => {
  it('takes those that need others first, and all that is recorded, whatever became of the manifest', async () => {
    declare({ services: [sleeper('web', 'auth'), sleeper('auth', 'db'), sleeper('db')] });
    await goUp();
    writeFileSync(join(ground.folder, 'skillbox.yaml'), 'version: 1\ngraph: [not a graph\n');
    const report = await goDown();
    expect(results(report)).toEqual({ web: 'stopped', auth: 'stopped', db: 'stopped' });
    expect(order().slice(3)).toEqual(['web-down', 'auth-down', 'db-down']);
    expect(['web', 'auth', 'db'].filter(alive)).toEqual([]);
  });

  it('of one takes those that need it, and leaves the others; the server answers for itself', async () => {
    declare({ services: [sleeper('web', 'auth'), sleeper('auth', 'db'), sleeper('db')] });
    await goUp();
    expect(results(await goDown('auth'))).toEqual({ web: 'stopped', auth: 'stopped' });
    expect([alive('db'), readServiceRecord(ground.stateRoot, 'auth')?.wanted]).toEqual([true, false]);
    const rest = await goDown();
    expect(rest.services.find(({ id }) => id === 'api')).toMatchObject({ result: 'external' });
    expect(results(rest)).toEqual({ web: 'not-running', auth: 'not-running', db: 'stopped' });
  });

  it('of a profile takes what that adds', async () => {
    declare({ services: [sleeper('db'), { ...sleeper('ui', 'db'), profiles: ['surfaces'] }] });
    await goUp({}, ['surfaces']);
    expect(results(await down(runtime, { profiles: ['surfaces'] }, quiet))).toEqual({ ui: 'stopped' });
    expect(alive('db')).toBe(true);
  });
});

describe('restart', () => {
  it('takes those along that need it, in the mode they ran in, and nobody else', async () => {
    const port = await freePort();
    declare({
      services: [
        sleeper('db'),
        { id: 'web', commands: { reuse: 'exit 1', fresh: smallServer(port) }, depends_on: ['db'], healthcheck: { type: 'port', port } },
        { ...sleeper('other') },
      ],
    });
    expect(results(await goUp({ services: ['db', 'other'] }))).toEqual({ db: 'started', other: 'started' });
    await goUp({ services: ['web'], mode: 'fresh' });
    const before = ['db', 'web', 'other'].map(pidOf);
    const report = await again({ services: ['db'] });
    expect(report.ok).toBe(true);
    expect(results(report)).toEqual({ db: 'started', web: 'started' });
    expect(readServiceRecord(ground.stateRoot, 'web')?.mode).toBe('fresh');
    const after = ['db', 'web', 'other'].map(pidOf);
    expect(after[0]).not.toBe(before[0]);
    expect(after[1]).not.toBe(before[1]);
    expect(after[2]).toBe(before[2]);
  });

  it('without names takes those that should run', async () => {
    declare({ services: [sleeper('db'), sleeper('never')] });
    await goUp({ services: ['db'] });
    const before = pidOf('db');
    expect(results(await again())).toEqual({ db: 'started' });
    expect(pidOf('db')).not.toBe(before);
  });
});

describe('tasks', () => {
  it('run in order and once, are tested again afterwards, and have a time', async () => {
    declare({
      tasks: [
        { id: 'liar', command: 'true', outputs: ['never'] },
        { id: 'after', command: 'touch after', depends_on: ['liar'] },
        { id: 'slow', command: 'echo waiting; sleep 60 & wait', timeout: '2s' },
        { id: 'plain', command: `${note('plain')}` },
      ],
    });
    const first = await bootstrap(runtime, { profiles: [] }, { tasks: [], dryRun: false });
    expect(first.ok).toBe(false);
    const byId = Object.fromEntries(first.tasks.map((task) => [task.id, task]));
    expect(byId.liar).toMatchObject({ result: 'failed', detail: expect.stringContaining('success check does not hold') });
    expect(byId.after).toMatchObject({ result: 'blocked', detail: expect.stringContaining('liar') });
    expect(byId.slow).toMatchObject({ result: 'failed', detail: expect.stringContaining('took longer'), tail: ['waiting'] });
    expect(byId.plain).toMatchObject({ result: 'done' });
    // Without a check it counts once it ran well, as long as it is declared the same.
    const second = await bootstrap(runtime, { profiles: [] }, { tasks: ['plain'], dryRun: false });
    expect(second).toMatchObject({ ok: true, tasks: [{ id: 'plain', result: 'ready' }] });
    expect(order()).toEqual(['plain']);
    mkdirSync(join(ground.folder, 'never'));
    const states = (await status(runtime, { profiles: [] })).tasks.map(({ id, state }) => `${id} ${state}`);
    expect(states).toEqual(['liar ready', 'after pending', 'slow pending', 'plain ready']);
    expect(await refusal(bootstrap(runtime, { profiles: [] }, { tasks: ['nope'], dryRun: false }))).toMatchObject({
      code: 'graph_item_not_found',
    });
  });
});
