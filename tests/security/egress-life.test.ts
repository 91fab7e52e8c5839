/** A policy holds through everything that can happen to a sandbox, and changes only as far as its changer may go. */

import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Page, Sandbox } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EgressBox, startEcho, startEgressBox, startTarget, type Target } from '../support/egress.ts';
import { newStateRoot, startServerProcess } from '../support/server-process.ts';
import { type SmallDns, startDns } from '../support/small-dns.ts';

let egress: EgressBox;
let target: Target;
let echo: Target;
let both: string[];

beforeAll(async () => {
  target = await startTarget();
  echo = await startEcho();
  egress = await startEgressBox('ok.test,echo.test');
  for (const name of ['ok.test', 'echo.test']) egress.dns.set(name, ['127.0.0.1']);
  both = [`ok.test:${target.port}`, `echo.test:${echo.port}`];
});
afterAll(async () => {
  await egress.stop();
  await target.stop();
  await echo.stop();
});

const url = (): string => `http://ok.test:${target.port}/`;
const status = async (id: string): Promise<string> => (await egress.exec(id, `curl -s -o /dev/null -w '%{http_code}' ${url()}`)).stdout;

describe('a change while it lives', () => {
  it('holds for the next request at once, and cuts what is no longer allowed', async () => {
    const one = await egress.sandbox(both);
    const tunnel = `

def tunnel(name, port):
    s = socket.create_connection(("127.0.0.1", 3128)); s.settimeout(15)
    s.sendall(("CONNECT %s:%d HTTP/1.1\\r\\nHost: %s:%d\\r\\n\\r\\n" % (name, port, name, port)).encode())
    s.recv(1000)
    if name == "echo.test": s.sendall(b"ping"); s.recv(4)
    return s
cut, kept = tunnel("echo.test", ${echo.port}), tunnel("ok.test", ${target.port})
open("/tmp/ready", "w").close()
try: ended = cut.recv(1) == b""
except ConnectionResetError: ended = True
except OSError: ended = False
kept.settimeout(0.5)
try: alive = kept.recv(1) != b""
except socket.timeout: alive = True
answer([ended, alive])`;
    const waiting = egress.python<boolean[]>(one.id, tunnel);
    await expect.poll(async () => (await egress.exec(one.id, 'test -f /tmp/ready')).exit_code, { timeout: 10_000 }).toBe(0);
    const changed = await egress.network(one.id, { mode: 'allow', allow: [both[0]] });
    expect(changed).toMatchObject({ status: 200, body: { network: 'allow', network_allow: [both[0]] } });
    expect(await waiting).toEqual([true, true]);
    const events = await egress.decisions(one.id);
    expect(events.find(({ data }) => data.reason === 'cut')?.data).toMatchObject({ host: 'echo.test', bytes_sent: 4, bytes_received: 4 });
    expect(await status(one.id)).toBe('200');
    await egress.network(one.id, { mode: 'none' });
    expect(await status(one.id)).toBe('403');
    await egress.network(one.id, {});
    expect(await status(one.id)).toBe('200');
    const { body } = await egress.box.json<Page<{ type: string; data: unknown }>>(`/v1/sandboxes/${one.id}/events?limit=200`);
    expect(body.items.filter(({ type }) => type === 'sandbox.network').map(({ data }) => data)).toEqual([
      { mode: 'allow', allow: [both[0]] },
      { mode: 'none', allow: [] },
      { mode: 'allow', allow: both },
    ]);
  });

  it('goes no further than the template for those who are no administrators, and leaves no more open when refused', async () => {
    const one = await egress.sandbox([`*.test:${target.port}`]);
    const key = await egress.box.newKey('default', ['sandboxes:read', 'sandboxes:use']);
    const change = async (body: Record<string, unknown>) => (await egress.network(one.id, body, { key })).status;
    expect(await change({ allow: [`ok.test:${target.port}`] })).toBe(200);
    for (const allow of [
      ['ok.test'],
      [`ok.other:${target.port}`],
      ['*'],
      [`*:${target.port}`],
      ['127.0.0.1'],
      [`ok.test:${target.port}`, 'evil.example'],
    ])
      expect(await change({ allow })).toBe(403);
    expect(await change({ allow: ['not a host'] })).toBe(400);
    expect(await change({ mode: 'full' })).toBe(400);
    const { body } = await egress.box.json<Sandbox>(`/v1/sandboxes/${one.id}`);
    expect(body.network_allow).toEqual([`ok.test:${target.port}`]);
    expect((await egress.network(one.id, { allow: ['evil.example'] })).status).toBe(200);
    const create = async (given: Record<string, unknown>) =>
      (await egress.box.json('/v1/sandboxes', { body: { template: one.template, network: given }, key })).status;
    expect(await create({ mode: 'allow', allow: ['evil.example'] })).toBe(403);
    expect(await create({ mode: 'allow', allow: [`ok.test:${target.port}`] })).toBe(201);
    expect(
      (await egress.box.json('/v1/sandboxes', { body: { template: 'base', network: { mode: 'allow', allow: ['evil.example'] } }, key }))
        .status,
    ).toBe(403);
  });

  it('cannot give a way out to a sandbox that was made without one', async () => {
    const { body } = await egress.box.json<Sandbox>('/v1/sandboxes', { body: { template: 'base' } });
    expect(await egress.network(body.id, { mode: 'allow', allow: both })).toMatchObject({ status: 409 });
    const given = await egress.box.json<Sandbox>('/v1/sandboxes', { body: { template: 'base', network: { mode: 'allow', allow: both } } });
    expect(given.status).toBe(201);
    expect(await status(given.body.id)).toBe('200');
  });
});

describe('what was narrowed stays narrow', () => {
  it('when it is paused and resumed, restored, recreated and forked', async () => {
    const one = await egress.sandbox(both);
    const path = `/v1/sandboxes/${one.id}`;
    const post = <T = Sandbox>(what: string, body = {}) => egress.box.json<T>(`${path}/${what}`, { body });
    const { body: snapshot } = await post<{ id: string }>('snapshots');
    await egress.network(one.id, { allow: [both[1]] });
    expect(await status(one.id)).toBe('403');
    await post('pause');
    expect(await status(one.id)).toBe('403');
    expect((await post('restore', { snapshot: snapshot.id })).body.network_allow).toEqual([both[1]]);
    expect(await status(one.id)).toBe('403');
    expect((await post('recreate')).body.network_allow).toEqual([both[1]]);
    expect(await status(one.id)).toBe('403');
    const { body: forks } = await post<Page<Sandbox>>('fork', { count: 2 });
    for (const fork of forks.items) expect(await status(fork.id)).toBe('403');
    // A fork is a sandbox of its own: what is opened for one is not opened for the others.
    await egress.network(forks.items[0]?.id ?? '', {});
    expect(await Promise.all([one.id, ...forks.items.map(({ id }) => id)].map(status))).toEqual(['403', '200', '403']);
  });

  it('and what has ended leaves no channel', async () => {
    const folder = join(egress.box.stateRoot, 'run', 'channels');
    const one = await egress.sandbox(both);
    expect(readdirSync(folder)).toContain(one.id);
    await egress.box.request(`/v1/sandboxes/${one.id}`, { method: 'DELETE' });
    expect(existsSync(join(folder, one.id))).toBe(false);
    const failing = await egress.box.json('/v1/templates/egress-broken', {
      method: 'PUT',
      body: { network: { mode: 'allow', allow: both }, setup: [`curl -sf ${url()}`, 'false'] },
    });
    expect(failing.status).toBe(200);
    const before = readdirSync(folder).length;
    expect((await egress.box.json('/v1/sandboxes', { body: { template: 'egress-broken' } })).status).toBe(503);
    expect(readdirSync(folder).length).toBe(before);
  });
});

describe('a server that was stopped or killed', () => {
  let dns: SmallDns;
  const stateRoot = newStateRoot();
  beforeAll(async () => {
    dns = await startDns();
    dns.set('ok.test', ['127.0.0.1']);
  });
  afterAll(async () => {
    await dns.stop();
    rmSync(stateRoot, { recursive: true, force: true });
  });

  it('leaves no way out, and the next one knows the policy as it was changed last', { timeout: 90_000 }, async () => {
    const env = { SKILLBOX_EGRESS_PRIVATE: 'ok.test', SKILLBOX_EGRESS_DNS: dns.address };
    let server = await startServerProcess({ stateRoot, env });
    const rules = [`ok.test:${target.port}`, 'never.test'];
    await server.json('/v1/templates/net', { method: 'PUT', body: { network: { mode: 'allow', allow: rules } } });
    const make = async () => (await server.json<Sandbox>('/v1/sandboxes', { body: { template: 'net' } })).body.id;
    const [open, narrowed] = [await make(), await make()];
    await server.json(`/v1/sandboxes/${narrowed}/network`, { method: 'PUT', body: { allow: ['never.test'] } });
    const look = async (id: string): Promise<string> => {
      const cmd = `curl -s -o /dev/null -w '%{http_code}' ${url()}`;
      return (await server.json<{ stdout: string }>(`/v1/sandboxes/${id}/programs`, { body: { cmd, timeout: '20s' } })).body.stdout;
    };
    // A program that goes on asking while no server is there.
    const loop = `while :; do curl -s -m 2 -o /dev/null -w '%{http_code}\\n' ${url()} >> /tmp/asked; sleep 0.1; done`;
    await server.json(`/v1/sandboxes/${open}/programs`, { body: { cmd: loop, wait: false } });
    for (const end of ['kill', 'stop'] as const) {
      expect([await look(open), await look(narrowed)]).toEqual(['200', '403']);
      await server[end]();
      const before = target.reached;
      await new Promise((resolve) => setTimeout(resolve, 600));
      expect(target.reached).toBe(before);
      server = await startServerProcess({ stateRoot, env });
      expect([await look(open), await look(narrowed)]).toEqual(['200', '403']);
    }
    const asked = await server.json<{ stdout: string }>(`/v1/sandboxes/${open}/programs`, { body: { cmd: 'sort -u /tmp/asked' } });
    expect(asked.body.stdout).toBe('000\n200\n');
    for (const id of [open, narrowed]) await server.json(`/v1/sandboxes/${id}`, { method: 'DELETE' });
    expect(readdirSync(join(stateRoot, 'run', 'channels'))).toEqual([]);
    await server.stop();
  });
});
