/** What a restart keeps and what a crash leaves: the server as a process of its own, stopped and killed. */

import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Page, Sandbox } from '@skillbox/protocol';
import { Sandbox as E2bSandbox } from 'e2b';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { databaseOf, databases, type TestDatabase } from '../support/databases.ts';
import { sandboxGroups } from '../support/leftovers.ts';
import { newStateRoot, type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { e2bEnv } from './e2b-box.ts';
import { eventsOf } from './wire.ts';

let stateRoot: string;
let database: TestDatabase;
let server: ServerProcess;
const start = async (): Promise<void> => {
  server = await startServerProcess({ stateRoot, env: { ...database.env, SKILLBOX_SECRET_KEY: 'one secret for all these state roots' } });
};
beforeEach(() => {
  stateRoot = newStateRoot();
});
afterEach(async () => {
  if (!server.running) await start();
  for (const { id } of await all()) await server.json(`/v1/sandboxes/${id}`, { method: 'DELETE' });
  await server.stop();
  rmSync(stateRoot, { recursive: true, force: true });
});

const create = async (body: Record<string, unknown> = {}): Promise<Sandbox> => {
  const answer = await server.json<Sandbox>('/v1/sandboxes', { body });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body;
};
const all = async (): Promise<Sandbox[]> => (await server.json<Page<Sandbox>>('/v1/sandboxes?limit=500')).body.items;
const get = async (id: string): Promise<Sandbox> => (await server.json<Sandbox>(`/v1/sandboxes/${id}`)).body;
const disks = (): string[] => readdirSync(join(stateRoot, 'sandboxes', 'living')).sort();

/** Everything that runs in living sandboxes of this box. */
function guests(): string[] {
  const groups = sandboxGroups(`${server.host}-living`);
  return [...new Set(groups.flatMap((group) => readFileSync(join(group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean)))].sort();
}

describe.each(databases)('on %s', (kind) => {
  beforeAll(async () => {
    database = await databaseOf(kind);
  });
  afterAll(() => database.stop());

  it('keeps what is ready through a stop and a SIGKILL, and its time goes on', async () => {
    await start();
    const kept = await create({ template: 'base' });
    const short = await create({ template: 'base', ttl: '2s' });
    const running = guests();
    expect(running.length).toBeGreaterThanOrEqual(4);
    await server.stop();
    expect(guests()).toEqual(running);
    await start();
    await server.kill();
    await delay(Math.max(0, Date.parse(short.expires_at ?? '') - Date.now()));
    await start();
    const up = Date.now();
    expect(await get(kept.id)).toMatchObject({ state: 'ready', expires_at: kept.expires_at });
    await expect.poll(async () => (await get(short.id)).state, { timeout: 2000 }).toBe('destroyed');
    expect(Date.now() - up).toBeLessThan(2000);
    expect(disks()).toEqual([kept.id]);
  });

  it('killed at any moment of creating and destroying leaves nothing that no record owns', { timeout: 40_000 }, async () => {
    for (const patience of [20, 120]) {
      await start();
      const asked = Array.from({ length: 8 }, async (_, index) => {
        const made = await create(index % 2 ? { template: 'base' } : {});
        if (index % 4 < 2) await server.json(`/v1/sandboxes/${made.id}`, { method: 'DELETE' });
      });
      const settled = Promise.allSettled(asked);
      await delay(patience);
      await server.kill();
      await settled;
      await start();
      const rows = await all();
      expect(rows.filter(({ state }) => !['ready', 'failed', 'destroyed'].includes(state))).toEqual([]);
      const ready = rows.filter(({ state }) => state === 'ready').map(({ id }) => id);
      expect(disks()).toEqual(ready.sort());
      for (const row of rows.filter(({ state }) => state === 'failed')) expect(row.reason).toBe('the server stopped while it was made');
      for (const id of ready) await server.json(`/v1/sandboxes/${id}`, { method: 'DELETE' });
      await server.stop();
      expect(guests()).toEqual([]);
    }
  });

  it('says so when a disk is gone', async () => {
    await start();
    const { id } = await create({ template: 'base' });
    await server.json(`/v1/sandboxes/${id}/pause`, { body: {} });
    await server.stop();
    rmSync(join(stateRoot, 'sandboxes', 'living', id), { recursive: true });
    await start();
    expect(await get(id)).toMatchObject({ state: 'failed', reason: 'its disk is gone' });
  });

  it('a program started detached goes on through a SIGKILL: what was missed and its true exit code are there', {
    timeout: 60_000,
  }, async () => {
    await start();
    Object.assign(process.env, e2bEnv(server));
    const { id } = await create({ template: 'base' });
    const programs = `/v1/sandboxes/${id}/programs`;
    const run = async (cmd: string, more = {}): Promise<{ program_id: number; pid: number }> =>
      (await server.json<{ program_id: number; pid: number }>(programs, { body: { cmd, wait: false, ...more } })).body;
    const ticking = await run('for n in $(seq 120); do echo tick $n; sleep 0.1; done; exit 7');
    const short = await run('sleep 0.5; echo done in between; exit 5');
    const limited = await run('sleep 300', { timeout: '2500ms' });
    const late = await run('sleep 300', { timeout: '600ms' });
    const first: number[] = [];
    for await (const { id: at } of eventsOf(await server.request(`${programs}/${ticking.program_id}/events`))) {
      first.push(at);
      if (first.length === 3) break;
    }
    const limitedUntil = Date.now() + 2500;
    await server.kill();
    await delay(900);
    await start();
    Object.assign(process.env, e2bEnv(server));

    // The SDK joins what runs, by its pid.
    const sandbox = await E2bSandbox.connect(id);
    const joined = await sandbox.commands.connect(ticking.pid);
    const waited = joined.wait().catch((error: { exitCode: number; stdout: string }) => error);
    const seen: string[] = [];
    for await (const { event, data } of eventsOf(
      await server.request(`${programs}/${ticking.program_id}/events`, { headers: { 'Last-Event-ID': String(first.at(-1)) } }),
    ))
      seen.push(event === 'end' ? `end ${JSON.stringify(data)}` : data.text.trim());
    expect(seen).toEqual([...Array.from({ length: 117 }, (_, n) => `tick ${n + 4}`), 'end {"exit_code":7,"signal":null}']);
    expect(await waited).toMatchObject({ exitCode: 7, stdout: expect.stringMatching(/tick 120\n$/) });
    // And what ended while nobody listened, once.
    const ended = await sandbox.commands.connect(short.pid);
    await expect(ended.wait()).rejects.toMatchObject({ exitCode: 5, stdout: 'done in between\n' });
    await expect(sandbox.commands.connect(short.pid)).rejects.toThrow(/not_found/);
    const one = async (program: number) => (await server.json(`${programs}/${program}`)).body;
    expect(await one(short.program_id)).toMatchObject({ ended: true, exit_code: 5 });
    expect(await (await server.request(`${programs}/${short.program_id}/events`)).text()).toContain('done in between');
    // One limit was over while nobody looked, the other is met to the second.
    expect(await one(late.program_id)).toMatchObject({ ended: true, signal: 'SIGKILL' });
    await expect.poll(async () => (await one(limited.program_id)).signal, { timeout: 5000, interval: 50 }).toBe('SIGKILL');
    expect(Date.now()).toBeGreaterThan(limitedUntil - 100);
    // New programs get numbers that nobody has.
    expect((await run('true')).program_id).toBeGreaterThan(late.program_id);
  });
});
