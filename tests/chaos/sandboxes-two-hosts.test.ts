/** Sandboxes of a box with two hosts: what a dead host had is closed truthfully. How they work through either is in tests/e2e. */

import { once } from 'node:events';
import { readdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { CreditBalance, CreditEntry, Page, Sandbox } from '@skillbox/protocol';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { groupParents, leftoversSettled, sandboxGroups } from '../support/leftovers.ts';
import { postgresFolder, startPostgres, type TestPostgres } from '../support/postgres.ts';
import { newStateRoot, type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { events } from '../support/stream-events.ts';

const leaseMs = 2000;
const programs = postgresFolder();

interface Result {
  readonly program_id: number;
  readonly stdout: string;
  readonly exit_code: number | null;
}

describe.skipIf(!programs)('sandboxes on two hosts', () => {
  let postgres: TestPostgres;
  let env: Record<string, string>;
  let servers: ServerProcess[];

  beforeAll(async () => {
    postgres = await startPostgres(programs as string);
  });
  afterAll(() => postgres.stop());
  beforeEach(async () => {
    servers = [];
    env = {
      SKILLBOX_DB_DSN: await postgres.createDatabase(),
      SKILLBOX_SECRET_KEY: 'the same secret on all hosts of this box',
      SKILLBOX_LEASE_TTL: `${leaseMs}ms`,
      SKILLBOX_DRAIN_TIMEOUT: '1s',
      SKILLBOX_PREVIEW_DOMAIN: 'box.test',
    };
  });
  afterEach(async () => {
    const [first] = servers.filter(({ running }) => running);
    for (const { id } of first ? await listed(first, 'state=ready&limit=500') : [])
      await first?.request(`/v1/sandboxes/${id}`, { method: 'DELETE' });
    await Promise.all(servers.filter(({ running }) => running).map((server) => server.stop()));
    for (const { host, stateRoot } of servers) {
      for (const group of [...sandboxGroups(host), ...groupParents(host)]) rmdirSync(group);
      rmSync(stateRoot, { recursive: true, force: true });
    }
  });

  const start = async (more: Record<string, string> = {}, stateRoot = newStateRoot()): Promise<ServerProcess> => {
    const server = await startServerProcess({ stateRoot, env: { ...env, ...more } });
    servers.push(server);
    return server;
  };
  const both = (): Promise<[ServerProcess, ServerProcess]> => Promise.all([start(), start()]);
  const create = async (
    server: ServerProcess,
    body: Record<string, unknown> = { template: 'base' },
    key = server.key,
  ): Promise<Sandbox> => {
    const answer = await server.json<Sandbox>('/v1/sandboxes', { body, key });
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  };
  const listed = async (server: ServerProcess, query: string): Promise<Sandbox[]> =>
    (await server.json<Page<Sandbox>>(`/v1/sandboxes?${query}`)).body.items;
  const exec = async (server: ServerProcess, id: string, cmd: string, more: Record<string, unknown> = {}): Promise<Result> =>
    (await server.json<Result>(`/v1/sandboxes/${id}/programs`, { body: { cmd, ...more } })).body;
  const disks = ({ stateRoot }: ServerProcess): string[] => readdirSync(join(stateRoot, 'sandboxes', 'living'));

  it('an owner killed in the midst of streams: they end, its sandboxes fail once, and it comes back clean', {
    timeout: 60_000,
  }, async () => {
    const [a, b] = await both();
    expect((await a.json('/v1/templates/priced', { method: 'PUT', body: pricedTemplate })).status).toBe(200);
    await a.json('/v1/credits/grants', { body: { tenant: 'payer', amount: 5, note: 'for a test' } });
    const key = await a.newKey('payer', ['sandboxes:read', 'sandboxes:use']);
    const made = await create(a, { template: 'priced' }, key);
    const { id } = made;
    await b.request(`/v1/sandboxes/${id}/programs`, {
      body: { cmd: 'for n in $(seq 600); do echo tick $n; sleep 0.05; done', wait: false },
      key,
    });
    const stream = await b.request(`/v1/sandboxes/${id}/programs/1/events`, { key });
    const waiting = b.json(`/v1/sandboxes/${id}/programs`, { body: { cmd: 'sleep 60' }, key });
    const terminal = new WebSocket(`${b.url.replace('http', 'ws')}/v1/sandboxes/${id}/pty`, ['skillbox', `key.${key}`]);
    await once(terminal, 'open');
    const closed = once(terminal, 'close');
    await delay(300);
    const killedAt = Date.now();
    await a.kill();
    const seen = await events(stream);
    expect(seen.length).toBeGreaterThan(2);
    expect(seen.at(-1)).toMatchObject({ event: 'error', data: { error: 'on_another_host' } });
    expect(await waiting).toMatchObject({ status: 503, body: { error: 'unavailable', hint: expect.any(String) } });
    await closed;
    expect(Date.now() - killedAt).toBeLessThan(1500);

    const soon = await b.json(`/v1/sandboxes/${id}/programs`, { body: { cmd: 'true' }, key });
    expect(soon.status === 503 ? soon.body.error : soon.body.message).toMatch(/on_another_host|failed/);
    const state = async () => (await b.json<Sandbox>(`/v1/sandboxes/${id}`, { key })).body;
    await expect.poll(async () => (await state()).state, { timeout: leaseMs * 3 }).toBe('failed');
    console.log(`failed ${Date.now() - killedAt} ms after the kill, lease ${leaseMs} ms`);
    expect(await state()).toMatchObject({ reason: `its host ${a.host} is gone`, ended_at: expect.any(String) });
    expect((await b.json(`/v1/sandboxes/${id}/programs`, { body: { cmd: 'true' }, key })).body).toMatchObject({
      error: 'not_found',
      message: expect.stringContaining('is gone'),
    });
    expect(await b.json(`/v1/sandboxes/${id}`, { method: 'DELETE', key })).toMatchObject({ status: 200, body: { state: 'failed' } });

    const history = async (): Promise<CreditEntry[]> =>
      (await b.json<Page<CreditEntry>>('/v1/credits/history?limit=100', { key })).body.items;
    const kinds = async () => (await history()).map(({ kind }) => kind).sort();
    expect(await kinds()).toEqual(['grant', 'hold', 'release', 'settle']);
    expect((await b.json<CreditBalance>('/v1/credits', { key })).body).toMatchObject({ held: 0 });

    // Its programs outlived the server, and the record says that the sandbox has ended.
    expect(disks(a)).toEqual([id]);
    const back = await start({}, a.stateRoot);
    expect(back.host).toBe(a.host);
    expect(disks(back)).toEqual([]);
    expect(await leftoversSettled({ ...back }, { standby: 2 })).toEqual([]);
    expect(await state()).toMatchObject({ state: 'failed' });
    expect(await kinds()).toEqual(['grant', 'hold', 'release', 'settle']);
    const again = await create(back);
    expect((await exec(b, again.id, 'echo works')).stdout).toBe('works\n');
  });

  it('an owner that slept through its lease ends what was closed meanwhile, without a restart', { timeout: 60_000 }, async () => {
    const [a, b] = await both();
    const { id } = await create(a);
    await exec(b, id, 'sleep 300', { wait: false });
    const waiting = b.json(`/v1/sandboxes/${id}/programs`, { body: { cmd: 'sleep 60' } });
    a.signal('SIGSTOP');
    try {
      await expect.poll(async () => (await b.json<Sandbox>(`/v1/sandboxes/${id}`)).body.state, { timeout: leaseMs * 4 }).toBe('failed');
      // Its connection stands, and would for ever.
      expect(await waiting).toMatchObject({ status: 503, body: { error: 'unavailable' } });
    } finally {
      a.signal('SIGCONT');
    }
    await expect.poll(() => disks(a), { timeout: 10_000 }).toEqual([]);
    expect(await leftoversSettled({ ...a }, { standby: 2 })).toEqual([]);
    expect((await b.json<Sandbox>(`/v1/sandboxes/${id}`)).body).toMatchObject({ state: 'failed' });
  });
});

const pricedTemplate = { price_per_hour: 3.6, ttl: { default: '10m' }, idle: { action: 'keep' } };
