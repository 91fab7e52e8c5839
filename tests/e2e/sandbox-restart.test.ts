/** What a restart keeps and what a crash leaves: the server as a process of its own, stopped and killed. */

import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Page, Sandbox } from '@skillbox/protocol';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { sandboxGroups } from '../support/leftovers.ts';
import { newStateRoot, type ServerProcess, startServerProcess } from '../support/server-process.ts';

let stateRoot: string;
let server: ServerProcess;
const start = async (): Promise<void> => {
  server = await startServerProcess({ stateRoot });
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
