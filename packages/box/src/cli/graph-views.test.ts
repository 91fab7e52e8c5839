import type { RuntimeStatus, ServiceStatus, SyncReport } from '@skillbox/protocol';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Io } from './io.ts';
import { createPaint } from './paint.ts';
import { viewOf } from './views.ts';

const nothing = () => undefined;
const io: Io = {
  json: false,
  paint: createPaint(false),
  width: undefined,
  print: nothing,
  note: nothing,
  progress: { show: nothing, clear: nothing },
};
const item = { client: null, profiles: [], required: false, notes: null };

const service = (id: string, more: Partial<ServiceStatus> = {}): ServiceStatus => ({
  ...item,
  ...{ id, kind: 'http', state: 'running', wanted: true, pid: 12, sandbox: null, healthy: true, mode: 'reuse', modes: ['reuse'] },
  ...{ depends_on: [], started_at: new Date(Date.now() - 3 * 3_600_000).toISOString(), restarts: 0, log: null, detail: null },
  ...more,
});
const status = (more: Partial<RuntimeStatus> = {}): RuntimeStatus => ({
  ...{ client: 'acme', profiles: ['core', 'local-core'], clients: ['acme'], healthy: true, config_hash: 'abc' },
  ...{ repos: [], artifacts: [], env_files: [], skills: [], tasks: [], services: [service('web')], logs: [], checks: [], bridges: [] },
  ...{ parity_ledger: [], connectors: [], focus: null, attention: [] },
  pulse: {
    ...{ running: true, pid: 9, updated_at: new Date().toISOString(), interval: 30, auto_restart: true, cycle_count: 4, heals: 1 },
    ...{ events_emitted: 2, config_hash: 'abc', service_states: { web: 'running' }, check_states: {}, given_up: [], next_attempts: {} },
  },
  ...more,
});

describe('status', () => {
  it('says that all is well, and how long services run', () => {
    const text = viewOf('status', status(), io);
    expect(text).toMatch(/^✓ Client acme, core \+ local-core: all is well\./);
    expect(text).toMatch(/web +running +12 +healthy +3h0m/);
    expect(text).toMatch(/pulse +running, pid 9, looked \d+ms ago, 1 restart$/m);
  });

  it('begins with what needs attention and the line that mends it, then the services', () => {
    const fix = 'skillbox logs --service web';
    const text = viewOf(
      'status',
      status({
        services: [service('web', { state: 'down', pid: null, healthy: false, detail: 'exited with 3' })],
        attention: [
          { severity: 'error', subject: 'service:web', message: 'is down: exited with 3', fix },
          { severity: 'warning', subject: 'task:build', message: 'did not run yet', fix: null },
        ],
      }),
      io,
    );
    const order = ['2 things need attention', '✗ service:web', fix, '! task:build', 'SERVICE'].map((part) => text.indexOf(part));
    expect(order).toEqual([...order].sort((one, other) => one - other));
    expect(order).not.toContain(-1);
    expect(text).not.toContain('3h');
  });

  it('has a line for each other section: counts of what is well, names of what is not', () => {
    const task = (id: string, state: 'ready' | 'pending') => ({ ...item, id, state, depends_on: [], blocked_by: [] });
    const text = viewOf(
      'status',
      status({ tasks: [task('a', 'ready'), task('b', 'ready'), ...'cdefghi'.split('').map((id) => task(id, 'pending'))] }),
      io,
    );
    expect(text).toMatch(/^tasks +2 ready, 7 pending \(c, d, e, f, g, and 2 more\)$/m);
    expect(text).not.toMatch(/^repos/m);
  });

  it('lets no name or message of an overlay reach the terminal as more than text', () => {
    const text = viewOf(
      'status',
      status({ attention: [{ severity: 'error', subject: 'x\x1b[2J', message: 'a\nb\x07', fix: '\x1b]0;t\x07' }] }),
      io,
    );
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(text).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f]/);
    expect(text).toContain('a b');
  });
});

describe('sync', () => {
  const report = (actions: SyncReport['actions'], more: Partial<SyncReport> = {}): SyncReport => ({
    ...{ dry_run: false, changed: false, ok: true, actions, duration_ms: 12 },
    ...more,
  });
  const action = {
    section: 'repos',
    id: 'app',
    action: 'clone',
    result: 'done',
    path: '/monoserver/app',
    detail: null,
    error: null,
  } as const;

  it('says when there was nothing to do', () => {
    expect(viewOf('sync', report([{ ...action, result: 'unchanged' }]), io)).toBe('Nothing to do (1 item, 12ms).');
  });

  it('has a line for each change, and the hint of what failed', () => {
    const error = { error: 'skill_repo_unreachable', message: 'no answer', hint: 'Check the network.' };
    const text = viewOf(
      'sync',
      report([action, { ...action, id: 'other', result: 'failed', error }, { ...action, id: 'same', result: 'unchanged' }]),
      io,
    );
    expect(text.split('\n')).toEqual([
      '✓ clone  repos/app  /monoserver/app',
      '✗ clone  repos/other  no answer',
      '    Check the network.',
      '',
      '1 failed, 1 done (3 items, 12ms).',
    ]);
  });

  it('tells a dry run from a run', () => {
    expect(viewOf('sync', report([{ ...action, result: 'planned' }], { dry_run: true }), io)).toContain('1 to do, nothing done');
  });
});

describe('render', () => {
  const graph = {
    repos: [],
    services: [{ id: 'web', command: 'node web.js --port 80', env: { A: 'yes', B: '# no' }, depends_on: ['api'] }],
  };
  const rendered = { client: 'acme', profiles: ['core'], graph, variables: {}, why: [] };

  it('is YAML that says the same', () => {
    expect(parse(viewOf('render', rendered, io))).toEqual({ services: graph.services });
  });

  it('names file and line of each value that was declared with --why, under the names of the manifest', () => {
    const why = [
      { path: 'services.web', file: 'skillbox.yaml', line: 4 },
      { path: 'services.web.env.A', file: 'clients/acme/overlay.yaml', line: 9 },
      { path: 'services.web.v2.command', file: 'skillbox.yaml', line: 12 },
      { path: 'services.web.v2.path', file: 'skillbox.yaml', line: 13 },
      { path: 'checks.root.path', file: 'skillbox.yaml', line: 20 },
      { path: 'variables.NAME', file: 'environment', line: 0 },
      { path: 'variables.ROOT', file: 'default', line: 0 },
    ];
    const checks = [{ id: 'root', probe: { type: 'path_exists', place: { path: '/workspace', host_path: '/state' } } }];
    const dotted = { id: 'web.v2', commands: { reuse: 'go', prod: 'go' }, place: { path: '/workspace/web', host_path: '/state/web' } };
    const whole = {
      ...rendered,
      graph: { ...graph, checks, services: [...graph.services, dotted] },
      variables: { NAME: 'box', ROOT: '/' },
      why,
    };
    const text = viewOf('render', whole, io);
    expect(text).toMatch(/services\.web\.env\.A +clients\/acme\/overlay\.yaml:9 +yes/);
    expect(text).toMatch(/services\.web\.v2\.command +skillbox\.yaml:12 +go$/m);
    expect(text).toMatch(/services\.web\.v2\.path +skillbox\.yaml:13 +\/workspace\/web$/m);
    expect(text).toMatch(/checks\.root\.path +skillbox\.yaml:20 +\/workspace$/m);
    expect(text).toMatch(/variables\.NAME +environment +box$/m);
    expect(text).not.toContain('variables.ROOT');
  });
});

describe('up and down', () => {
  const sync = { dry_run: false, changed: false, ok: true, actions: [], duration_ms: 1 };
  const outcome = { pid: null, duration_ms: 0, detail: null, error: null, tail: [] };

  it('shows the last words of what failed', () => {
    const error = { error: 'service_failed', message: 'It failed.', hint: 'Look at its log.' };
    const services = [
      { ...outcome, id: 'web', result: 'failed', duration_ms: 1500, detail: 'exited with 1', error, tail: ['boom', 'bang'] },
    ];
    const text = viewOf('up', { ok: false, dry_run: false, mode: 'reuse', sync, tasks: [], services, url: null, admin_key_file: null }, io);
    expect(text).toBe('✗ web  failed after 1.5s  exited with 1\n    │ boom\n    │ bang\n    Look at its log.\n\n✗ Not all is up.');
  });

  it('says what a dry run would stop, and that nothing was done', () => {
    const text = viewOf('down', { ok: true, dry_run: true, services: [{ ...outcome, id: 'web', result: 'dry-run' }] }, io);
    expect(text).toBe('→ web  dry-run\n\nNothing was done.');
  });
});

it('doctor: the line that mends each fault stands below it', () => {
  const checks = [
    { name: 'manifest', code: null, state: 'ok', detail: 'valid', fix: null },
    { name: 'env_files/app', code: 'env_missing', state: 'fail', detail: 'is not there', fix: 'skillbox sync' },
  ];
  const text = viewOf('doctor', { healthy: false, checks }, io);
  expect(text).toContain('✗ env_files/app  is not there (env_missing)\n                 skillbox sync');
  expect(text).toContain('1 of 2 checks failed.');
});
