import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Execution, Tenant } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { shellSkill, until } from './wire.ts';

const manifest = `version: 1
tenants:
  declared:
    slots: 1
    requests_per_second: 3
    storage: 2Ki
  partly: {}
`;

let box: TestBox;
beforeAll(async () => {
  const stateRoot = mkdtempSync(join(tmpdir(), 'skillbox-test-'));
  writeFileSync(join(stateRoot, 'skillbox.yaml'), manifest);
  box = await startTestBox({
    SKILLBOX_STATE_ROOT: stateRoot,
    SKILLBOX_MAX_CONCURRENT_EXECS: '3',
    SKILLBOX_TENANT_CONCURRENT_EXECS: '2',
    SKILLBOX_QUEUE_SIZE: '4',
    SKILLBOX_TENANT_QUEUE_SIZE: '3',
    SKILLBOX_QUEUE_TIMEOUT: '1500ms',
  });
});
afterAll(() => box.stop());

const tenantBox = async (name: string) => {
  const key = await box.newKey(name);
  expect(await box.push(shellSkill(), key)).toMatchObject({ status: 201 });
  const send = (run: string, wait = false) =>
    box.json<Execution & { error: unknown }>('/v1/executions', { body: { skill: 'shell', env: { RUN: run }, wait }, key });
  return {
    key,
    send,
    start: async (run: string) => (await send(run)).body.execution_id,
    get: async (id: string) => (await box.json<Execution>(`/v1/executions/${id}`, { key })).body,
    cancel: (id: string) => box.json(`/v1/executions/${id}/cancel`, { method: 'POST', key }),
    status: async (status: string) => (await box.json<{ items: Execution[] }>(`/v1/executions?status=${status}`, { key })).body.items,
  };
};
const setLimits = (name: string, limits: object) => box.json<Tenant>(`/v1/tenants/${name}`, { method: 'PUT', body: limits });

describe('slots', () => {
  it('hold a tenant to its own, and the box to all', async () => {
    const [a, b] = [await tenantBox('slots-a'), await tenantBox('slots-b')];
    const running = [await a.start('sleep 30'), await a.start('sleep 30')];
    const third = await a.start('echo third');
    expect((await a.get(third)).status).toBe('queued');
    // The box has one left; after that the other tenant waits too.
    const other = await b.start('sleep 30');
    expect((await b.get(other)).status).toBe('running');
    const fourth = await b.start('echo fourth');
    expect((await b.get(fourth)).status).toBe('queued');
    expect([(await a.status('running')).length, (await b.status('running')).length]).toEqual([2, 1]);

    await a.cancel(running[0] ?? '');
    for (const [tenant, id] of [
      [a, third],
      [b, fourth],
    ] as const)
      expect(
        await until(
          () => tenant.get(id),
          ({ status }) => status === 'success',
        ),
      ).toMatchObject({ error: null });
    const { queued_ms, duration_ms } = await a.get(third);
    expect(queued_ms).toBeGreaterThan(0);
    expect(duration_ms).toBeLessThan(1500);
    await a.cancel(running[1] ?? '');
    await b.cancel(other);
  });

  it('are given in turn: a flood of one tenant does not keep another waiting', async () => {
    const [flood, quiet] = [await tenantBox('flood'), await tenantBox('quiet')];
    await setLimits('flood', { slots: 3 });
    const held = await Promise.all([1, 2, 3].map(() => flood.start('sleep 30')));
    const flooded = [await flood.start('true'), await flood.start('true'), await flood.start('true')];
    const single = await quiet.start('true');
    await flood.cancel(held[0] ?? '');
    const done = await Promise.all([
      ...flooded.map((id) =>
        until(
          () => flood.get(id),
          ({ finished_at }) => finished_at !== null,
        ),
      ),
      until(
        () => quiet.get(single),
        ({ finished_at }) => finished_at !== null,
      ),
    ]);
    const order = [...done].sort((a, b) => ((a.started_at ?? '') < (b.started_at ?? '') ? -1 : 1)).map(({ tenant_id }) => tenant_id);
    expect(order.indexOf('quiet')).toBeLessThanOrEqual(1);
    await Promise.all(held.map((id) => flood.cancel(id)));
  });

  it('when the queue is full answer 429 with Retry-After, and leave no record', async () => {
    const tenant = await tenantBox('full');
    const held = [await tenant.start('sleep 30'), await tenant.start('sleep 30')];
    const waiting = [await tenant.start('true'), await tenant.start('true'), await tenant.start('true')];
    const refused = await tenant.send('true');
    expect(refused).toMatchObject({ status: 429, body: { error: 'queue_full' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    const { body } = await box.json<{ items: unknown[] }>('/v1/executions', { key: tenant.key });
    expect(body.items).toHaveLength(5);
    // The box has room for one more, of another tenant.
    const other = await tenantBox('full-other');
    const third = await other.start('sleep 30');
    expect((await other.send('true')).status).toBe(202);
    expect(await other.send('true')).toMatchObject({ status: 429, body: { error: 'queue_full' } });
    const metrics = await (await box.request('/metrics')).text();
    expect(metrics).toMatch(/skillbox_refused_total\{reason="queue_full"\} 2/);
    expect(metrics).toMatch(/skillbox_executions_queued 4/);
    await Promise.all([...held, ...waiting].map((id) => tenant.cancel(id)));
    await other.cancel(third);
    await until(
      async () => (await other.status('queued')).length + (await other.status('running')).length,
      (left) => left === 0,
    );
    expect((await tenant.send('echo free', true)).body).toMatchObject({ status: 'success' });
  });

  it('that do not come in time end the wait with queue_timeout', async () => {
    const tenant = await tenantBox('late');
    const held = [await tenant.start('sleep 30'), await tenant.start('sleep 30')];
    const started = performance.now();
    const { status, body } = await tenant.send('echo never', true);
    expect(performance.now() - started).toBeGreaterThanOrEqual(1400);
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: 'timeout', error: { code: 'queue_timeout' }, started_at: null, duration_ms: null, logs: '' });
    await Promise.all(held.map((id) => tenant.cancel(id)));
  });

  it('come free however a run ends', async () => {
    const tenant = await tenantBox('recycled');
    await setLimits('recycled', { slots: 1 });
    for (const run of ['true', 'exit 1', 'kill -9 $$', 'ln -s / $SANDBOX_OUTPUT']) await tenant.send(run, true);
    expect((await tenant.send('echo still', true)).body).toMatchObject({ status: 'success', queued_ms: 0, logs: 'still\n' });
    await until(async () => /skillbox_executions_running 0\n/.test(await (await box.request('/metrics')).text()));
  });
});

describe('requests', () => {
  it('of a tenant are held to its rate, with Retry-After, and come back', async () => {
    const key = await box.newKey('rated');
    expect(await setLimits('rated', { requests_per_second: 2 })).toMatchObject({ status: 200 });
    const answers = await Promise.all(Array.from({ length: 10 }, () => box.json('/v1/skills', { key })));
    const refused = answers.filter(({ status }) => status === 429);
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(5);
    expect(refused.length).toBeGreaterThanOrEqual(5);
    expect(refused[0]?.body).toMatchObject({ error: 'rate_limited' });
    const wait = Number(refused[0]?.headers.get('retry-after'));
    expect(wait).toBe(1);
    // Others do not feel it, nor does another key of the tenant get more.
    expect((await box.json('/v1/skills')).status).toBe(200);
    expect((await box.json('/v1/skills', { key: await box.newKey('rated') })).status).toBe(429);
    await delay(wait * 1000);
    expect((await box.json('/v1/skills', { key })).status).toBe(200);
  });
});

describe('storage', () => {
  it('over the quota is 403 for pushes and runs, and deleting makes room', async () => {
    const tenant = await tenantBox('stored');
    const { items } = (await box.json<{ items: Tenant[] }>('/v1/tenants')).body;
    const used = items.find(({ name }) => name === 'stored')?.storage_used_bytes ?? 0;
    expect(used).toBeGreaterThan(0);
    await setLimits('stored', { storage_bytes: used + 10 });
    const push = () => box.push(shellSkill('more'), tenant.key);
    expect(await push()).toMatchObject({
      status: 403,
      body: { error: 'quota_exceeded', details: { used_bytes: used, allowed_bytes: used + 10 } },
    });
    expect((await tenant.send('printf 0123456789', true)).body.status).toBe('success');
    expect(await tenant.send('true', true)).toMatchObject({ status: 403, body: { error: 'quota_exceeded' } });
    expect((await box.request('/v1/skills/shell/1.0.0', { method: 'DELETE', key: tenant.key })).status).toBe(204);
    expect(await push()).toMatchObject({ status: 201 });
  });

  it('is not overdrawn by what one run leaves', async () => {
    const tenant = await tenantBox('overdrawn');
    const used = (await box.box.tenants.get('overdrawn')).storage_used_bytes;
    await setLimits('overdrawn', { storage_bytes: used + 5000 });
    const { body } = await tenant.send('head -c 3000 /dev/zero > out/files/a; head -c 3000 /dev/zero > out/files/b', true);
    expect(body).toMatchObject({ status: 'failed', error: { code: 'quota_exceeded' }, files_list: [] });
    expect((await box.box.tenants.get('overdrawn')).storage_used_bytes).toBeLessThan(used + 1000);
    expect((await tenant.send('head -c 3000 /dev/zero > out/files/a', true)).body).toMatchObject({ status: 'success' });
  });

  it('counts skills, logs and artifacts exactly', async () => {
    const tenant = await tenantBox('counted');
    const used = async () => (await box.box.tenants.get('counted')).storage_used_bytes;
    const before = await used();
    await tenant.send('printf "caf\\303\\251" ; head -c 1000 /dev/zero > $SANDBOX_FILES_DIR/a; printf abc > $SANDBOX_FILES_DIR/b', true);
    expect((await used()) - before).toBe(5 + 1000 + 3);
  });

  it('cannot be passed by pushes at once', async () => {
    const key = await box.newKey('together');
    await box.push(shellSkill('first'), key);
    const size = (await box.box.tenants.get('together')).storage_used_bytes;
    await setLimits('together', { storage_bytes: Math.floor(size * 3.5) });
    const names = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6'];
    const answers = await Promise.all(names.map((name) => box.push(shellSkill(`${name}xx`), key)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 403, 403, 403, 403]);
    expect((await box.box.tenants.get('together')).storage_used_bytes).toBeLessThanOrEqual(size * 3.5);
  });
});

describe('limits of tenants', () => {
  it('are set over the API, in part, and last', async () => {
    const first = await setLimits('api-set', { slots: 5 });
    expect(first).toMatchObject({
      status: 200,
      body: { name: 'api-set', declared: false, limits: { slots: 5, requests_per_second: 100_000 } },
    });
    const second = await setLimits('api-set', { storage_bytes: 7 });
    expect(second.body.limits).toMatchObject({ slots: 5, storage_bytes: 7 });
    const { body } = await box.json<{ items: Tenant[] }>('/v1/tenants');
    expect(body.items.find(({ name }) => name === 'api-set')).toEqual(second.body);
  });

  it.each([
    { slots: 0 },
    { slots: 1.5 },
    { requests_per_second: 0 },
    { requests_per_second: -1 },
    { storage_bytes: -1 },
    { slot: 1 },
    { slots: '4' },
  ])('refuse %j', async (limits) => {
    expect(await setLimits('odd', limits)).toMatchObject({ status: 400, body: { error: 'bad_request' } });
  });

  it('that the manifest declares hold, and cannot be changed here', async () => {
    const { body } = await box.json<{ items: Tenant[] }>('/v1/tenants');
    expect(body.items.find(({ name }) => name === 'declared')).toMatchObject({
      declared: true,
      limits: { slots: 1, requests_per_second: 3, storage_bytes: 2048 },
    });
    expect(body.items.find(({ name }) => name === 'partly')).toMatchObject({ declared: true, limits: { slots: 2 } });
    for (const name of ['declared', 'partly'])
      expect(await setLimits(name, { slots: 9 })).toMatchObject({ status: 409, body: { error: 'declared_in_manifest' } });
    const key = await box.newKey('declared');
    expect(await box.push(shellSkill('large', { extra: `# ${'x'.repeat(3000)}\n` }), key)).toMatchObject({
      status: 403,
      body: { error: 'quota_exceeded' },
    });
    const answers = await Promise.all(Array.from({ length: 9 }, () => box.json('/v1/skills', { key })));
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(2);
  });
});
