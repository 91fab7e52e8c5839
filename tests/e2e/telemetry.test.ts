/** What an operator sees of a host: the route of a template, the machine, the canary, and what is left over. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CanaryRun, HostExamination, HostReport, Page, RouteExplanation, Sandbox, StaleItem } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SandboxRow } from '../../packages/box/src/store/tables.ts';
import { startTestBox, type TestBox } from '../support/box.ts';
import { main } from './cli-process.ts';

let box: TestBox;
beforeAll(async () => {
  // With a long lease no heartbeat comes between: what the tests break stays broken until they ask.
  box = await startTestBox({ SKILLBOX_LEASE_TTL: '30m' });
});
afterAll(() => box.stop());

const create = async (): Promise<Sandbox> => (await box.json<Sandbox>('/v1/sandboxes', { body: { template: 'base' } })).body;
const patch = (id: string, values: Partial<SandboxRow>) =>
  box.box.store.database.kysely.updateTable('sandboxes').set(values).where('id', '=', id).execute();
const diskOf = (id: string): string => join(box.stateRoot, 'sandboxes', 'living', id);
const stale = async (): Promise<StaleItem[]> => (await box.json<Page<StaleItem>>('/v1/host/stale')).body.items;
const reap = async (body = {}): Promise<StaleItem[]> => (await box.json<Page<StaleItem>>('/v1/host/reap', { body })).body.items;
const cli = (...words: string[]) => main(words, { SKILLBOX_SERVER_URL: box.url, SKILLBOX_API_KEY: box.key });

describe('route explain', () => {
  const explain = (name: string, key = box.key) => box.json<RouteExplanation>(`/v1/templates/${name}/route`, { key });

  it('names who would make it and why not the others, as the create then does', async () => {
    expect((await explain('burst')).body).toEqual({
      template: 'burst@1',
      price_per_hour: 0,
      route: [
        { provider: 'bubblewrap', taken: true, reason: 'the first that can' },
        { provider: 'e2b', taken: false, reason: 'this host has no such provider' },
      ],
    });
    const providers = ['compose-ssh', 'bubblewrap'];
    await box.json('/v1/templates/two', { method: 'PUT', body: { providers } });
    const { route } = (await explain('two')).body;
    const made = (await box.json<Sandbox>('/v1/sandboxes', { body: { template: 'two' } })).body;
    expect(made.route.map(({ provider, taken }) => [provider, taken])).toEqual(route.map(({ provider, taken }) => [provider, taken]));
    expect(made.provider).toBe('bubblewrap');
  });

  it('where nobody can, no candidate is taken and each has its reason', async () => {
    await box.json('/v1/templates/wide', { method: 'PUT', body: { providers: ['bubblewrap', 'e2b'], network: { mode: 'full' } } });
    expect((await explain('wide')).body.route).toEqual([
      { provider: 'bubblewrap', taken: false, reason: 'it has no network mode full' },
      { provider: 'e2b', taken: false, reason: 'this host has no such provider' },
    ]);
  });

  it('a template for administrators is theirs to explain; one that is not there is 404', async () => {
    const key = await box.newKey('curious', ['sandboxes:read']);
    expect(await explain('vm-attach', key)).toMatchObject({ status: 403, body: { error: 'forbidden' } });
    expect((await explain('vm-attach')).status).toBe(200);
    expect(await explain('absent')).toMatchObject({ status: 404, body: { error: 'template_not_found' } });
  });

  it('from the command line', async () => {
    const { exit, stdout } = await cli('route', 'explain', 'burst');
    expect({ exit, stdout }).toEqual({ exit: 0, stdout: expect.stringContaining('this host has no such provider') });
  });
});

describe('inspect host', () => {
  it('shows the machine, sandboxes by state and the health of providers', async () => {
    const before = (await box.json<HostReport>('/v1/host')).body;
    const { id } = await create();
    const { body } = await box.json<HostReport>('/v1/host');
    expect(body).toMatchObject({ host: box.box.host, version: box.box.version });
    expect(body.sandboxes.ready).toBe(before.sandboxes.ready + 1);
    expect(body.providers).toContainEqual(expect.objectContaining({ name: 'bubblewrap', tier: 'namespaces', healthy: true }));
    expect(body.cpus).toBeGreaterThan(0);
    expect(body.load).toHaveLength(3);
    expect(body.cpu_used).toBeGreaterThanOrEqual(0);
    expect(body.cpu_used).toBeLessThanOrEqual(1);
    for (const { total_bytes, free_bytes } of [body.memory, body.disk]) {
      expect(free_bytes).toBeGreaterThan(0);
      expect(total_bytes).toBeGreaterThan(free_bytes);
    }
    await box.json(`/v1/sandboxes/${id}`, { method: 'DELETE' });
    const after = (await box.json<HostReport>('/v1/host')).body.sandboxes;
    expect(after).toMatchObject({ ready: before.sandboxes.ready, destroyed: before.sandboxes.destroyed + 1 });
  });

  it('the doctor looks at it over the API as in the shell', async () => {
    const { status, body } = await box.json<HostExamination>('/v1/host/doctor');
    expect(status).toBe(200);
    const { stdout } = await cli('doctor', '--json');
    const names = ({ checks }: HostExamination): string[] => checks.map(({ name }) => name).filter((name) => !/^(port|server)$/.test(name));
    // The shell goes on with what is declared.
    expect(names(JSON.parse(stdout) as HostExamination)).toEqual(expect.arrayContaining(names(body)));
    expect(body.healthy).toBe(body.checks.every(({ state }) => state !== 'missing'));
    for (const { fix, state } of body.checks) if (state === 'missing') expect(fix).toBeTruthy();
    expect(body.checks).toContainEqual(expect.objectContaining({ name: 'state root', state: 'ok', detail: box.stateRoot }));
  });

  it('the canary tells how long each step took, is remembered, and leaves nothing', async () => {
    const [one, same] = await Promise.all([1, 2].map(() => box.json<CanaryRun>('/v1/host/canary', { body: {} })));
    expect(one?.body).toMatchObject({ ok: true, error: null });
    expect(same?.body).toEqual(one?.body);
    expect(one?.body.steps.map(({ step }) => step)).toEqual(['create', 'exec', 'destroy']);
    for (const { ms } of one?.body.steps ?? []) expect(ms).toBeGreaterThan(0);
    expect((await box.json<HostReport>('/v1/host')).body.canary).toEqual(one?.body);
    const { items } = (await box.json<Page<Sandbox>>('/v1/sandboxes?tenant=canary')).body;
    expect(items.map(({ state }) => state)).toEqual(['destroyed']);
  });

  it('a canary that cannot be made is an answer that says why', async () => {
    // Its tenant already has as many as it may.
    const full = await startTestBox({ SKILLBOX_TENANT_SANDBOXES: '1' });
    try {
      const asCanary = { 'X-Tenant-ID': 'canary' };
      expect((await full.json('/v1/sandboxes', { body: {}, headers: asCanary })).status).toBe(201);
      const { status, body } = await full.json<CanaryRun>('/v1/host/canary', { body: {} });
      expect(status).toBe(200);
      expect(body).toMatchObject({ ok: false, steps: [], error: expect.stringContaining('living sandboxes') });
    } finally {
      await full.stop();
    }
  });
});

describe('what is left over', () => {
  it('is shown by inspect stale and reap --dry-run, and gone after reap', async () => {
    expect(await stale()).toEqual([]);
    const [orphan, expired, unfinished, good] = await Promise.all([create(), create(), create(), create()]);
    await patch(orphan?.id ?? '', { state: 'destroyed' });
    await patch(expired?.id ?? '', { expires_at: '2026-01-01T00:00:00.000Z' });
    await patch(unfinished?.id ?? '', { state: 'destroying' });
    const item = (sandbox: Sandbox | undefined, why: StaleItem['why'], reaped: boolean) => ({
      ...{ sandbox: sandbox?.id, provider: 'bubblewrap', why, reaped },
    });
    const expected = (reaped: boolean) =>
      expect.arrayContaining([item(orphan, 'orphan', reaped), item(expired, 'expired', reaped), item(unfinished, 'unfinished', reaped)]);

    for (const found of [await stale(), await reap({ dry_run: true })]) {
      expect(found).toHaveLength(3);
      expect(found).toEqual(expected(false));
    }
    expect(existsSync(diskOf(orphan?.id ?? ''))).toBe(true);

    const reaped = await reap();
    expect(reaped).toHaveLength(3);
    expect(reaped).toEqual(expected(true));
    for (const gone of [orphan, expired, unfinished]) {
      expect(existsSync(diskOf(gone?.id ?? ''))).toBe(false);
      expect((await box.json<Sandbox>(`/v1/sandboxes/${gone?.id}`)).body.state).toBe('destroyed');
    }
    expect((await box.json<Sandbox>(`/v1/sandboxes/${good?.id}`)).body.state).toBe('ready');
    expect(existsSync(diskOf(good?.id ?? ''))).toBe(true);
    expect(await stale()).toEqual([]);
    const { items } = (await box.json<Page<unknown>>('/v1/events?type=audit.host.reap')).body;
    expect(items).toHaveLength(2);
  });

  it('is not what is being made at this moment', async () => {
    await box.json('/v1/templates/slow', { method: 'PUT', body: { setup: ['sleep 1.5'] } });
    const making = box.json<Sandbox>('/v1/sandboxes', { body: { template: 'slow' } });
    await expect.poll(async () => (await box.json<HostReport>('/v1/host')).body.sandboxes.provisioning).toBe(1);
    expect(await reap()).toEqual([]);
    expect((await making).body.state).toBe('ready');
  });

  it('from the command line', async () => {
    expect(await cli('reap', '--dry-run')).toMatchObject({ exit: 0 });
    expect(await cli('inspect', 'stale')).toMatchObject({ exit: 0, stdout: expect.stringContaining('Nothing here.') });
    const { stdout } = await cli('inspect', 'host', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ host: box.box.host });
  });
});
