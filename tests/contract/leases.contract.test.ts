import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createLeases } from '../../packages/box/src/store/leases.ts';
import { describeDatabases } from './databases.ts';

describeDatabases('leases', (fixture) => {
  const open = async () => createLeases(await fixture.server());

  it('gives a lease to one owner until it is released', async () => {
    const leases = await open();
    expect(await leases.acquire('job', 'a', 10_000, { url: 'http://a' })).toMatchObject({
      name: 'job',
      owner: 'a',
      data: { url: 'http://a' },
    });
    expect(await leases.acquire('job', 'b', 10_000)).toBeNull();
    await leases.release('job', 'b');
    expect(await leases.acquire('job', 'b', 10_000)).toBeNull();
    await leases.release('job', 'a');
    expect(await leases.acquire('job', 'b', 10_000)).toMatchObject({ owner: 'b', data: {} });
  });

  it('lets the owner acquire again, with new data and a new term', async () => {
    const leases = await open();
    const first = await leases.acquire('job', 'a', 1000, { n: 1 });
    const second = await leases.acquire('job', 'a', 20_000, { n: 2 });
    expect(second?.data).toEqual({ n: 2 });
    expect((second?.expiresAt ?? 0) - (first?.expiresAt ?? 0)).toBeGreaterThan(15_000);
  });

  it('counts by the clock of the database', async () => {
    const database = await fixture.server();
    const leases = createLeases(database);
    const before = await database.now();
    const lease = await leases.acquire('job', 'a', 60_000);
    const after = await database.now();
    expect(lease?.expiresAt).toBeGreaterThanOrEqual(before + 60_000);
    expect(lease?.expiresAt).toBeLessThanOrEqual(after + 60_000);
  });

  it('gives an expired lease to the next who asks', async () => {
    const leases = await open();
    await leases.acquire('job', 'a', 50);
    expect(await leases.acquire('job', 'b', 10_000)).toBeNull();
    await delay(80);
    expect(await leases.acquire('job', 'b', 10_000)).toMatchObject({ owner: 'b' });
    expect(await leases.renew('job', 'a', 10_000)).toBe(false);
  });

  it('renews for the owner only, keeps the data unless there is new', async () => {
    const leases = await open();
    await leases.acquire('job', 'a', 200, { n: 1 });
    expect(await leases.renew('job', 'b', 10_000)).toBe(false);
    expect(await leases.renew('other', 'a', 10_000)).toBe(false);
    expect(await leases.renew('job', 'a', 10_000)).toBe(true);
    await delay(220);
    expect(await leases.list('job')).toMatchObject([{ owner: 'a', data: { n: 1 }, expired: false }]);
    expect(await leases.renew('job', 'a', 10_000, { n: 2 })).toBe(true);
    expect(await leases.list('job')).toMatchObject([{ data: { n: 2 } }]);
  });

  it('lets a late owner renew as long as nobody took the lease', async () => {
    const leases = await open();
    await leases.acquire('job', 'a', 1);
    await delay(20);
    expect(await leases.list('')).toMatchObject([{ expired: true }]);
    expect(await leases.renew('job', 'a', 10_000)).toBe(true);
    expect(await leases.takeExpired('job', 'b', 10_000)).toEqual([]);
  });

  it('lists by prefix, literally', async () => {
    const leases = await open();
    for (const name of ['host:a', 'host:b', 'hosts', 'host%', 'other']) await leases.acquire(name, 'x', 10_000);
    expect((await leases.list('host:')).map(({ name }) => name)).toEqual(['host:a', 'host:b']);
    expect((await leases.list('host%')).map(({ name }) => name)).toEqual(['host%']);
    expect(await leases.list('')).toHaveLength(5);
  });

  it('has exactly one winner among many who acquire a free or an expired lease', async () => {
    const servers = await Promise.all(Array.from({ length: 4 }, open));
    for (const round of [1, 2, 3]) {
      const attempts = servers.flatMap((leases, server) =>
        Array.from({ length: 10 }, (_, nth) => leases.acquire('job', `owner-${round}-${server}-${nth}`, 30)),
      );
      const won = (await Promise.all(attempts)).filter((lease) => lease !== null);
      // The lease may run out before a slow one has asked; two winners must then be a full term apart.
      const ends = won.map(({ expiresAt }) => expiresAt).sort((a, b) => a - b);
      expect(won.length).toBeGreaterThan(0);
      ends.slice(1).forEach((end, nth) => {
        expect(end - (ends[nth] ?? 0)).toBeGreaterThanOrEqual(30);
      });
      await delay(50);
    }
  });

  it('has exactly one winner when the lease lasts', async () => {
    const servers = await Promise.all(Array.from({ length: 4 }, open));
    const attempts = servers.flatMap((leases, server) =>
      Array.from({ length: 25 }, (_, nth) => leases.acquire('job', `owner-${server}-${nth}`, 60_000)),
    );
    expect((await Promise.all(attempts)).filter((lease) => lease !== null)).toHaveLength(1);
  });

  it('lets exactly one host clean up after each dead one', async () => {
    const servers = await Promise.all(Array.from({ length: 4 }, open));
    const dead = Array.from({ length: 20 }, (_, nth) => `host:${nth}`);
    for (const name of dead) await servers[0]?.acquire(name, `owner of ${name}`, 1, { url: name });
    await servers[0]?.acquire('host:alive', 'alive', 60_000);
    await servers[0]?.acquire('other', 'x', 1);
    await delay(20);
    const taken = (await Promise.all(servers.map((leases, nth) => leases.takeExpired('host:', `cleaner-${nth}`, 60_000)))).flat();
    expect(taken.map(({ name }) => name).sort()).toEqual(dead.sort());
    for (const lease of taken) expect(lease).toMatchObject({ previousOwner: `owner of ${lease.name}`, data: { url: lease.name } });
    expect(await servers[1]?.renew('host:3', 'owner of host:3', 1000)).toBe(false);
    expect(await servers[1]?.acquire('host:3', 'owner of host:3', 1000)).toBeNull();
  });

  it('passes the clean-up on when the cleaner dies too', async () => {
    const leases = await open();
    await leases.acquire('host:a', 'a', 1);
    await delay(10);
    expect(await leases.takeExpired('host:', 'b', 1)).toHaveLength(1);
    await delay(10);
    expect(await leases.takeExpired('host:', 'c', 10_000)).toMatchObject([{ owner: 'c', previousOwner: 'b' }]);
    await leases.release('host:a', 'c');
    expect(await leases.list('')).toEqual([]);
  });
});
