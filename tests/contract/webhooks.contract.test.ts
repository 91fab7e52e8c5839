/** Deliveries to a real hub from real databases: nothing lost, in order for each subject, whoever fails. */

import { type BoxEvent, isErrorCode } from '@skillbox/protocol';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Caller } from '../../packages/box/src/access/caller.ts';
import { createEvents, type Events } from '../../packages/box/src/events/events.ts';
import type { DeclaredHook } from '../../packages/box/src/events/webhooks/hooks.ts';
import { type Timing, usualTiming } from '../../packages/box/src/events/webhooks/timing.ts';
import { createWebhooks, type HostedWebhooks } from '../../packages/box/src/events/webhooks/webhooks.ts';
import { createLog } from '../../packages/box/src/observe/log.ts';
import { openSecrets } from '../../packages/box/src/secrets.ts';
import type { Database } from '../../packages/box/src/store/database.ts';
import { createLeases } from '../../packages/box/src/store/leases.ts';
import { type Hub, startHub, until, verifyDelivery } from '../support/hub.ts';
import { type DatabaseFixture, describeDatabases } from './databases.ts';

const admin = (tenant: string): Caller => ({ tenant, actor: { kind: 'adm', id: 'key_1' }, scopes: ['admin'] });
const quick: Timing = { ...usualTiming, retryFirstMs: 20, retryMostMs: 100, probeMostMs: 100, timeoutMs: 500 };
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const manifestHook = (url: string, more: Partial<DeclaredHook> = {}): DeclaredHook => ({
  name: 'hub',
  url,
  events: ['sandbox.*'],
  secret,
  ...more,
});

interface Host {
  readonly webhooks: HostedWebhooks;
  readonly events: Events;
  readonly database: Database;
  tell(subject: string, type?: string, tenant?: string): Promise<BoxEvent>;
  stop(): Promise<void>;
  /** As SIGKILL does: nothing more is sent or written, and no lease is given back. */
  vanish(): Promise<void>;
}

interface HostOptions {
  readonly declared?: readonly DeclaredHook[];
  readonly timing?: Partial<Timing>;
  readonly name?: string;
  readonly leaseTtlMs?: number;
  readonly privateAddresses?: boolean;
  readonly start?: boolean;
}

describeDatabases('webhooks', (fixture) => {
  let hub: Hub;
  let hosts: Host[];
  beforeEach(async () => {
    hub = await startHub();
    hosts = [];
  });
  afterEach(async () => {
    for (const host of hosts) await host.stop();
    await hub.close();
  });
  const open = async (options: HostOptions = {}): Promise<Host> => {
    const host = await openHost(fixture, options);
    hosts.push(host);
    return host;
  };
  const types = (subject: string): string[] =>
    hub
      .accepted()
      .filter(({ event }) => event.subject.id === subject)
      .map(({ event }) => event.type);

  it('deliver each event that is wanted, signed, with the envelope as it is and the id of the event', async () => {
    const host = await open({ declared: [manifestHook(hub.url, { events: ['sandbox.*', 'skill.pushed'] })] });
    const told = [await host.tell('a'), await host.tell('a', 'sandbox.destroyed', 'other'), await host.tell('s', 'skill.pushed')];
    await host.tell('x', 'execution.finished');
    await host.tell('x', 'sandboxes.made');
    await until(() => hub.accepted().length === 3, 'three deliveries');
    await host.tell('last');
    await until(() => hub.accepted().length === 4, 'the last');
    expect(
      hub.received
        .slice(0, 3)
        .map(({ event }) => event)
        .sort((a, b) => a.seq - b.seq),
    ).toEqual(told);
    for (const one of hub.received) {
      expect(one.id).toBe(one.event.id);
      expect(verifyDelivery(secret, one)).toBe(true);
      expect(verifyDelivery(secret, { ...one, body: one.body.replace('sandbox', 'sandbux') })).toBe(false);
      expect(verifyDelivery(`whsec_${Buffer.alloc(32, 8).toString('base64')}`, one)).toBe(false);
      expect(one.headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': expect.stringMatching(/^skillbox\//) });
    }
    expect(hub.received).toHaveLength(4);
    await until(async () => (await host.webhooks.show('any', 'hub')).pending === 0, 'them to be recorded');
    const { items } = await host.webhooks.deliveries('any', 'hub', { limit: 10 });
    expect(items.map(({ state, attempts, status }) => ({ state, attempts, status }))).toEqual(
      Array(4).fill({ state: 'delivered', attempts: 1, status: 204 }),
    );
  });

  it('in order for each sandbox however often the hub fails, each event at least once', async () => {
    const host = await open({ declared: [manifestHook(hub.url)] });
    let calls = 0;
    // Every way to fail, in turn, two times of three.
    hub.answer = () => {
      calls += 1;
      if (calls % 3 === 0) return 204;
      return [500, 503, 404, (response: { destroy(): void }) => response.destroy(), 302][calls % 5] as number;
    };
    const subjects = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const steps = ['sandbox.requested', 'sandbox.provisioning', 'sandbox.ready', 'sandbox.destroying', 'sandbox.destroyed'];
    for (const step of steps) for (const subject of subjects) await host.tell(subject, step);
    await until(() => hub.accepted().length === subjects.length * steps.length, 'all of them', 25_000);
    for (const subject of subjects) expect(types(subject)).toEqual(steps);
    // Nothing of a subject was tried before what came earlier was taken.
    for (const subject of subjects) {
      const seqs = hub.received.filter(({ event }) => event.subject.id === subject).map(({ event }) => event.seq);
      expect(seqs).toEqual([...seqs].sort((x, y) => x - y));
    }
    await until(async () => (await host.webhooks.show('x', 'hub')).pending === 0, 'an empty outbox');
    expect(await host.webhooks.show('x', 'hub')).toMatchObject({ state: 'ok', pending: 0, dead: 0, events_behind: 0 });
  });

  it('of one sandbox that are refused hold up no other, and are tried again with growing pauses', async () => {
    const host = await open({ declared: [manifestHook(hub.url)], timing: { retryFirstMs: 100, retryMostMs: 10_000 } });
    hub.answer = ({ event }) => (event.subject.id === 'bad' ? 500 : 204);
    await host.tell('bad', 'sandbox.ready');
    await host.tell('bad', 'sandbox.destroyed');
    for (let index = 0; index < 30; index += 1) await host.tell(`good-${index}`);
    await until(() => hub.accepted().length === 30, 'the others');
    await until(() => hub.received.filter(({ event }) => event.subject.id === 'bad').length >= 4, 'four attempts', 15_000);
    const tries = hub.received.filter(({ event }) => event.subject.id === 'bad');
    expect(new Set(tries.map(({ event }) => event.type))).toEqual(new Set(['sandbox.ready']));
    expect(new Set(tries.map(({ id }) => id)).size).toBe(1);
    const pauses = tries.slice(1).map(({ at }, index) => at - (tries[index]?.at ?? 0));
    // 100, 200, 400 ms, each a quarter more or less; a busy machine makes them longer, never shorter.
    expect(pauses[0]).toBeGreaterThan(70);
    expect(pauses[1]).toBeGreaterThan(140);
    expect(pauses[2]).toBeGreaterThan(290);
    expect(await host.webhooks.show('x', 'hub')).toMatchObject({ state: 'failing', pending: 2, error: 'it answered 500', dead: 0 });
    hub.answer = () => 204;
    await host.webhooks.retry('x', 'hub');
    await until(() => types('bad').length === 2, 'the rest');
    expect(types('bad')).toEqual(['sandbox.ready', 'sandbox.destroyed']);
  });

  it('to a hub that is away wait, few at a time, and go out in order when it is back', async () => {
    const host = await open({ declared: [manifestHook(hub.url)], timing: { window: 20 } });
    await hub.leave();
    const steps = ['sandbox.requested', 'sandbox.ready', 'sandbox.destroyed'];
    for (let index = 0; index < 40; index += 1) for (const step of steps) await host.tell(`s${index}`, step);
    const filled = async () => {
      const { state, pending } = await host.webhooks.show('x', 'hub');
      return state === 'away' && pending >= 20;
    };
    await until(filled, 'it to be noticed, and the outbox to be full');
    const away = await host.webhooks.show('x', 'hub');
    // The outbox is bounded; what comes after it stays where it is, in the table of events.
    expect(away.pending).toBe(20);
    expect(away.events_behind).toBeGreaterThan(90);
    expect(away.error).toContain('ECONNREFUSED');
    expect((await host.webhooks.inTrouble()).map(({ name }) => name)).toEqual(['hub']);
    const asked = await attempts(host.database);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    // A probe at a time, at most every 75 ms here.
    expect((await attempts(host.database)) - asked).toBeLessThan(16);
    await hub.comeBack();
    await until(() => hub.accepted().length === 120, 'all of them', 20_000);
    for (let index = 0; index < 40; index += 1) expect(types(`s${index}`)).toEqual(steps);
    await until(async () => (await host.webhooks.show('x', 'hub')).state === 'ok', 'it to be well');
    expect(await host.webhooks.inTrouble()).toEqual([]);
  });

  it('are given up only when the hub refuses them for long; they stay visible and can be sent again', async () => {
    const host = await open({ declared: [manifestHook(hub.url)], timing: { giveUpMs: 300 } });
    hub.answer = ({ event }) => (event.subject.id === 'bad' ? 422 : 204);
    const bad = await host.tell('bad', 'sandbox.ready');
    await host.tell('bad', 'sandbox.destroyed');
    await until(async () => (await host.webhooks.show('x', 'hub')).dead === 2, 'both to be given up');
    const { items } = await host.webhooks.deliveries('x', 'hub', { state: 'dead', limit: 10 });
    expect(items.map(({ type, status, error }) => ({ type, status, error }))).toEqual([
      { type: 'sandbox.destroyed', status: 422, error: 'it answered 422' },
      { type: 'sandbox.ready', status: 422, error: 'it answered 422' },
    ]);
    expect((await host.webhooks.inTrouble()).map(({ name }) => name)).toEqual(['hub']);
    hub.answer = () => 204;
    await expect(host.webhooks.retry('x', 'hub', 'evt_00000000-0000-0000-0000-000000000000')).rejects.toMatchObject({ code: 'not_found' });
    expect(await host.webhooks.retry('x', 'hub', bad.id)).toBe(1);
    await until(async () => (await host.webhooks.show('x', 'hub')).pending === 0, 'the one that was asked for');
    expect(types('bad')).toEqual(['sandbox.ready']);
    expect(await host.webhooks.retry('x', 'hub')).toBe(1);
    await until(() => types('bad').length === 2, 'the other');

    // One that does not answer is not given up, however long it takes.
    await hub.leave();
    for (const subject of ['a', 'b', 'c', 'd']) await host.tell(subject);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(await host.webhooks.show('x', 'hub')).toMatchObject({ state: 'away', pending: 4, dead: 0 });
    await hub.comeBack();
    await until(() => ['a', 'b', 'c', 'd'].every((subject) => types(subject).length === 1), 'those that waited');
  });

  it('to a slow hub wait no longer than told, on few connections', async () => {
    const host = await open({ declared: [manifestHook(hub.url)] });
    hub.answer = () => () => undefined;
    for (let index = 0; index < 12; index += 1) await host.tell(`s${index}`);
    await until(() => hub.received.length >= 4, 'the first attempts');
    expect(await hub.connections()).toBeLessThanOrEqual(4);
    await until(async () => (await host.webhooks.show('x', 'hub')).state === 'away', 'it to be noticed');
    expect((await host.webhooks.show('x', 'hub')).error).toBe('no answer within 0.5 s');
    hub.answer = () => 204;
    await until(() => hub.accepted().length === 12, 'all of them');
  });

  it('follow no redirect and read no endless answer', async () => {
    const host = await open({ declared: [manifestHook(hub.url)] });
    hub.answer = (one) => (response) => {
      one.status = 307;
      response.writeHead(307, { Location: hub.url.replace('/hook', '/elsewhere') }).end();
    };
    await host.tell('a');
    await until(async () => (await host.webhooks.show('x', 'hub')).state === 'failing', 'the refusal');
    expect((await host.webhooks.show('x', 'hub')).error).toMatch(/^it answered 307, and redirects are not followed/);
    let closed = 0;
    hub.answer = (one) => (response) => {
      one.status = 204;
      response.writeHead(200);
      response.on('close', () => (closed += 1));
      const more = (): void => {
        if (response.destroyed) return;
        response.write(Buffer.alloc(16 * 1024));
        setImmediate(more);
      };
      more();
    };
    await until(() => hub.accepted().length === 1, 'the delivery');
    await until(() => closed > 0, 'the endless answer to be cut');
    expect(hub.received.every(({ path }) => path === '/hook')).toBe(true);
  });

  it('of one tenant get only events of that tenant, and others do not see them', async () => {
    const host = await open({ privateAddresses: true });
    const made = await host.webhooks.create(admin('acme'), { name: 'mine', url: hub.url, events: ['*'] });
    expect(made.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    await until(async () => (await leaseNames(host.database)).includes('webhook/acme/mine'), 'the lease');
    await host.tell('theirs', 'sandbox.ready', 'other');
    await host.tell('ours', 'sandbox.ready', 'acme');
    await until(() => hub.accepted().length === 1, 'ours');
    await host.tell('ours', 'sandbox.destroyed', 'acme');
    await until(() => hub.accepted().length === 2, 'ours again');
    expect(hub.received.map(({ event }) => event.subject.id)).toEqual(['ours', 'ours']);
    expect(hub.received.every((one) => verifyDelivery(made.secret, one))).toBe(true);
    await expect(host.webhooks.show('other', 'mine')).rejects.toMatchObject({ code: 'not_found' });
    expect(await host.webhooks.list('other')).toEqual([]);
    await expect(host.webhooks.remove('other', 'mine')).rejects.toMatchObject({ code: 'not_found' });
    await expect(host.webhooks.create(admin('acme'), { name: 'mine', url: hub.url, events: ['*'] })).rejects.toMatchObject({
      code: 'already_exists',
    });
    // The secret is sealed where it is kept, and shown nowhere else.
    const rows = await host.database.kysely.selectFrom('webhooks').selectAll().execute();
    const shown = JSON.stringify([rows, await host.webhooks.list('acme'), await host.webhooks.deliveries('acme', 'mine', { limit: 9 })]);
    expect(shown).not.toContain(made.secret.slice(6, 30));

    await host.webhooks.remove('acme', 'mine');
    await host.tell('after', 'sandbox.ready', 'acme');
    await until(async () => (await leaseNames(host.database)).length === 0, 'the lease to go');
    expect(await host.database.kysely.selectFrom('webhook_deliveries').selectAll().execute()).toEqual([]);
    expect(hub.received).toHaveLength(2);
  });

  it('begin with what happens after they were made, and go on where they were after a restart', async () => {
    const first = await open();
    await first.tell('before');
    await first.stop();
    const second = await open({ declared: [manifestHook(hub.url)] });
    await second.tell('between');
    await until(() => hub.accepted().length === 1, 'the first');
    await second.stop();
    // Told while nobody delivers.
    await first.tell('down');
    const third = await open({ declared: [manifestHook(hub.url)] });
    await third.tell('up');
    await until(() => hub.accepted().length === 3, 'the rest');
    expect(
      hub
        .accepted()
        .map(({ event }) => event.subject.id)
        .sort(),
    ).toEqual(['between', 'down', 'up']);
  });

  it('are made by one of several hosts, and by another when that is gone in the middle', async () => {
    const declared = [manifestHook(hub.url)];
    const one = await open({ declared, name: 'one', leaseTtlMs: 600 });
    const other = await open({ declared, name: 'other', leaseTtlMs: 600 });
    for (let index = 0; index < 20; index += 1) await (index % 2 ? one : other).tell(`s${index}`);
    await until(() => hub.accepted().length === 20, 'the first twenty');
    expect(hub.received).toHaveLength(20);
    // It dies with attempts under way.
    hub.answer = () => () => undefined;
    for (let index = 20; index < 30; index += 1) await other.tell(`s${index}`);
    await until(() => hub.received.length > 20, 'attempts');
    await one.vanish();
    hub.answer = () => 204;
    const steps = ['sandbox.ready', 'sandbox.destroyed'];
    await other.tell('late', 'sandbox.ready');
    await other.tell('late', 'sandbox.destroyed');
    await until(() => hub.accepted().length === 32, 'the rest, by the other');
    expect(types('late')).toEqual(steps);
    expect(await other.webhooks.show('x', 'hub')).toMatchObject({ state: 'ok', dead: 0 });
  });

  it('leave no more behind than what is kept', async () => {
    const host = await open({ declared: [manifestHook(hub.url)], timing: { kept: 10 } });
    for (let index = 0; index < 60; index += 1) await host.tell(`s${index}`);
    await until(() => hub.accepted().length === 60, 'all of them');
    await until(async () => (await host.webhooks.show('x', 'hub')).pending === 0, 'an empty outbox');
    await host.stop();
    // The next server cleans up at its start.
    const next = await open({ declared: [manifestHook(hub.url)], timing: { kept: 10 } });
    await until(async () => (await next.webhooks.deliveries('x', 'hub', { limit: 100 })).items.length === 10, 'the cleaning');
    const page = await next.webhooks.deliveries('x', 'hub', { limit: 6 });
    const rest = await next.webhooks.deliveries('x', 'hub', { limit: 6, cursor: page.next_cursor ?? '' });
    expect([...page.items, ...rest.items].map(({ subject }) => subject.id)).toEqual(
      Array.from({ length: 10 }, (_, index) => `s${59 - index}`),
    );
    expect(rest.next_cursor).toBeNull();
    expect(isErrorCode('invalid_cursor')).toBe(true);
    await expect(next.webhooks.deliveries('x', 'hub', { limit: 6, cursor: 'WyJ4Il0' })).rejects.toMatchObject({ code: 'invalid_cursor' });
  });

  it('made over the API reach nothing that is not on the internet, whatever the name says', async () => {
    const host = await open();
    for (const url of [
      'http://127.0.0.1:1/',
      'http://[::1]/',
      'http://169.254.169.254/latest',
      'http://0x7f.1/',
      'http://[::ffff:10.0.0.1]/',
    ])
      await expect(host.webhooks.create(admin('acme'), { name: 'bad', url, events: ['*'] }), url).rejects.toMatchObject({
        code: 'bad_request',
      });
    // A name that means this machine: refused when it is resolved.
    const { port } = new URL(hub.url);
    await host.webhooks.create(admin('acme'), { name: 'sly', url: `http://localhost:${port}/`, events: ['*'] });
    expect(await host.webhooks.test(admin('acme'), 'sly')).toMatchObject({
      ok: false,
      status: null,
      error: expect.stringContaining('localhost is not on the internet: '),
    });
    await host.tell('a', 'sandbox.ready', 'acme');
    await until(async () => (await host.webhooks.show('acme', 'sly')).state === 'failing', 'the refusal');
    expect(hub.received).toEqual([]);
    // What the operator declares may be near.
    const near = await open({ declared: [manifestHook(`http://localhost:${port}/`)], name: 'near' });
    expect(await near.webhooks.test(admin('acme'), 'hub')).toMatchObject({ ok: true, status: 204, error: null });
    expect(hub.received).toMatchObject([{ event: { type: 'webhook.test', tenant: 'acme' } }]);
    expect(verifyDelivery(secret, hub.received[0] as never)).toBe(true);
  });
});

async function openHost(fixture: DatabaseFixture, options: HostOptions): Promise<Host> {
  const { declared = [], timing = {}, name = 'host-1', leaseTtlMs = 5000, privateAddresses = false } = options;
  const database = await fixture.server();
  const events = createEvents({ database, host: name });
  const leases = createLeases(database);
  let gone = false;
  const beats: NodeJS.Timeout[] = [];
  const webhooks = createWebhooks({
    ...{ database, events, host: name, leaseTtlMs, log: createLog('silent'), declared, privateAddresses },
    // One that vanished neither renews nor gives back.
    leases: {
      ...leases,
      acquire: async (...args) => (gone ? null : leases.acquire(...args)),
      release: async (...args) => (gone ? undefined : leases.release(...args)),
    },
    onAttempt: () => undefined,
    secrets: openSecrets('/nowhere', 'a secret of thirty-two characters!'),
    timing: { ...quick, ...timing },
  });
  await webhooks.start();
  beats.push(setInterval(() => void webhooks.beat(), leaseTtlMs / 3));
  let stopped = false;
  const stop = async (): Promise<void> => {
    if (stopped) return;
    stopped = true;
    for (const beat of beats) clearInterval(beat);
    await webhooks.stop();
  };
  return {
    ...{ webhooks, events, database, stop },
    async tell(subject, type = 'sandbox.ready', tenant = 'acme') {
      const [event] = await events.append({ tenant, actor: { kind: 'adm', id: 'k' }, subject: { type: 'sandbox', id: subject }, type });
      return event as BoxEvent;
    },
    async vanish() {
      gone = true;
      await stop();
    },
  };
}

const leaseNames = async ({ kysely }: Database): Promise<string[]> =>
  (await kysely.selectFrom('leases').select('name').execute()).map(({ name }) => name);

async function attempts({ kysely }: Database): Promise<number> {
  const rows = await kysely.selectFrom('webhook_deliveries').select('attempts').execute();
  return rows.reduce((sum, row) => sum + row.attempts, 0);
}
