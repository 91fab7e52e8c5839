/** Living sandboxes over the API: their life, their time, their disks, who may see them. */

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { BoxEvent, Page, Sandbox, Snapshot, Template } from '@skillbox/protocol';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { builtInTemplates } from '../../packages/box/src/sandbox/built-in-templates.ts';
import { startTestBox, type TestBox } from '../support/box.ts';
import { databaseOf, databases, type TestDatabase } from '../support/databases.ts';

describe.each(databases)('on %s', (kind) => {
  let box: TestBox;
  let database: TestDatabase;
  beforeAll(async () => {
    database = await databaseOf(kind);
    box = await startTestBox({ SKILLBOX_TENANT_SANDBOXES: '6', ...database.env });
  });
  afterEach(async () => {
    const { items } = (await box.json<Page<Sandbox>>('/v1/sandboxes?limit=500')).body;
    for (const { id } of items.filter(({ state }) => state === 'ready' || state === 'paused')) await destroy(id);
  });
  afterAll(async () => {
    await box.stop();
    await database.stop();
  });

  const create = async (body: Record<string, unknown> = {}, key = box.key): Promise<Sandbox> => {
    const answer = await box.json<Sandbox>('/v1/sandboxes', { body, key });
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  };
  const get = async (id: string): Promise<Sandbox> => (await box.json<Sandbox>(`/v1/sandboxes/${id}`)).body;
  const destroy = async (id: string): Promise<Sandbox> => (await box.json<Sandbox>(`/v1/sandboxes/${id}`, { method: 'DELETE' })).body;
  const post = <T = Sandbox>(id: string, what: string, body: unknown = {}) => box.json<T>(`/v1/sandboxes/${id}/${what}`, { body });
  const diskOf = (id: string): string => join(box.stateRoot, 'sandboxes', 'living', id);

  async function sh(id: string, script: string): Promise<string> {
    const { handle, done } = await box.box.sandboxes.use('default', id);
    try {
      const program = await handle.start({
        ...{ id: box.box.sandboxes.nextProgramId(id), argv: ['/bin/sh', '-c', script], cwd: '/home/user', stdin: false },
        env: { PATH: '/usr/bin:/bin' },
      });
      let text = '';
      for await (const event of program.events) if (event.type === 'stdout' || event.type === 'stderr') text += event.bytes.toString();
      return text;
    } finally {
      done();
    }
  }

  /** Made for one test: the base, with something changed. */
  async function newTemplate(name: string, more: Partial<Template>): Promise<Template> {
    const base = builtInTemplates.find((template) => template.name === 'base') as Template;
    return box.box.templates.apply({ ...base, ...more, name }, 'test');
  }

  async function until(state: string, id: string, withinMs: number): Promise<Sandbox> {
    const deadline = Date.now() + withinMs;
    for (;;) {
      const now = await get(id);
      if (now.state === state) return now;
      if (Date.now() > deadline) throw new Error(`${id} is still ${now.state}`);
      await delay(50);
    }
  }

  describe('life', () => {
    it('is made, shown, listed by label, state and template, and destroyed, twice if need be', async () => {
      const made = await create({ template: 'base', labels: { owner: 'ann', odd: 'a=b&c' }, env: { COLOUR: 'blue' } });
      expect(made).toMatchObject({
        ...{ state: 'ready', template: 'base@1', provider: 'bubblewrap', tier: 'namespaces', host: box.box.host, network: 'none' },
        route: [{ provider: 'bubblewrap', taken: true }],
      });
      expect(made.id).toMatch(/^i[a-z0-9]{19}$/);
      expect(await sh(made.id, 'echo hello $COLOUR')).toBe('hello blue\n');
      const listed = async (query: string) => (await box.json<Page<Sandbox>>(`/v1/sandboxes?${query}`)).body.items.map(({ id }) => id);
      const labels = encodeURIComponent(new URLSearchParams({ owner: 'ann', odd: 'a=b&c' }).toString());
      expect(await listed(`labels=${labels}`)).toEqual([made.id]);
      expect(await listed('labels=owner%3Dbob')).toEqual([]);
      expect(await listed('state=ready&template=base')).toContain(made.id);
      expect(await listed('template=base%401')).toContain(made.id);
      expect(await listed('template=bas')).toEqual([]);
      expect(await destroy(made.id)).toMatchObject({ state: 'destroyed', reason: 'asked for', ended_at: expect.any(String) });
      expect(await destroy(made.id)).toMatchObject({ state: 'destroyed' });
      expect(existsSync(diskOf(made.id))).toBe(false);
      await expect(box.box.sandboxes.use('default', made.id)).rejects.toMatchObject({ code: 'not_found' });
    });

    it('leaves an event for each transition, with who and why', async () => {
      const { id } = await create();
      await post(id, 'pause');
      await post(id, 'resume');
      await destroy(id);
      const { body } = await box.json<Page<BoxEvent>>(`/v1/sandboxes/${id}/events`);
      expect(body.items.map(({ type, data }) => [type, (data as { from: string }).from])).toEqual([
        ['sandbox.requested', null],
        ['sandbox.provisioning', 'requested'],
        ['sandbox.ready', 'provisioning'],
        ['sandbox.paused', 'ready'],
        ['sandbox.ready', 'paused'],
        ['sandbox.destroying', 'ready'],
        ['sandbox.destroyed', 'destroying'],
      ]);
      expect(body.items.every(({ actor }) => actor.kind === 'adm')).toBe(true);
      const first = await box.json<Page<BoxEvent>>(`/v1/sandboxes/${id}/events?limit=3`);
      const rest = await box.json<Page<BoxEvent>>(`/v1/sandboxes/${id}/events?cursor=${first.body.next_cursor}`);
      expect([...first.body.items, ...rest.body.items]).toEqual(body.items);
    });

    it('pauses and resumes: the disk stays, what ran ends, the next use wakes it', async () => {
      const { id } = await create({ template: 'base' });
      await sh(id, 'echo kept > note; sleep 300 >/dev/null 2>&1 &');
      expect((await post(id, 'pause')).body).toMatchObject({ state: 'paused' });
      expect((await post(id, 'pause')).body).toMatchObject({ state: 'paused' });
      expect(await sh(id, 'cat note; ps ax 2>/dev/null | grep -c "[s]leep 300"')).toMatch(/^kept\n/);
      expect(await get(id)).toMatchObject({ state: 'ready' });
      await destroy(id);
      expect((await post(id, 'pause')).body).toMatchObject({ error: 'invalid_state' });
      expect((await post(id, 'resume')).status).toBe(409);
    });

    it('is recreated with a fresh disk under the same id, also after its end', async () => {
      const { id } = await create({ template: 'base', env: { A: '1' }, labels: { l: 'v' } });
      await sh(id, 'echo x > note');
      expect((await post(id, 'recreate')).body).toMatchObject({ id, state: 'ready', labels: { l: 'v' } });
      expect(await sh(id, 'ls; echo $A')).toBe('1\n');
      await destroy(id);
      expect((await post(id, 'recreate')).body).toMatchObject({ id, state: 'ready', ended_at: null });
      expect(await sh(id, 'echo $A')).toBe('1\n');
      await destroy(id);
    });
  });

  describe('time', () => {
    it('ends what has lived long enough, within a second, and takes a longer time', async () => {
      const [short, longer] = await Promise.all([create({ ttl: '1s' }), create({ ttl: '1500ms' })]);
      await post(longer.id, 'ttl', { ttl: '10m' });
      const ended = await until('destroyed', short.id, 3000);
      expect(Date.parse(ended.ended_at ?? '') - Date.parse(short.expires_at ?? '')).toBeLessThan(1000);
      expect(ended.reason).toBe('its time was over');
      await delay(700);
      expect(await get(longer.id)).toMatchObject({ state: 'ready' });
      expect((await post(longer.id, 'ttl', { ttl: '100ms' })).status).toBe(200);
      await until('destroyed', longer.id, 1500);
      expect((await box.json('/v1/sandboxes', { body: { ttl: '1000h' } })).body).toMatchObject({ error: 'bad_request' });
    });

    it('pauses at the end where that was asked for, and a later use starts a new period', async () => {
      const { id } = await create({ template: 'base', ttl: '500ms', on_expiry: 'pause' });
      expect(await until('paused', id, 2000)).toMatchObject({ expires_at: null, reason: 'its time was over', pause_cause: 'expired' });
      expect(await sh(id, 'echo back')).toBe('back\n');
      const again = await get(id);
      expect(Date.parse(again.expires_at ?? '')).toBeGreaterThan(Date.now() + 60_000);
      await destroy(id);
    });

    it('puts the idle to rest, never what is used or runs a program', async () => {
      await newTemplate('sleepy', { idle: { action: 'pause', after_ms: 1000 } });
      const [idle, used, busy] = await Promise.all([1, 2, 3].map(() => create({ template: 'sleepy' })));
      if (!idle || !used || !busy) throw new Error('three were asked for');
      const start = await box.box.sandboxes.use('default', busy.id);
      const sleep = { id: box.box.sandboxes.nextProgramId(busy.id), argv: ['/bin/sleep', '30'], env: {}, cwd: '/', stdin: false };
      (await start.handle.start(sleep)).detach();
      start.done();
      const using = await box.box.sandboxes.use('default', used.id);
      await until('paused', idle.id, 4000);
      await delay(500);
      expect([(await get(used.id)).state, (await get(busy.id)).state]).toEqual(['ready', 'ready']);
      using.done();
      await until('paused', used.id, 4000);
      expect(await sh(idle.id, 'echo awake')).toBe('awake\n');
      for (const { id } of [idle, used, busy]) await destroy(id);
    });

    it('a daemon that an ended program left counts as something that runs', async () => {
      await newTemplate('nappy', { idle: { action: 'pause', after_ms: 1000 } });
      const { id } = await create({ template: 'nappy' });
      await sh(id, 'setsid sleep 300 >/dev/null 2>&1 & echo $! > pid');
      await delay(2500);
      expect(await get(id)).toMatchObject({ state: 'ready', pause_cause: null });
      await sh(id, 'kill $(cat pid)');
      expect(await until('paused', id, 5000)).toMatchObject({ pause_cause: 'idle', reason: 'nothing used it for 1 s' });
      await post(id, 'resume');
      expect((await post(id, 'pause')).body).toMatchObject({ pause_cause: 'asked' });
      await destroy(id);
    });

    it('a time limit ends what runs, and does not wake what was paused meanwhile', async () => {
      const { id } = await create({ template: 'base' });
      const exec = (cmd: string, more = {}) => post<{ signal: string | null; timed_out: boolean }>(id, 'programs', { cmd, ...more });
      expect((await exec('sleep 30', { timeout: '300ms' })).body).toMatchObject({ signal: 'SIGKILL', timed_out: true });
      expect((await exec('echo quick', { timeout: '5s' })).body).toMatchObject({ signal: null, timed_out: false });
      await exec('sleep 30', { timeout: '800ms', wait: false });
      await post(id, 'pause');
      await delay(1500);
      expect(await get(id)).toMatchObject({ state: 'paused' });
      expect(existsSync(join(box.stateRoot, 'run', 'bubblewrap', 'living', `${id}.sock`))).toBe(false);
      // Numbers start again with a new disk; a limit of the old one is nothing to it.
      await exec('sleep 30', { timeout: '1s', wait: false });
      await post(id, 'recreate');
      expect((await exec('sleep 1.5; echo alive')).body).toMatchObject({ stdout: 'alive\n', timed_out: false });
      const { count } = await box.box.store.database.kysely
        .selectFrom('program_limits')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      expect(Number(count)).toBe(0);
    });
  });

  describe('disks', () => {
    it('snapshots, starts from one, restores, and removes the layers when nothing stands on them', async () => {
      const { id } = await create({ template: 'base' });
      await sh(id, 'echo one > note');
      const { status, body: snapshot } = await post<Snapshot>(id, 'snapshots', { name: 'first' });
      expect([status, snapshot]).toMatchObject([201, { sandbox: id, name: 'first', template: 'base@1' }]);
      await sh(id, 'echo two > note');
      const copy = await create({ snapshot: snapshot.id });
      expect(copy.template).toBe('base@1');
      expect([copy.origin, (await get(id)).origin]).toEqual([{ sandbox: id, snapshot: snapshot.id }, null]);
      expect(await sh(copy.id, 'cat note')).toBe('one\n');
      expect((await post(id, 'restore', { snapshot: snapshot.id })).body).toMatchObject({ id, state: 'ready' });
      expect(await sh(id, 'cat note')).toBe('one\n');
      expect((await box.json<Page<Snapshot>>(`/v1/snapshots?sandbox=${id}`)).body.items).toEqual([snapshot]);
      expect((await box.request(`/v1/snapshots/${snapshot.id}`, { method: 'DELETE' })).status).toBe(204);
      expect((await box.json('/v1/sandboxes', { body: { snapshot: snapshot.id } })).status).toBe(404);
      expect(await sh(copy.id, 'cat note')).toBe('one\n');
      await destroy(id);
      await destroy(copy.id);
      await expect.poll(() => readdirSync(join(box.stateRoot, 'sandboxes', 'layers'))).toEqual(['base']);
    });

    it('forks: each goes its own way from the same disk', async () => {
      const { id } = await create({ template: 'base', env: { A: '1' } });
      await sh(id, 'echo shared > note');
      const { status, body } = await post<Page<Sandbox>>(id, 'fork', { count: 2 });
      expect(status).toBe(201);
      const [one, two] = body.items;
      if (!one || !two) throw new Error('two were asked for');
      expect([one.origin, two.origin]).toEqual(Array(2).fill({ sandbox: id, snapshot: null }));
      await sh(one.id, 'echo changed > note');
      expect(await sh(two.id, 'cat note; echo $A')).toBe('shared\n1\n');
      expect(await sh(id, 'cat note')).toBe('shared\n');
      // All or none: four more are not allowed.
      expect((await post(id, 'fork', { count: 4 })).body).toMatchObject({ error: 'sandbox_limit' });
      expect((await box.json<Page<Sandbox>>('/v1/sandboxes?state=ready')).body.items).toHaveLength(3);
      for (const sandbox of [id, one.id, two.id]) await destroy(sandbox);
      await expect.poll(() => readdirSync(join(box.stateRoot, 'sandboxes', 'layers'))).toEqual(['base']);
    });
  });

  describe('who and where', () => {
    it('keeps tenants apart and counts each one’s', async () => {
      const key = await box.newKey('other', ['sandboxes:read', 'sandboxes:use']);
      const mine = await create();
      for (const [method, path] of [
        ['GET', ''],
        ['DELETE', ''],
        ['POST', '/pause'],
        ['GET', '/events'],
      ] as const)
        expect((await box.json(`/v1/sandboxes/${mine.id}${path}`, { method, key })).status).toBe(404);
      await expect(box.box.sandboxes.use('other', mine.id)).rejects.toMatchObject({ code: 'not_found' });
      const theirs = await Promise.all(Array.from({ length: 6 }, () => create({}, key)));
      const refused = await box.json('/v1/sandboxes', { body: {}, key });
      expect([refused.status, refused.body.error]).toEqual([429, 'sandbox_limit']);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      await create().then(({ id }) => destroy(id));
      for (const { id } of theirs) await box.request(`/v1/sandboxes/${id}`, { method: 'DELETE', key });
      await destroy(mine.id);
    });

    it('says why no provider fits, and never does less than was asked for', async () => {
      const refusal = async (template: string, inputs = {}) => (await box.json('/v1/sandboxes', { body: { template, inputs } })).body;
      expect(await refusal('vm-attach')).toMatchObject({
        error: 'no_provider',
        details: { route: [{ provider: 'ssh', taken: false, reason: 'this host has no such provider' }] },
      });
      await newTemplate('online', { network: { mode: 'full', allow: [] } });
      expect(await refusal('online')).toMatchObject({ error: 'capability_missing', message: expect.stringContaining('network mode full') });
      expect(await refusal('compose-e2e')).toMatchObject({ error: 'invalid_input' });
      expect(await refusal('base', { x: 1 })).toMatchObject({ error: 'invalid_input' });
      expect(await refusal('nothing')).toMatchObject({ error: 'template_not_found' });
      const key = await box.newKey('other', ['sandboxes:use']);
      expect((await box.json('/v1/sandboxes', { body: { template: 'vm-attach' }, key })).status).toBe(403);
      const burst = await create({ template: 'burst' });
      expect(burst.route).toContainEqual({ provider: 'e2b', taken: false, reason: 'this host has no such provider' });
      await destroy(burst.id);
    });

    it('fails when a setup step does, says which, and leaves nothing', async () => {
      await newTemplate('broken', { setup: ['echo fine', 'echo no such luck >&2; exit 3'] });
      const { status, body } = await box.json('/v1/sandboxes', { body: { template: 'broken' } });
      expect([status, body.error]).toEqual([503, 'no_provider']);
      expect(body.message).toMatch(/ended with 3.*no such luck/);
      const { items } = (await box.json<Page<Sandbox>>('/v1/sandboxes?template=broken')).body;
      expect(items).toMatchObject([{ state: 'failed', reason: expect.stringContaining('no such luck') }]);
      expect(existsSync(diskOf(items[0]?.id ?? ''))).toBe(false);
    });

    it('records exactly which version of a template it was made from', async () => {
      await newTemplate('ours', { description: 'one' });
      await newTemplate('ours', { description: 'two' });
      const made = await Promise.all(['ours', 'ours@1', 'ours@2'].map((template) => create({ template })));
      expect(made.map(({ template }) => template)).toEqual(['ours@2', 'ours@1', 'ours@2']);
      for (const { id } of made) await destroy(id);
      expect((await box.json('/v1/sandboxes', { body: { template: 'ours@3' } })).status).toBe(404);
    });
  });
});
