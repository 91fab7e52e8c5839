import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PulseStatus } from '@skillbox/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { freePort, type GraphGround, graph, httpHealth, newGround, service } from '../../../../tests/support/graph.ts';
import { loadConfig } from '../config.ts';
import { attentionOf, type Looked } from './attention.ts';
import { coverageGaps } from './ledger.ts';
import { loadGraph } from './load.ts';
import { logs } from './logs.ts';
import type { Runtime } from './runtime.ts';
import { serviceStatus, startService, stopService } from './services/control.ts';
import { down } from './services/down.ts';
import { readServiceRecords } from './services/records.ts';
import { startAll } from './services/start-all.ts';
import { graphStatus, status } from './status.ts';

let ground: GraphGround;
beforeEach(() => {
  ground = newGround();
});
afterEach(() => ground.remove());

function declare(sections: Record<string, object[]>): Runtime {
  writeFileSync(join(ground.folder, 'skillbox.yaml'), stringify({ version: 1, graph: sections }));
  const config = loadConfig({ cwd: ground.folder, env: { PATH: process.env.PATH, HOME: ground.folder } });
  return { ...ground.runtime, config, server: true };
}

const pulse = (more: Partial<PulseStatus> = {}): PulseStatus => ({
  ...{ running: true, pid: 1, updated_at: null, interval: 30, auto_restart: true, cycle_count: 0, heals: 0, events_emitted: 0 },
  ...{ config_hash: null, service_states: {}, check_states: {}, given_up: [], next_attempts: {} },
  ...more,
});

describe('attention', () => {
  const nothing: Looked = {
    ...{
      repos: [],
      artifacts: [],
      env_files: [],
      skills: [],
      logs: [],
      tasks: [],
      services: [],
      undeclared: [],
      checks: [],
      bridges: [],
      gaps: [],
    },
    ...{ pulse: pulse(), failures: new Map() },
  };
  const item = (id: string) => ({ id, client: null, profiles: [], required: false, notes: null });

  it('is what is down, failing, stale or given up, errors first, each with what to do', async () => {
    const one = await serviceStatus(ground.runtime, graph(), service(ground.folder, { id: 'web', command: 'x' }));
    const found = attentionOf({
      ...nothing,
      services: [
        { ...one, id: 'fine', state: 'running' },
        { ...one, id: 'old', state: 'running', detail: 'its declaration changed since it was started' },
        { ...one, id: 'must', state: 'declared', required: true },
        { ...one, id: 'web', client: 'acme', state: 'down', detail: 'its process is gone', wanted: true },
        { ...one, id: 'worn', state: 'down' },
        { ...one, id: 'refused', state: 'down', detail: 'port 80 is in use' },
      ],
      env_files: [{ ...item('env'), required: true, path: 'e', host_path: '/e', repo: null, state: 'missing' }],
      artifacts: [{ ...item('tool'), path: 't', host_path: '/t', state: 'stale' }],
      repos: [{ ...item('app'), path: 'r', host_path: '/r', source: 'git', state: 'dirty', branch: null, commit: null, detail: null }],
      checks: [{ ...item('disk'), state: 'fail', detail: 'full' }],
      bridges: [{ ...item('env-bridge'), state: 'stale', outputs: [] }],
      tasks: [{ ...item('seed'), state: 'pending', depends_on: [], blocked_by: [] }],
      failures: new Map([['seed', 'its last run ended with exit code 4']]),
      gaps: ['a and b differ'],
      pulse: pulse({ running: false, given_up: ['worn'] }),
    });
    expect(found.map(({ severity, subject }) => `${severity} ${subject}`)).toEqual([
      ...[
        'error service:web',
        'error service:worn',
        'error service:refused',
        'error check:disk',
        'error task:seed',
        'error env_file:env',
        'error parity_ledger',
      ],
      ...['warning service:old', 'warning service:must', 'warning artifact:tool', 'warning bridge:env-bridge', 'warning pulse'],
    ]);
    expect(found[0]).toMatchObject({ message: 'is down: its process is gone', fix: 'skillbox logs --client acme --service web' });
    expect(found[1]?.message).toContain('gave up');
    expect(found[2]?.fix).toBe('skillbox up --service refused');
    expect(found.every(({ fix }) => fix?.startsWith('skillbox '))).toBe(true);
    expect(attentionOf(nothing)).toEqual([]);
  });
});

it('the ledger and the services must agree, within what is selected', () => {
  const entry = (legacy_surface: string, ownership_state: 'covered' | 'deferred', intended_profiles: string[] = []) => ({
    ...{ legacy_surface, ownership_state, intended_profiles, client: 'acme', surface_type: 'service' as const, action: 'declare' as const },
    ...{ bridge_dependency: null, request_error: null },
  });
  const local = (id: string) => service(ground.folder, { id, client: 'acme', profiles: ['local-core'], command: 'x' });
  const services = [local('web'), local('early'), local('forgotten')];
  const parityLedger = [
    entry('web', 'covered'),
    entry('early', 'deferred'),
    entry('gone', 'covered'),
    entry('far', 'covered', ['local-all']),
  ];
  const gaps = coverageGaps({ services, parityLedger, profiles: ['core', 'local-core'] });
  expect(gaps).toHaveLength(3);
  expect(gaps.join('\n')).toMatch(/gone is covered.*\nearly is a declared service.*deferred\nforgotten is .* does not know it/);
  expect(coverageGaps({ services, parityLedger: [], profiles: ['core'] })).toEqual([]);
});

describe('a service that runs and is declared no more', () => {
  const started = { restarts: 0, mode: 'reuse', waitMs: undefined } as const;
  const said = async (runtime: Runtime, client?: string) =>
    (await status(runtime, { client, profiles: [] })).attention.filter(({ message }) => message.includes('declared no more'));

  it('is told with how to stop it, and not while it is declared, if only for a client', async () => {
    const overlay = join(ground.folder, '.skillbox-state', 'clients', 'acme');
    mkdirSync(overlay, { recursive: true });
    writeFileSync(
      join(overlay, 'overlay.yaml'),
      stringify({ version: 1, client: { id: 'acme', services: [{ id: 'theirs', command: 'exec sleep 300' }] } }),
    );
    const runtime = declare({
      services: [
        { id: 'gone', command: 'exec sleep 300' },
        { id: 'kept', command: 'exec sleep 300' },
      ],
    });
    for (const client of [undefined, 'acme']) {
      const selection = { client, profiles: [] };
      const loaded = loadGraph(runtime.config, selection);
      for (const one of loaded.services.filter((each) => each.own === undefined && each.client === client))
        expect((await startService(runtime, loaded, one, { ...started, selection })).result).toBe('started');
    }
    expect([await said(runtime), await said(runtime, 'acme')]).toEqual([[], []]);

    declare({ services: [{ id: 'kept', command: 'exec sleep 300' }] });
    const gone = {
      severity: 'warning',
      subject: 'service:gone',
      message: 'runs, but is declared no more',
      fix: 'skillbox down --service gone',
    };
    expect([await said(runtime), await said(runtime, 'acme')]).toEqual([[gone], [gone]]);
    // Nobody can say what a file declares that cannot be read.
    writeFileSync(join(overlay, 'overlay.yaml'), 'version: [');
    expect(await said(runtime)).toEqual([gone]);
    rmSync(overlay, { recursive: true });
    expect((await said(runtime)).map(({ subject }) => subject)).toEqual(['service:gone', 'service:theirs']);

    const report = await down(runtime, { profiles: [] }, { services: ['gone', 'theirs'], dryRun: false, waitSeconds: undefined });
    expect(report.services.map(({ id, result }) => `${id} ${result}`).sort()).toEqual(['gone stopped', 'theirs stopped']);
    expect(await said(runtime)).toEqual([]);
  });
});

describe('logs', () => {
  it('are the last lines of services and tasks, by name or of all that wrote', async () => {
    const runtime = declare({ services: [{ id: 'web', command: 'x' }, { id: 'db' }], tasks: [{ id: 'seed', command: 'y' }] });
    const folder = join(ground.stateRoot, 'logs', 'services');
    mkdirSync(join(folder, 'tasks'), { recursive: true });
    appendFileSync(join(folder, 'web.log'), Array.from({ length: 100 }, (_, at) => `line ${at}\n`).join(''));
    const { items } = await logs(runtime, { profiles: [] }, { services: [], lines: 2 });
    expect(items).toEqual([{ service: 'web', path: join(folder, 'web.log'), lines: ['line 98', 'line 99'] }]);
    appendFileSync(join(folder, 'tasks', 'seed.log'), 'sown\n');
    expect((await logs(runtime, { profiles: [] }, { services: ['seed', 'api'], lines: 5 })).items).toMatchObject([
      { service: 'api', lines: [] },
      { service: 'seed', lines: ['sown'] },
    ]);
    await expect(logs(runtime, { profiles: [] }, { services: ['nope'], lines: 5 })).rejects.toMatchObject({ code: 'graph_item_not_found' });
  });
});

describe('with 500 services', () => {
  it('and 2,000 items, status takes less than a second', async () => {
    const count = 500;
    const services = Array.from({ length: count }, (_, at) => ({
      ...{ id: `s${at}`, command: 'exec sleep 300' },
      ...(at % 10 > 0 && { depends_on: [`s${at - 1}`] }),
    }));
    const items = (kind: string, path: (at: number) => object) =>
      Array.from({ length: count }, (_, at) => ({ id: `${kind}${at}`, ...path(at) }));
    const runtime = declare({
      services,
      tasks: items('t', (at) => ({ command: 'true', outputs: [`out/${at}`] })),
      checks: items('c', () => ({ path: 'skillbox.yaml' })),
      artifacts: items('a', (at) => ({ path: `art/${at}` })),
    });
    const loaded = loadGraph(runtime.config, { profiles: [] });
    const declared = loaded.services.filter(({ own }) => own === undefined);
    const since = performance.now();
    const outcomes = await startAll(runtime, loaded, declared, {
      ...{ selection: { profiles: [] }, modeOf: () => 'reuse', waitMs: undefined, asked: new Set(declared.map(({ id }) => id)), tasks: [] },
    });
    const startMs = performance.now() - since;
    try {
      expect(outcomes.filter(({ result }) => result === 'started')).toHaveLength(count);
      const times = [];
      for (let round = 0; round < 3; round++) {
        const before = performance.now();
        const seen = await status(runtime, { profiles: [] });
        times.push(performance.now() - before);
        expect(seen.services.filter(({ state }) => state === 'running')).toHaveLength(count);
        expect(seen.tasks).toHaveLength(count);
      }
      console.log(`started in ${Math.round(startMs)} ms; status ${times.map(Math.round).join(', ')} ms`);
      expect(Math.min(...times)).toBeLessThan(1000);
    } finally {
      const before = performance.now();
      await Promise.all(declared.map((one) => stopService(runtime, one, { wanted: false })));
      console.log(`stopped in ${Math.round(performance.now() - before)} ms`);
    }
    expect(readServiceRecords(ground.stateRoot).filter((record) => record.process)).toEqual([]);
  }, 120_000);

  it('those that do not answer hold nobody up', async () => {
    const hung = await Promise.all(
      Array.from({ length: 6 }, async (_, at) => {
        const port = await freePort();
        const command = `exec ${process.execPath} -e 'require("net").createServer(() => {}).listen(${port})'`;
        return {
          one: service(ground.folder, { id: `h${at}`, command, startMs: 10_000 }),
          healthcheck: { ...httpHealth(port), timeoutMs: 5000 },
        };
      }),
    );
    const runtime: Runtime = { ...ground.runtime, server: true };
    const silent = graph({ services: hung.map(({ one, healthcheck }) => ({ ...one, healthcheck })) });
    for (const { one } of hung)
      await startService(runtime, silent, one, { mode: 'reuse', selection: { profiles: [] }, restarts: 0, waitMs: undefined });
    await sleep(300);
    const before = performance.now();
    const { services } = await graphStatus(runtime, silent);
    expect(performance.now() - before).toBeLessThan(4000);
    expect(services.map(({ state }) => state)).toEqual(hung.map(() => 'starting'));
    for (const { one } of hung) await stopService(runtime, one, { wanted: false });
  });
});
