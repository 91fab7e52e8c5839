/** Living sandboxes that stand ready for a create: the life of a pool, and that nothing tells who got one from who did not. */

import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { BoxEvent, HostReport, Page, Sandbox, StaleItem } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { newStateRoot, startServerProcess } from '../support/server-process.ts';

type Site = Pick<TestBox, 'json'>;
const create = async (box: Site, body: Record<string, unknown>, key?: string): Promise<Sandbox> => {
  const made = await box.json<Sandbox>('/v1/sandboxes', { body, ...(key && { key }) });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return made.body;
};
const exec = async (box: Site, id: string, cmd: string): Promise<string> => {
  const { status, body } = await box.json<{ stdout: string; stderr: string }>(`/v1/sandboxes/${id}/programs`, { body: { cmd } });
  expect(status, JSON.stringify(body)).toBe(200);
  return body.stdout + body.stderr;
};
const destroy = (box: Site, id: string) => box.json(`/v1/sandboxes/${id}`, { method: 'DELETE' });
const disksIn = (stateRoot: string): string[] => readdirSync(join(stateRoot, 'sandboxes', 'living'));

describe('in a box', () => {
  let box: TestBox;
  beforeAll(async () => {
    box = await startTestBox();
  });
  afterAll(() => box.stop());
  const state = () => box.box.ahead.state;
  const filled = () => expect.poll(() => state().ready > 0 && state().ready >= state().wanted, { timeout: 30_000 }).toBe(true);
  const template = (name: string, body: Record<string, unknown>) => box.json(`/v1/templates/${name}`, { method: 'PUT', body });

  it('fills after the first create, and the next is handed over with its first command at once', async () => {
    expect(state()).toMatchObject({ ready: 0, pools: 0 });
    const first = await create(box, { template: 'base' });
    expect(state()).toMatchObject({ served: 0, missed: 1, pools: 1 });
    await filled();
    const ahead = disksIn(box.stateRoot).filter((id) => id !== first.id);
    expect(ahead.length).toBe(state().ready);
    const { items } = (await box.json<Page<Sandbox>>('/v1/sandboxes')).body;
    expect(items.map(({ id }) => id)).toEqual([first.id]);

    const second = await create(box, { template: 'base' });
    expect(state()).toMatchObject({ served: 1, missed: 1 });
    expect(ahead).toContain(second.id);
    expect(await exec(box, second.id, 'echo here')).toBe('here\n');
    await filled();
    for (const { id } of [first, second]) await destroy(box, id);
  });

  it('shows what stands ready to operators, and takes none of it for left behind', async () => {
    await filled();
    const { warm } = (await box.json<HostReport>('/v1/host')).body;
    expect(warm.sandboxes.ready).toBeGreaterThan(0);
    expect(warm.sandboxes.memory_bytes).toBeGreaterThan(0);
    expect(warm.budget_bytes).toBe(512 * 2 ** 20);
    expect(warm.sandboxes.templates).toMatchObject([{ template: 'base@1' }]);
    const metrics = await (await box.request('/metrics')).text();
    expect(metrics).toMatch(/^skillbox_pool_ready [1-9]/m);
    expect(metrics).toMatch(/^skillbox_pool_served [1-9]/m);
    expect((await box.json<Page<StaleItem>>('/v1/host/reap', { body: {} })).body.items).toEqual([]);
    expect(state().ready).toBeGreaterThan(0);
  });

  it('is the same as one that was made for its create: record, events, and what programs see', async () => {
    const definition = { setup: ['echo set > /home/user/up', 'true'], resources: { memory: '256Mi', processes: 64 }, labels: { of: 'it' } };
    await template('same', definition);
    const look = async () => {
      const sandbox = await create(box, { template: 'same', labels: { a: 'b' } });
      const { items: events } = (await box.json<Page<BoxEvent>>(`/v1/sandboxes/${sandbox.id}/events`)).body;
      const programs = (await box.json<Page<Record<string, unknown>>>(`/v1/sandboxes/${sandbox.id}/programs`)).body.items;
      const inside = await exec(box, sandbox.id, view);
      const { items: later } = (await box.json<Page<Record<string, unknown>>>(`/v1/sandboxes/${sandbox.id}/programs`)).body;
      return { sandbox, events, programs, later, inside };
    };
    const own = await look();
    await filled();
    const { served } = state();
    const given = await look();
    expect(state().served).toBe(served + 1);

    const plain = ({ sandbox, events, programs, later, inside }: typeof own) => ({
      record: { ...sandbox, id: 'id', created_at: 'then', ready_at: 'then', expires_at: 'then' },
      span: Date.parse(sandbox.expires_at ?? '') - Date.parse(sandbox.created_at),
      events: events.map(({ type, tenant, actor, host, subject, data }) => ({ type, tenant, actor, host, of: subject.type, data })),
      programs: programs.map((program) => ({ ...program, started_at: 'then' })),
      later: later.map(({ program_id, pid, tag }) => ({ program_id, pid, tag })),
      inside,
    });
    expect(plain(given)).toEqual(plain(own));
    expect(plain(given).events.map(({ type }) => type)).toEqual(['sandbox.requested', 'sandbox.provisioning', 'sandbox.ready']);
    expect(given.inside).toContain('up: set');
    expect(Date.parse(given.sandbox.created_at)).toBeGreaterThan(Date.parse(own.sandbox.created_at));
    expect(Date.parse(given.sandbox.ready_at ?? '')).toBeGreaterThanOrEqual(Date.parse(given.sandbox.created_at));
    for (const { sandbox } of [own, given]) await destroy(box, sandbox.id);
  });

  it('gets the env and the time of its create', async () => {
    await create(box, { template: 'base' });
    await filled();
    const { served } = state();
    const made = await create(box, { template: 'base', env: { GIVEN: 'yes é' }, ttl: '7m' });
    expect(state().served).toBe(served + 1);
    expect(await exec(box, made.id, 'echo "$GIVEN"')).toBe('yes é\n');
    expect(Date.parse(made.expires_at ?? '') - Date.parse(made.created_at)).toBe(7 * 60_000);
    expect(await exec(box, made.id, 'echo "$GIVEN"')).toBe('yes é\n');
  });

  it('takes the ordinary path with a way out, from a snapshot, and where setup would see the env of the create', async () => {
    await template('outward', { network: { mode: 'allow', allow: ['example.com'] } });
    await template('prepared', { setup: ['echo "$GIVEN" > /home/user/seen'] });
    const origin = await create(box, { template: 'base' });
    const snapshot = (await box.json<{ id: string }>(`/v1/sandboxes/${origin.id}/snapshots`, { body: {} })).body.id;
    const counts = ({ served, missed }: ReturnType<typeof state>) => ({ served, missed });
    const before = counts(state());
    const made = [
      await create(box, { template: 'outward' }),
      await create(box, { snapshot }),
      await create(box, { template: 'prepared', env: { GIVEN: 'mine' } }),
    ];
    expect(counts(state())).toEqual(before);
    expect(await exec(box, made[2]?.id ?? '', 'cat seen')).toBe('mine\n');
    for (const { id } of made) await destroy(box, id);
  });

  it('one that a refused create would have got serves the next', async () => {
    const key = await box.newKey('poor', ['sandboxes:use', 'sandboxes:read']);
    await template('dear', { price_per_hour: 1000 });
    await box.json('/v1/credits/grants', { body: { tenant: 'default', amount: 10_000 } });
    await create(box, { template: 'dear' });
    await filled();
    const before = state();
    expect((await box.json('/v1/sandboxes', { body: { template: 'dear' }, key })).status).toBe(402);
    expect(state()).toMatchObject({ ready: before.ready, served: before.served });
    await create(box, { template: 'dear' });
    expect(state().served).toBe(before.served + 1);
  });

  it('those that were killed while they stood ready are let go, and a create in that very moment gets one that works', async () => {
    await template('mortal', {});
    const first = await create(box, { template: 'mortal' });
    await filled();
    const record = (id: string): { uid: number } =>
      JSON.parse(readFileSync(join(box.stateRoot, 'sandboxes', 'living', id, 'disk.json'), 'utf8')) as { uid: number };
    const known = new Set((await box.json<Page<Sandbox>>('/v1/sandboxes?limit=200')).body.items.map(({ id }) => id));
    const standing = disksIn(box.stateRoot).filter((id) => !known.has(id));
    const victims = new Set(standing.map((id) => record(id).uid));
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) if (victims.has(uidOf(pid))) killIfThere(Number(pid));
    const next = await create(box, { template: 'mortal' });
    // Whoever speaks to it while it dies is told so; it starts again.
    const status = async () => (await box.json(`/v1/sandboxes/${next.id}/programs`, { body: { cmd: 'true' } })).status;
    await expect.poll(status, { timeout: 10_000 }).toBe(200);
    expect(await exec(box, next.id, 'echo alive')).toBe('alive\n');
    const left = () => disksIn(box.stateRoot).filter((id) => standing.includes(id) && id !== next.id);
    await expect.poll(left, { timeout: 20_000 }).toEqual([]);
    for (const { id } of [first, next]) await destroy(box, id);
  });

  it('one whose layer is gone is not handed over', async () => {
    await template('layered', {});
    await create(box, { template: 'layered' });
    await filled();
    const { served } = state();
    const layer = join(box.stateRoot, 'sandboxes', 'layers', 'base');
    renameSync(layer, `${layer}-away`);
    const refused = await box.json('/v1/sandboxes', { body: { template: 'layered' } });
    renameSync(`${layer}-away`, layer);
    // What can be made without it is none of the pool's business; only that none of it was given away.
    expect(refused.status).toBe(503);
    expect(state().served).toBe(served + 1);
    expect((await box.json<Page<Sandbox>>('/v1/sandboxes?template=layered&state=ready')).body.items).toHaveLength(1);
  });
});

describe('in a box of its own', () => {
  it('empties when nobody asks any more', { timeout: 60_000 }, async () => {
    const box = await startTestBox({ SKILLBOX_WARM_IDLE: '2s' });
    try {
      const made = await create(box, { template: 'base' });
      await expect.poll(() => box.box.ahead.state.ready, { timeout: 20_000 }).toBeGreaterThan(0);
      await expect.poll(() => box.box.ahead.state.ready, { timeout: 30_000 }).toBe(0);
      await expect.poll(() => disksIn(box.stateRoot), { timeout: 20_000 }).toEqual([made.id]);
    } finally {
      await box.stop();
    }
  });

  it('holds no more memory than its operator gives', { timeout: 90_000 }, async () => {
    const box = await startTestBox({ SKILLBOX_WARM_MEMORY: '8Mi' });
    try {
      const made = await Promise.all(Array.from({ length: 12 }, () => create(box, { template: 'base' })));
      await expect.poll(() => box.box.ahead.state.ready, { timeout: 40_000 }).toBeGreaterThan(0);
      for (let look = 0; look < 40; look += 1) {
        expect(box.box.ahead.state.memoryBytes).toBeLessThanOrEqual(8 * 2 ** 20);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      const { ready, wanted } = box.box.ahead.state;
      expect(ready).toBeLessThan(wanted);
      for (const { id } of made) await destroy(box, id);
    } finally {
      await box.stop();
    }
  });

  it('is there only where the operator wants it', async () => {
    const box = await startTestBox({ SKILLBOX_WARM_MEMORY: '0' });
    try {
      await create(box, { template: 'base' });
      await create(box, { template: 'base' });
      expect(box.box.ahead.state).toMatchObject({ ready: 0, wanted: 0, served: 0, missed: 0 });
    } finally {
      await box.stop();
    }
  });

  it('a burst beyond it is served all the same', { timeout: 120_000 }, async () => {
    const box = await startTestBox();
    try {
      await create(box, { template: 'base' });
      await expect.poll(() => box.box.ahead.state.ready, { timeout: 20_000 }).toBeGreaterThan(0);
      const made = await Promise.all(Array.from({ length: 20 }, () => create(box, { template: 'base' })));
      expect(new Set(made.map(({ id }) => id)).size).toBe(20);
      const { served, missed } = box.box.ahead.state;
      expect(served).toBeGreaterThan(0);
      expect(served + missed).toBe(21);
      expect(await Promise.all(made.map(({ id }) => exec(box, id, 'echo it')))).toEqual(made.map(() => 'it\n'));
      expect(box.box.ahead.state.wanted).toBeGreaterThan(10);
    } finally {
      await box.stop();
    }
  });

  it('leaves nothing when the server stops, and what is left by SIGKILL goes at the next start', { timeout: 90_000 }, async () => {
    const stateRoot = newStateRoot();
    const env = { SKILLBOX_WARM_MEMORY: '64Mi' };
    let server = await startServerProcess({ stateRoot, env });
    const kept = await create(server, { template: 'base' });
    const ready = async () => (await server.json<HostReport>('/v1/host')).body.warm.sandboxes.ready;
    await expect.poll(ready, { timeout: 20_000 }).toBeGreaterThan(0);
    await server.kill();
    const left = disksIn(stateRoot).filter((id) => id !== kept.id);
    expect(left.length).toBeGreaterThan(0);

    server = await startServerProcess({ stateRoot, env });
    await expect.poll(() => disksIn(stateRoot), { timeout: 20_000 }).toEqual([kept.id]);
    const files = readdirSync(join(stateRoot, 'run', 'bubblewrap', 'living'));
    expect(files.filter((name) => left.some((id) => name.startsWith(id)))).toEqual([]);
    expect(await exec(server, kept.id, 'echo on')).toBe('on\n');

    await create(server, { template: 'base' }).then(({ id }) => destroy(server, id));
    await expect.poll(ready, { timeout: 20_000 }).toBeGreaterThan(0);
    await destroy(server, kept.id);
    expect(await server.stop()).toBe(0);
    expect(disksIn(stateRoot)).toEqual([]);
    rmSync(stateRoot, { recursive: true });
  });
});

/** The first process of a sandbox takes all others with it. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function uidOf(pid: string): number {
  try {
    return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    // It ended between the listing and the look.
    return 0;
  }
}

/** Times aside, everything that differs would show here. */
const view = `
echo "up: $(cat up)"; id; pwd; env | sort; ulimit -a; umask; hostname
ls -la --time-style=+ /home/user /tmp /dev/shm / /etc /dev | grep -v ' proc$' | sort
cat /proc/1/cmdline | tr '\\0' ' '; ls /proc | grep -E '^[0-9]+$' | sort -n | head -3
cat /proc/self/status | grep -E '^(Cap|Seccomp|NoNewPrivs|Uid|Gid|Groups|SigBlk|SigIgn)'
cat /proc/self/limits; cat /proc/net/dev | wc -l; cat /proc/self/mountinfo | cut -d' ' -f5,6 | sort; df --output=target,size /tmp /home/user
cat /proc/self/cgroup; nproc; ls /proc/self/fd
`;
