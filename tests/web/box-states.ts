/** Environments as the box would tell of them, for what a small real one does not have: every state, hostile names, very many items. */

import type { RenderedGraph, RuntimeStatus, ServiceStatus } from '@skillbox/sdk';
import type { Page } from 'playwright-core';

const item = { client: null, profiles: [], required: false, notes: null };
const place = (path: string) => ({ path, host_path: `/state${path}` });

export const service = (id: string, more: Partial<ServiceStatus> = {}): ServiceStatus => ({
  ...item,
  ...{
    id,
    kind: 'http',
    state: 'running',
    wanted: true,
    pid: 4242,
    sandbox: null,
    healthy: true,
    mode: 'reuse',
    modes: ['reuse', 'fresh'],
  },
  ...{ depends_on: [], started_at: new Date().toISOString(), restarts: 0, log: null, detail: null },
  ...more,
});

export const status = (more: Partial<RuntimeStatus> = {}): RuntimeStatus => ({
  ...{ client: null, profiles: ['core'], clients: ['acme'], healthy: true, config_hash: 'abc' },
  ...{ repos: [], artifacts: [], env_files: [], skills: [], tasks: [], services: [], logs: [], checks: [], bridges: [] },
  ...{ parity_ledger: [], connectors: [], attention: [], focus: null },
  pulse: {
    ...{ running: false, pid: null, updated_at: null, interval: 30, auto_restart: true, cycle_count: 0, heals: 0, events_emitted: 0 },
    ...{ config_hash: null, service_states: {}, check_states: {}, given_up: [], next_attempts: {} },
  },
  ...more,
});

const hostile = '<img src=x onerror=alert(1)>';

/** Every section and state once, with names and notes that try to be more than text. */
export const motley = status({
  repos: [
    { ...item, ...place('/workspace/repos/app'), id: 'app', source: 'git', state: 'dirty', branch: 'main', commit: 'abc', detail: null },
    { ...item, ...place('/monoserver/old'), id: 'old', source: 'manual', state: 'missing', branch: null, commit: null, detail: null },
  ],
  artifacts: [{ ...item, ...place('/home/sandbox/.local/bin/tool'), id: 'tool', state: 'stale' }],
  env_files: [{ ...item, ...place('/workspace/repos/app/.env'), id: 'app-env', repo: 'app', state: 'source-missing', notes: hostile }],
  skills: [{ ...item, id: 'default-skills', state: 'invalid', skills: [], detail: hostile }],
  tasks: [
    { ...item, id: 'install', state: 'ready', depends_on: [], blocked_by: [] },
    { ...item, id: 'migrate', state: 'blocked', depends_on: ['install'], blocked_by: ['install'] },
  ],
  services: [
    service('db'),
    service('auth', { state: 'starting', healthy: false, depends_on: ['db'] }),
    service('web', {
      state: 'down',
      pid: null,
      healthy: null,
      depends_on: ['auth', 'db'],
      detail: `exited with 1: ${hostile}`,
      restarts: 5,
    }),
    service('worker', { state: 'declared', pid: null, healthy: null, depends_on: ['db'], modes: ['prod'] }),
    service('cloud', { state: 'unknown', pid: null, healthy: null, modes: [] }),
    service('x'.repeat(63), { state: 'idle', pid: null, healthy: null }),
  ],
  logs: [{ ...item, ...place('/workspace/logs/app'), id: 'app-logs', retention_days: 7, state: 'ok', bytes: 12 }],
  checks: [{ ...item, id: 'root', state: 'fail', detail: 'is not there' }],
  bridges: [{ ...item, id: 'local-core-bridge', state: 'stale', outputs: [] }],
  healthy: false,
  attention: [
    { severity: 'warning', subject: 'repo:app', message: '3 files changed', fix: null },
    { severity: 'error', subject: 'service:web', message: `is down: ${hostile}`, fix: 'skillbox logs --service web' },
  ],
});

export const rendered = (of: RuntimeStatus): RenderedGraph => ({
  ...{ client: null, profiles: ['core'], variables: {} },
  graph: {
    services: of.services.map(({ id, depends_on }) => ({
      id,
      command: `exec ${id}`,
      depends_on,
      ...(id === 'web' && { repo: 'app', artifact: 'tool', bootstrap_tasks: ['migrate'], env_files: ['app-env'] }),
    })),
    tasks: of.tasks.map(({ id, depends_on }) => ({ id, command: `make ${id}`, depends_on, repo: 'app' })),
  },
  why: [
    { path: 'services.web', file: 'skillbox.yaml', line: 7 },
    { path: 'services.web.command', file: 'clients/acme/overlay.yaml', line: 9 },
  ],
});

export const crowd = (count: number): RuntimeStatus =>
  status({
    services: Array.from({ length: count }, (_, at) => service(`s${at}`, { depends_on: at === 0 ? [] : [`s${Math.floor(at / 3)}`] })),
  });

/** From now on the page is told this. */
export async function tell(page: Page, of: RuntimeStatus): Promise<void> {
  await page.route(/\/v1\/runtime(\?.*)?$/, (route) => route.fulfill({ json: of }));
  await page.route(/\/v1\/runtime\/graph/, (route) => route.fulfill({ json: rendered(of) }));
}
