/** Time holds through crashes: of many sandboxes with random times, across kills of the server, none outlives its own. */

import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Page, Sandbox } from '@skillbox/protocol';
import { afterEach, expect, it } from 'vitest';
import { leftoversSettled, sandboxGroups } from '../support/leftovers.ts';
import { seeded } from '../support/random.ts';
import { newStateRoot, type ServerProcess, startServerProcess } from '../support/server-process.ts';

/** SKILLBOX_CHAOS_SANDBOXES: for a long run. */
const count = Number(process.env.SKILLBOX_CHAOS_SANDBOXES ?? 80);
const kills = 3;
const atOnce = 8;
const seed = 20_261_115;
/** How far past its time a sandbox may live while a server is up. */
const latestMs = 2000;

let server: ServerProcess;
const stateRoot = newStateRoot();
/** When a server was there to keep time. */
const up: { readonly from: number; to: number }[] = [];

const start = async (): Promise<void> => {
  server = await startServerProcess({ stateRoot, env: { SKILLBOX_TENANT_SANDBOXES: '1000' } });
  up.push({ from: Date.now(), to: Number.POSITIVE_INFINITY });
};
const noteDown = (): void => {
  const last = up.at(-1);
  if (last) last.to = Date.now();
};
afterEach(async () => {
  if (server.running) await server.stop();
  rmSync(stateRoot, { recursive: true, force: true });
});

const disks = (): string[] => readdirSync(join(stateRoot, 'sandboxes', 'living')).sort();
const running = (): string[] =>
  sandboxGroups(`${server.host}-living`).flatMap((group) => readFileSync(join(group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean));

async function everySandbox(): Promise<Sandbox[]> {
  const found: Sandbox[] = [];
  for (let cursor = ''; ; ) {
    const { body } = await server.json<Page<Sandbox>>(`/v1/sandboxes?limit=100${cursor && `&cursor=${cursor}`}`);
    found.push(...body.items);
    if (!body.next_cursor) return found;
    cursor = encodeURIComponent(body.next_cursor);
  }
}

/** Milliseconds of a server's life between the two moments. */
const uptimeBetween = (from: number, to: number): number =>
  up.reduce((sum, life) => sum + Math.max(0, Math.min(to, life.to) - Math.max(from, life.from)), 0);

it(`${count} sandboxes with random times, ${kills} kills: none is late, nothing is left`, { timeout: 180_000 }, async () => {
  console.info(`seed ${seed}`);
  const random = seeded(seed);
  await start();
  const wanted = Array.from({ length: count }, () => 2 + random() * 10);
  const killAt = Array.from({ length: kills }, (_, index) => Math.floor((count * (index + 1)) / (kills + 1)));
  const answered = new Set<string>();
  const create = async (seconds: number): Promise<void> => {
    const { status, body } = await server.json<Sandbox>('/v1/sandboxes', { body: { template: 'canary', ttl: seconds } });
    expect(status).toBe(201);
    answered.add(body.id);
  };
  while (wanted.length > 0) {
    const batch = wanted.splice(0, atOnce);
    const dies = killAt[0] !== undefined && answered.size >= killAt[0];
    const settled = Promise.allSettled(batch.map(create));
    if (!dies) {
      for (const result of await settled) if (result.status === 'rejected') throw result.reason;
      continue;
    }
    killAt.shift();
    await delay(random() * 150);
    await server.kill();
    noteDown();
    // What got no answer is asked for again.
    for (const [index, { status }] of (await settled).entries()) if (status === 'rejected') wanted.push(batch[index] ?? 0);
    await delay(random() * 1500);
    await start();
  }
  expect(killAt).toEqual([]);
  await expect
    .poll(async () => (await everySandbox()).filter(({ ended_at }) => ended_at === null), { timeout: 60_000, interval: 500 })
    .toEqual([]);

  const all = await everySandbox();
  expect([...answered].filter((id) => !all.some((sandbox) => sandbox.id === id))).toEqual([]);
  expect(answered.size).toBe(count);
  const ended = all.filter(({ state }) => state === 'destroyed');
  // What was being made when the server died has failed; whatever was answered has lived its time.
  expect(all.filter(({ id, state }) => state !== 'destroyed' && answered.has(id))).toEqual([]);
  const lateness = ended.map(({ expires_at, ended_at }) => uptimeBetween(Date.parse(expires_at ?? ''), Date.parse(ended_at ?? '')));
  console.info(`${ended.length} ended; latest ${Math.round(Math.max(...lateness))} ms after its time`);
  expect(Math.max(...lateness)).toBeLessThan(latestMs);
  for (const { expires_at, ended_at } of ended) expect(Date.parse(ended_at ?? '')).toBeGreaterThanOrEqual(Date.parse(expires_at ?? ''));

  expect(disks()).toEqual([]);
  expect(running()).toEqual([]);
  expect(await server.stop()).toBe(0);
  noteDown();
  expect(await leftoversSettled({ ...server })).toEqual([]);
  expect(await leftoversSettled({ ...server, host: `${server.host}-living` })).toEqual([]);
});
