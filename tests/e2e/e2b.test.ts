/** E2B's own SDK, unmodified, against a box: sandboxes, their lives, who may use them. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AuthenticationError, RateLimitError, Sandbox, SandboxNotFoundError, TimeoutError } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { e2bEnv, useE2bBox } from './e2b-box.ts';

const held = useE2bBox({ SKILLBOX_PREVIEW_DOMAIN: 'box.example', SKILLBOX_EGRESS_PRIVATE: '127.0.0.0/8' });

describe('a sandbox', () => {
  it('is created from a template with time, metadata and variables, and described', async () => {
    const sandbox = await Sandbox.create('base', { timeoutMs: 120_000, metadata: { task: 'a b&c=d%' }, envs: { COLOUR: 'blue' } });
    const info = await sandbox.getInfo();
    expect(info).toMatchObject({ sandboxId: sandbox.sandboxId, name: 'base', state: 'running', metadata: { task: 'a b&c=d%' } });
    expect(info.endAt.getTime() - info.startedAt.getTime()).toBeGreaterThan(115_000);
    expect(info.endAt.getTime() - Date.now()).toBeLessThan(120_500);
    expect((await sandbox.commands.run('echo $COLOUR')).stdout).toBe('blue\n');
    expect(await sandbox.isRunning()).toBe(true);
    expect(await Sandbox.getInfo(sandbox.sandboxId)).toMatchObject({ templateId: 'base@1' });
    expect((await Sandbox.getFullInfo(sandbox.sandboxId)).sandboxId).toBe(sandbox.sandboxId);
    expect(await sandbox.kill()).toBe(true);
    expect(await sandbox.kill()).toBe(false);
    expect(await Sandbox.kill(sandbox.sandboxId)).toBe(false);
    expect(await sandbox.isRunning()).toBe(false);
  });

  it('has five minutes when nobody says how long, and as long as setTimeout says', async () => {
    const sandbox = await Sandbox.create();
    const left = async (): Promise<number> => (await sandbox.getInfo()).endAt.getTime() - Date.now();
    expect(Math.round((await left()) / 10_000)).toBe(30);
    await sandbox.setTimeout(600_000);
    expect(Math.round((await left()) / 10_000)).toBe(60);
    await Sandbox.setTimeout(sandbox.sandboxId, 60_000);
    expect(Math.round((await left()) / 10_000)).toBe(6);
    await sandbox.setTimeout(1000);
    await expect.poll(() => sandbox.isRunning(), { timeout: 8000, interval: 200 }).toBe(false);
    await expect(sandbox.getInfo()).rejects.toThrow(SandboxNotFoundError);
  });

  it('is listed by metadata and state, page by page', async () => {
    const all = await Promise.all(['one', 'two', 'three'].map((n) => Sandbox.create({ metadata: { list: 'this & that', n } })));
    const ids = all.map(({ sandboxId }) => sandboxId).sort();
    const paginator = Sandbox.list({ query: { metadata: { list: 'this & that' } }, limit: 2 });
    const first = await paginator.nextItems();
    expect(first).toHaveLength(2);
    expect(paginator.hasNext).toBe(true);
    const second = await paginator.nextItems();
    expect(paginator.hasNext).toBe(false);
    expect([...first, ...second].map(({ sandboxId }) => sandboxId).sort()).toEqual(ids);
    const one = await Sandbox.list({ query: { metadata: { n: 'two', list: 'this & that' } } }).nextItems();
    expect(one).toMatchObject([{ metadata: { n: 'two' }, state: 'running' }]);
    await all[0]?.pause();
    const paused = await Sandbox.list({ query: { state: ['paused'], metadata: { list: 'this & that' } } }).nextItems();
    expect(paused).toMatchObject([{ sandboxId: all[0]?.sandboxId, state: 'paused' }]);
    await Promise.all(all.map((sandbox) => sandbox.kill()));
    expect(await Sandbox.list({ query: { metadata: { list: 'this & that' } } }).nextItems()).toEqual([]);
  });

  it('is paused with its disk kept, and connecting wakes it', async () => {
    const sandbox = await Sandbox.create();
    await sandbox.files.write('kept.txt', 'still here');
    expect(await sandbox.pause()).toBe(true);
    expect(await sandbox.pause()).toBe(false);
    expect(await sandbox.isRunning()).toBe(false);
    expect((await sandbox.getInfo()).state).toBe('paused');
    await expect(sandbox.commands.run('true')).rejects.toThrow(SandboxNotFoundError);
    await expect(sandbox.files.read('kept.txt')).rejects.toThrow(TimeoutError);
    expect(await sandbox.getMetrics()).toEqual([]);
    const woken = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 200_000 });
    expect(woken.sandboxId).toBe(sandbox.sandboxId);
    expect(await woken.files.read('kept.txt')).toBe('still here');
    expect((await woken.getInfo()).endAt.getTime() - Date.now()).toBeGreaterThan(190_000);
    // For what runs, connecting with less time takes none away.
    await sandbox.connect({ timeoutMs: 1000 });
    expect((await woken.getInfo()).endAt.getTime() - Date.now()).toBeGreaterThan(180_000);
    expect(await Sandbox.pause(sandbox.sandboxId)).toBe(true);
    await sandbox.connect();
    expect(await sandbox.betaPause()).toBe(true);
    expect(await Sandbox.betaPause(sandbox.sandboxId)).toBe(false);
    await woken.kill();
  });

  it('pauses at the end of its time when asked to', async () => {
    const sandbox = await Sandbox.create({ timeoutMs: 1000, lifecycle: { onTimeout: 'pause' } });
    await expect.poll(async () => (await sandbox.getInfo()).state, { timeout: 8000, interval: 200 }).toBe('paused');
    expect(await (await Sandbox.connect(sandbox.sandboxId)).isRunning()).toBe(true);
    await sandbox.kill();
  });

  it('that the box put away because nobody used it wakes by itself', async () => {
    const sandbox = await Sandbox.create();
    await sandbox.files.write('kept.txt', 'still here');
    const { kysely } = held.box.box.store.database;
    await kysely.updateTable('sandboxes').set({ idle_ms: 1 }).where('id', '=', sandbox.sandboxId).execute();
    await expect.poll(async () => (await sandbox.getInfo()).state, { timeout: 8000 }).toBe('paused');
    await kysely.updateTable('sandboxes').set({ idle_ms: 600_000 }).where('id', '=', sandbox.sandboxId).execute();
    expect(await sandbox.isRunning()).toBe(true);
    expect(await sandbox.files.read('kept.txt')).toBe('still here');
    expect((await sandbox.getInfo()).state).toBe('running');
    await sandbox.kill();
  });

  it('tells what it uses', async () => {
    const sandbox = await Sandbox.create();
    await sandbox.commands.run('while :; do :; done', { background: true });
    const [metrics] = await sandbox.getMetrics();
    expect(metrics?.memUsed).toBeGreaterThan(0);
    expect(metrics?.memTotal).toBe(2 ** 30);
    expect(metrics?.cpuUsedPct).toBeGreaterThan(5);
    expect(metrics?.diskTotal).toBe(2 * 2 ** 30);
    expect(await Sandbox.getMetrics(sandbox.sandboxId)).toHaveLength(1);
    await sandbox.kill();
  });

  it('becomes a snapshot that others start from, and forks', async () => {
    const sandbox = await Sandbox.create();
    await sandbox.files.write('seed.txt', 'grown');
    const snapshot = await sandbox.createSnapshot();
    await sandbox.files.write('seed.txt', 'later');
    const copy = await Sandbox.create(snapshot.snapshotId);
    expect(await copy.files.read('seed.txt')).toBe('grown');
    expect(await sandbox.listSnapshots().nextItems()).toMatchObject([{ snapshotId: snapshot.snapshotId }]);
    expect(await Sandbox.listSnapshots({ sandboxId: copy.sandboxId }).nextItems()).toEqual([]);
    const named = await Sandbox.createSnapshot(sandbox.sandboxId);
    const forks = [...(await sandbox.fork({ count: 2 })), ...(await Sandbox.fork(sandbox.sandboxId))];
    expect(forks).toHaveLength(3);
    for (const fork of forks) {
      if (!(fork instanceof Sandbox)) throw fork;
      expect(await fork.files.read('seed.txt')).toBe('later');
      await fork.kill();
    }
    await copy.kill();
    await sandbox.kill();
    expect(await Sandbox.deleteSnapshot(snapshot.snapshotId)).toBe(true);
    expect(await Sandbox.deleteSnapshot(snapshot.snapshotId)).toBe(false);
    expect(await Sandbox.deleteSnapshot(named.snapshotId)).toBe(true);
  });

  it('reaches the hosts of its template, and fewer when told so', async () => {
    const server = createServer((_, response) => response.end('hello'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const allow = [`127.0.0.1:${port}`, 'example.com'];
    await held.box.json('/v1/templates/e2b-net', { method: 'PUT', body: { network: { mode: 'allow', allow } } });
    const apiKey = await held.box.newKey('e2b-net', ['sandboxes:read', 'sandboxes:use']);
    const look = async (sandbox: Sandbox): Promise<string> => {
      const { stdout } = await sandbox.commands.run(`curl -s -o /dev/null -w '%{http_code}' --noproxy '' http://127.0.0.1:${port}/`);
      return stdout;
    };
    const sandbox = await Sandbox.create('e2b-net', { apiKey });
    expect(await look(sandbox)).toBe('200');
    expect(await sandbox.getInfo()).toMatchObject({ allowInternetAccess: true, network: { allowOut: allow } });
    await sandbox.updateNetwork({ allowOut: ['example.com'], denyOut: ({ allTraffic }) => [allTraffic] });
    expect(await look(sandbox)).toBe('403');
    await Sandbox.updateNetwork(sandbox.sandboxId, {}, { apiKey });
    expect(await look(sandbox)).toBe('200');
    await sandbox.updateNetwork({ allowInternetAccess: false });
    expect(await look(sandbox)).toBe('403');
    await expect(sandbox.updateNetwork({ allowOut: ['elsewhere.test'] })).rejects.toThrow(/403/);
    await sandbox.kill();
    const closed = await Sandbox.create('e2b-net', { apiKey, allowInternetAccess: false });
    expect(await look(closed)).toBe('403');
    await closed.kill();
    await expect(Sandbox.create('e2b-net', { apiKey, network: { allowOut: ['elsewhere.test'] } })).rejects.toThrow(/403/);
    server.close();
  });

  it('says clearly what this box does not do', async () => {
    await expect(Sandbox.create('no-such-template')).rejects.toThrow(/404/);
    await expect(Sandbox.create({ network: { allowOut: ['10.0.0.0/8'] } })).rejects.toThrow(/501.*network\.allowOut/);
    await expect(Sandbox.create({ network: { denyOut: ['example.com'] } })).rejects.toThrow(/501.*network\.denyOut/);
    await expect(Sandbox.create({ network: { httpsPorts: [443] } })).rejects.toThrow(/501.*network\.httpsPorts/);
    await expect(Sandbox.create({ timeoutMs: 10 ** 10 })).rejects.toThrow(/400/);
    const sandbox = await Sandbox.create();
    await expect(sandbox.updateNetwork({ egressProxy: { address: 'proxy.example:1080' } })).rejects.toThrow(/501/);
    await expect(Sandbox.updateNetwork(sandbox.sandboxId, { allowOut: ['example.com'] })).rejects.toThrow(/409/);
    await expect(sandbox.commands.run('id', { user: 'root' })).rejects.toThrow(/no user root/);
    await sandbox.kill();
  });
});

describe('keys and tokens', () => {
  const scopes = ['sandboxes:read', 'sandboxes:use'] as const;

  it('the e2b_ spelling of a key is the same key', async () => {
    const apiKey = (await held.box.newKey('e2b-spelling', [...scopes])).replace(/^sk-/, 'e2b_');
    const sandbox = await Sandbox.create({ apiKey });
    expect((await sandbox.commands.run('echo hello')).stdout).toBe('hello\n');
    await sandbox.kill();
  });

  it('a wrong key, and a key without the scope, are refused', async () => {
    await expect(Sandbox.create({ apiKey: `e2b_${'0'.repeat(48)}` })).rejects.toThrow(AuthenticationError);
    await expect(Sandbox.create({ apiKey: await held.box.newKey('other', ['skills:read']) })).rejects.toThrow(/403.*sandboxes:use/);
  });

  it('another tenant neither sees, uses nor ends a sandbox', async () => {
    const mine = await Sandbox.create({ apiKey: await held.box.newKey('mine', [...scopes]) });
    const theirs = { apiKey: await held.box.newKey('theirs', [...scopes]) };
    await expect(Sandbox.getInfo(mine.sandboxId, theirs)).rejects.toThrow(SandboxNotFoundError);
    await expect(Sandbox.connect(mine.sandboxId, theirs)).rejects.toThrow(SandboxNotFoundError);
    expect(await Sandbox.kill(mine.sandboxId, theirs)).toBe(false);
    expect(await Sandbox.list(theirs).nextItems()).toEqual([]);
    const other = await Sandbox.create(theirs);
    const { box } = held;
    const token = (other as unknown as { envdAccessToken: string }).envdAccessToken;
    for (const path of ['/health', '/files?path=a', '/filesystem.Filesystem/Stat']) {
      for (const headers of [{}, { 'X-Access-Token': token }, { 'X-Access-Token': token.replace('theirs', 'mine') }]) {
        const method = path.startsWith('/filesystem') ? 'POST' : 'GET';
        const more = { 'E2b-Sandbox-Id': mine.sandboxId, ...(headers as Record<string, string>) };
        const { status } = await box.request(`/e2b${path}`, { method, headers: more, key: null });
        expect({ path, headers, status }).toEqual({ path, headers, status: 401 });
      }
    }
    await mine.kill();
    await other.kill();
  });

  it('the host name of a sandbox leads to its data plane', async () => {
    const sandbox = await Sandbox.create();
    expect(sandbox.getHost(3000)).toBe(`3000-${sandbox.sandboxId}.box.example`);
    const { envdAccessToken } = sandbox as unknown as { envdAccessToken: string };
    const { request } = await import('node:http');
    const statusOf = (token: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const headers = { Host: `49983-${sandbox.sandboxId}.box.example`, 'X-Access-Token': token };
        request(`${held.box.url}/health`, { headers }, (response) => resolve(response.resume().statusCode))
          .on('error', reject)
          .end();
      });
    expect(await statusOf(envdAccessToken)).toBe(204);
    expect(await statusOf('default.wrong')).toBe(401);
    await sandbox.kill();
  });
});

describe('a busy tenant', () => {
  let slow: TestBox;
  beforeAll(async () => {
    slow = await startTestBox({ SKILLBOX_TENANT_RATE: '0.5' });
  });
  afterAll(() => slow.stop());

  it('is told so as RateLimitError, by both planes', async () => {
    const before = { ...process.env };
    Object.assign(process.env, e2bEnv(slow));
    const sandbox = await Sandbox.create({ requestTimeoutMs: 900 });
    const asks = [
      ...[1, 2, 3].map(() => Sandbox.list({ requestTimeoutMs: 900 }).nextItems()),
      ...[1, 2].map(() => sandbox.files.read('nothing')),
      ...[1, 2].map(() => sandbox.files.exists('nothing')),
      ...[1, 2].map(() => sandbox.commands.run('true')),
    ];
    const answers = await Promise.allSettled(asks);
    Object.assign(process.env, before);
    const refusals = answers.filter((answer) => answer.status === 'rejected' && answer.reason instanceof RateLimitError);
    // One more may pass, whichever comes first.
    expect(refusals.length).toBeGreaterThanOrEqual(asks.length - 1);
    const admin = { tenant: 'default', actor: { kind: 'adm', id: 'test' }, scopes: ['admin'] } as const;
    await slow.box.sandboxes.destroy(admin, sandbox.sandboxId);
  });
});
