/** Credits over the API and the command line, and through a server that is killed. */

import { rmSync } from 'node:fs';
import type { CreditBalance, CreditEntry, Page, Sandbox } from '@skillbox/protocol';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { newStateRoot, type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { main } from './cli-process.ts';

/** A second of it costs exactly 0.001 credits. */
const pricePerHour = 3.6;
const template = { price_per_hour: pricePerHour, ttl: { default: '10m' }, idle: { action: 'keep' } };

type Server = Pick<TestBox | ServerProcess, 'json' | 'newKey'>;
const balanceOf = async (server: Server, key: string): Promise<CreditBalance> =>
  (await server.json<CreditBalance>('/v1/credits', { key })).body;
const historyOf = async (server: Server, key: string): Promise<CreditEntry[]> =>
  (await server.json<Page<CreditEntry>>('/v1/credits/history?limit=500', { key })).body.items;
const grant = (server: Server, tenant: string, amount: number, headers = {}) =>
  server.json<CreditEntry>('/v1/credits/grants', { body: { tenant, amount, note: 'for a test' }, headers });
const create = (server: Server, key: string, name = 'priced') => server.json<Sandbox>('/v1/sandboxes', { body: { template: name }, key });
const destroy = (server: Server, key: string, id: string) => server.json<Sandbox>(`/v1/sandboxes/${id}`, { method: 'DELETE', key });
const micro = (credits: number): number => Math.round(credits * 1e6);

describe('over the API', () => {
  let box: TestBox;
  const keyOf = (tenant: string) => box.newKey(tenant, ['sandboxes:use', 'sandboxes:read']);
  beforeAll(async () => {
    box = await startTestBox();
    expect((await box.json('/v1/templates/priced', { method: 'PUT', body: template })).status).toBe(200);
    const broken = { ...template, setup: ['exit 7'] };
    expect((await box.json('/v1/templates/priced-broken', { method: 'PUT', body: broken })).status).toBe(200);
  });
  afterAll(() => box.stop());

  it('20 priced sandboxes at once are paid to the second, and the rest comes back', async () => {
    const key = await keyOf('many');
    await grant(box, 'many', 20);
    const made = await Promise.all(Array.from({ length: 20 }, () => create(box, key)));
    expect(new Set(made.map(({ status }) => status))).toEqual(new Set([201]));
    const during = await balanceOf(box, key);
    expect(micro(during.held)).toBe(20 * 600_000);
    expect(micro(during.available)).toBe(micro(20) - 20 * 600_000);
    await Promise.all(made.flatMap(({ body }) => [destroy(box, key, body.id), destroy(box, key, body.id)]));

    const after = await balanceOf(box, key);
    const entries = await historyOf(box, key);
    for (const { body } of made) {
      const own = entries.filter(({ sandbox }) => sandbox === body.id);
      expect(own.map(({ kind }) => kind).sort()).toEqual(['hold', 'release', 'settle']);
      const ended = (await box.json<Sandbox>(`/v1/sandboxes/${body.id}`, { key })).body.ended_at;
      const lived = (Date.parse(ended ?? '') - Date.parse(body.created_at)) / 1000;
      const paid = (own.find(({ kind }) => kind === 'settle')?.amount ?? 0) * 1000;
      expect(paid).toBeGreaterThanOrEqual(Math.floor(lived));
      // It begins and ends with its record, a moment beside the times that the record tells.
      expect(paid).toBeLessThanOrEqual(Math.ceil(lived) + 2);
    }
    const settled = entries.filter(({ kind }) => kind === 'settle').reduce((sum, { amount }) => sum + micro(amount), 0);
    expect(micro(after.spent)).toBe(settled);
    expect(after.held).toBe(0);
    expect(micro(after.available)).toBe(micro(20) - settled);
  });

  it('without enough the answer is 402, and there is no sandbox', async () => {
    const key = await keyOf('poor');
    await grant(box, 'poor', 0.5);
    const refused = await create(box, key);
    expect(refused).toMatchObject({ status: 402, body: { error: 'insufficient_credits', details: { needed: 0.6 } } });
    expect((await box.json<Page<Sandbox>>('/v1/sandboxes', { key })).body.items).toEqual([]);
    expect(await balanceOf(box, key)).toMatchObject({ available: 0.5, held: 0, spent: 0 });
  });

  it('what has no price works without credits and leaves no entry', async () => {
    const key = await keyOf('free');
    const made = await create(box, key, 'canary');
    expect(made.status).toBe(201);
    await destroy(box, key, made.body.id);
    expect(await historyOf(box, key)).toEqual([]);
  });

  it('one that could not be made costs nothing', async () => {
    const key = await keyOf('unlucky');
    await grant(box, 'unlucky', 1);
    expect((await create(box, key, 'priced-broken')).status).toBe(503);
    expect(await balanceOf(box, key)).toMatchObject({ available: 1, held: 0, spent: 0 });
    expect((await historyOf(box, key)).map(({ kind }) => kind)).toEqual(['release', 'hold', 'grant']);
  });

  it('a grant is for administrators, audited, and given once for one Idempotency-Key', async () => {
    const key = await keyOf('once');
    const asTenant = await box.json('/v1/credits/grants', { body: { tenant: 'once', amount: 5 }, key });
    expect(asTenant).toMatchObject({ status: 403, body: { error: 'forbidden' } });
    const headers = { 'Idempotency-Key': 'may' };
    const first = await grant(box, 'once', 5, headers);
    expect(first).toMatchObject({ status: 201, body: { kind: 'grant', amount: 5, tenant: 'once', note: 'for a test' } });
    expect((await grant(box, 'once', 5, headers)).body).toEqual(first.body);
    expect(await grant(box, 'once', 6, headers)).toMatchObject({ status: 409, body: { error: 'idempotency_conflict' } });
    expect(await balanceOf(box, key)).toMatchObject({ available: 5, granted: 5 });
    const { items } = (await box.json<Page<{ data: unknown }>>('/v1/events?type=audit.credits.grant')).body;
    expect(JSON.stringify(items)).toContain('"once"');
    for (const amount of [0, -1, 1e10, 1e-9, '5'])
      expect((await box.json('/v1/credits/grants', { body: { tenant: 'once', amount } })).status).toBe(400);
  });

  it('pages of the history meet without a gap', async () => {
    const key = await keyOf('pages');
    for (const amount of [1, 2, 3]) await grant(box, 'pages', amount);
    const seen: number[] = [];
    let cursor = '';
    do {
      const { body } = await box.json<Page<CreditEntry>>(`/v1/credits/history?limit=1${cursor && `&cursor=${cursor}`}`, { key });
      seen.push(...body.items.map(({ amount }) => amount));
      cursor = body.next_cursor ?? '';
    } while (cursor);
    expect(seen).toEqual([3, 2, 1]);
    const forged = Buffer.from('["x"]').toString('base64url');
    expect((await box.json(`/v1/credits/history?cursor=${forged}`, { key })).status).toBe(400);
  });

  it('the command line shows, grants and lists', async () => {
    const at = { SKILLBOX_SERVER_URL: box.url, SKILLBOX_API_KEY: box.key };
    expect((await main(['credits', 'grant', 'cli', '2.5', '--note', 'May'], at)).exit).toBe(0);
    const shown = await main(['credits', 'show', '--tenant', 'cli', '--json'], at);
    expect(JSON.parse(shown.stdout)).toMatchObject({ tenant: 'cli', available: 2.5 });
    const listed = await main(['credits', 'history', '--tenant', 'cli'], at);
    expect(listed.stdout).toMatch(/grant\s+2\.5/);
  });
});

it('a server killed between hold and settle neither loses nor charges twice', { timeout: 120_000 }, async () => {
  const stateRoot = newStateRoot();
  let server = await startServerProcess({ stateRoot });
  try {
    expect((await server.json('/v1/templates/priced', { method: 'PUT', body: template })).status).toBe(200);
    const slow = { ...template, setup: ['sleep 30'] };
    expect((await server.json('/v1/templates/priced-slow', { method: 'PUT', body: slow })).status).toBe(200);
    const key = await server.newKey('acme', ['sandboxes:use', 'sandboxes:read']);
    await grant(server, 'acme', 10);
    const living = (await create(server, key)).body;
    const lost = create(server, key, 'priced-slow').catch(() => undefined);
    await expect.poll(async () => micro((await balanceOf(server, key)).held)).toBe(1_200_000);
    await server.kill();
    await lost;

    server = await startServerProcess({ stateRoot });
    // The one that was being made is closed for nothing; the one that lived goes on, and its hold with it.
    expect(await balanceOf(server, key)).toMatchObject({ available: 9.4, held: 0.6, spent: 0 });
    await server.kill();
    server = await startServerProcess({ stateRoot });
    expect((await destroy(server, key, living.id)).status).toBe(200);
    const after = await balanceOf(server, key);
    expect(after.held).toBe(0);
    const seconds = (Date.now() - Date.parse(living.created_at)) / 1000;
    expect(after.spent * 1000).toBeGreaterThan(0);
    expect(after.spent * 1000).toBeLessThanOrEqual(Math.ceil(seconds) + 1);
    expect(micro(after.available) + micro(after.spent)).toBe(micro(10));
  } finally {
    if (server.running) await server.stop();
  }
  const file = new Sqlite(`${stateRoot}/db/skillbox.sqlite`, { readonly: true });
  const open = file.prepare('select count(*) as count from credit_meters where closed_at is null').get();
  file.close();
  rmSync(stateRoot, { recursive: true, force: true });
  expect(open).toEqual({ count: 0 });
});
