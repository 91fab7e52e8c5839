/** Living sandboxes that stand ready for a create: each becomes one tenant's, holds nothing of anybody before, and is reached by nobody. */

import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { HostReport, Page, Sandbox } from '@skillbox/protocol';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { sandboxGroups } from '../support/leftovers.ts';
import { newStateRoot, startServerProcess } from '../support/server-process.ts';
import { readProc } from './inside.ts';

let box: TestBox;
let keys: Record<'ann' | 'bob', string>;
beforeAll(async () => {
  box = await startTestBox();
  const key = (tenant: string) => box.newKey(tenant, ['sandboxes:use', 'sandboxes:read']);
  keys = { ann: await key('ann'), bob: await key('bob') };
});
afterAll(() => box.stop());

const state = () => box.box.ahead.state;
const allReady = () => expect.poll(() => state().ready > 0 && state().ready >= state().wanted, { timeout: 30_000 }).toBe(true);
const living = (stateRoot = box.stateRoot) => readdirSync(join(stateRoot, 'sandboxes', 'living'));
/** What is on the disk and in no record. */
const standing = async (): Promise<string[]> => {
  const rows = await box.box.store.database.kysely.selectFrom('sandboxes').select('id').execute();
  const recorded = new Set(rows.map(({ id }) => id));
  return living().filter((id) => !recorded.has(id));
};
const create = async (key: string, body: Record<string, unknown> = { template: 'base' }): Promise<Sandbox> => {
  const made = await box.json<Sandbox>('/v1/sandboxes', { body, key });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return made.body;
};
const exec = async (id: string, key: string, cmd: string): Promise<string> => {
  const { status, body } = await box.json<{ stdout: string }>(`/v1/sandboxes/${id}/programs`, { body: { cmd }, key });
  expect(status, JSON.stringify(body)).toBe(200);
  return body.stdout;
};
const template = (name: string, body: Record<string, unknown>) => box.json(`/v1/templates/${name}`, { method: 'PUT', body });
const diskOf = (id: string): string => join(box.stateRoot, 'sandboxes', 'living', id);
const uidOf = (id: string): number => (JSON.parse(readFileSync(join(diskOf(id), 'disk.json'), 'utf8')) as { uid: number }).uid;

it('no two creates get the same one, whoever asks and however many at once', { timeout: 90_000 }, async () => {
  await create(keys.ann);
  await allReady();
  const { served } = state();
  const tenants = Array.from({ length: 12 }, (_, index) => (index % 2 === 0 ? keys.ann : keys.bob));
  const made = await Promise.all(tenants.map((key) => create(key)));
  expect(state().served).toBeGreaterThan(served);
  expect(new Set(made.map(({ id }) => id)).size).toBe(made.length);
  const look =
    'for n in pid mnt net ipc uts user cgroup; do readlink /proc/self/ns/$n; done; ls -A /home/user /tmp; touch /home/user/mine /tmp/mine';
  const seen = await Promise.all(made.map(({ id }, index) => exec(id, tenants[index] ?? '', look)));
  const spaces = seen.map((text) => text.split('\n').slice(0, 7));
  for (let index = 0; index < 7; index += 1) expect(new Set(spaces.map((space) => space[index])).size).toBe(made.length);
  expect(new Set(made.map(({ id }) => uidOf(id))).size).toBe(made.length);
  expect(seen.filter((text) => text.includes('mine'))).toEqual([]);
});

it('what stands ready holds nothing of whoever came before', async () => {
  const secret = `secret-${process.pid}-of-ann`;
  for (let round = 0; round < 3; round += 1) {
    const { id } = await create(keys.ann, { template: 'base', env: { TOKEN: secret }, labels: { of: secret } });
    await exec(
      id,
      keys.ann,
      `echo ${secret} > /home/user/kept; echo ${secret} > /tmp/kept; (TOKEN=${secret} setsid sleep 60 > /dev/null 2>&1 &)`,
    );
    await allReady();
  }
  const ids = await standing();
  expect(ids.length).toBeGreaterThan(0);
  for (const id of ids) {
    expect(readdirSync(join(diskOf(id), 'upper')), id).toEqual([]);
    const uid = uidOf(id);
    const own = readdirSync('/proc').filter(
      (pid) => /^\d+$/.test(pid) && new RegExp(`^Uid:\\s+${uid}\\s`, 'm').test(readProc(pid, 'status')),
    );
    expect(own.length, id).toBeGreaterThan(0);
    expect(own.filter((pid) => readProc(pid, 'environ').includes(secret) || readProc(pid, 'cmdline').includes(secret))).toEqual([]);
  }
  const given = await create(keys.bob);
  expect(ids).toContain(given.id);
  expect(
    await exec(given.id, keys.bob, `env; ls -A /home/user /tmp /dev/shm; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline`),
  ).not.toContain(secret);
  expect(JSON.stringify(given)).not.toContain(secret);
});

it('nobody reaches one before it is handed over', async () => {
  await create(keys.ann);
  await allReady();
  const [id = ''] = await standing();
  for (const key of [keys.ann, keys.bob, box.key]) {
    const answers = await Promise.all([
      box.json(`/v1/sandboxes/${id}`, { key }),
      box.json(`/v1/sandboxes/${id}/programs`, { key, body: { cmd: 'touch /home/user/here' } }),
      box.json(`/v1/sandboxes/${id}/files?path=/home/user/here`, { key }),
      box.json(`/v1/sandboxes/${id}`, { key, method: 'DELETE' }),
      box.json(`/v1/sandboxes/${id}/pause`, { key, method: 'POST' }),
    ]);
    for (const { status } of answers) expect(status).toBe(404);
  }
  expect(readdirSync(join(diskOf(id), 'upper'))).toEqual([]);
  expect(await standing()).toContain(id);
});

it('serves only creates of the very version of its template', async () => {
  const memory = 'cat /proc/self/cgroup > /dev/null; df -B1 --output=size /tmp | tail -1';
  await template('changing', { resources: { tmp: '16Mi', processes: 20 } });
  await create(keys.ann, { template: 'changing' });
  await allReady();
  const before = new Set(await standing());
  await template('changing', { resources: { tmp: '32Mi', processes: 40 } });
  const newest = await create(keys.ann, { template: 'changing' });
  expect(newest.template).toBe('changing@2');
  expect(before.has(newest.id)).toBe(false);
  expect(Number(await exec(newest.id, keys.ann, memory))).toBe(32 * 2 ** 20);
  await template('other', { resources: { tmp: '16Mi', processes: 20 } });
  expect(before.has((await create(keys.ann, { template: 'other' })).id)).toBe(false);
  const older = await create(keys.bob, { template: 'changing@1' });
  expect(before.has(older.id)).toBe(true);
  expect(Number(await exec(older.id, keys.bob, memory))).toBe(16 * 2 ** 20);
});

it('what a killed server left of them is gone after the next start', { timeout: 90_000 }, async () => {
  const stateRoot = newStateRoot();
  const env = { SKILLBOX_WARM_MEMORY: '64Mi' };
  let server = await startServerProcess({ stateRoot, env });
  const made = await server.json<Sandbox>('/v1/sandboxes', { body: { template: 'base' } });
  const warm = async () => (await server.json<HostReport>('/v1/host')).body.warm.sandboxes;
  await expect.poll(async () => (await warm()).ready, { timeout: 20_000 }).toBeGreaterThan(0);
  await server.kill();
  const left = living(stateRoot).filter((id) => id !== made.body.id);
  const groups = () => sandboxGroups(`${server.host}-living`).filter((path) => left.some((id) => path.endsWith(id)));
  const run = join(stateRoot, 'run', 'bubblewrap', 'living');
  // One that was half made has none yet.
  const pidFiles = left.map((id) => join(run, `${id}.pid`)).filter((path) => existsSync(path));
  const pids = pidFiles.map((path) => Number(readFileSync(path, 'utf8')));
  expect(left.length).toBeGreaterThan(0);
  expect(groups().length).toBeGreaterThan(0);
  expect(pids.length).toBeGreaterThan(0);
  expect(pids.filter((pid) => existsSync(`/proc/${pid}`))).toEqual(pids);

  server = await startServerProcess({ stateRoot, env });
  await expect.poll(() => living(stateRoot), { timeout: 20_000 }).toEqual([made.body.id]);
  expect(groups()).toEqual([]);
  expect(readdirSync(run).filter((name) => left.some((id) => name.startsWith(id)))).toEqual([]);
  expect(pids.filter((pid) => existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(readProc(String(pid), 'status')))).toEqual([]);
  expect((await server.json<Page<Sandbox>>('/v1/sandboxes')).body.items.map(({ id }) => id)).toEqual([made.body.id]);
  await server.json(`/v1/sandboxes/${made.body.id}`, { method: 'DELETE' });
  await server.stop();
  rmSync(stateRoot, { recursive: true, force: true });
});
