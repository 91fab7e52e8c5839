import { setTimeout as delay } from 'node:timers/promises';
import type { BoxEvent } from '@skillbox/protocol';
import { expect, it, onTestFinished } from 'vitest';
import { createEvents, type Events } from '../../packages/box/src/events/events.ts';
import type { EventFilter } from '../../packages/box/src/events/filter.ts';
import type { NewEvent } from '../../packages/box/src/events/row.ts';
import type { Database } from '../../packages/box/src/store/database.ts';
import { describeDatabases } from './databases.ts';

const event = (over: Partial<NewEvent> = {}): NewEvent => ({
  tenant: 'acme',
  actor: { kind: 'agt', id: 'key_1' },
  subject: { type: 'execution', id: 'e1' },
  type: 'execution.started',
  ...over,
});

describeDatabases('events', (fixture) => {
  async function open(host = 'host-1'): Promise<{ database: Database; events: Events }> {
    const database = await fixture.server();
    return { database, events: createEvents({ database, host }) };
  }

  it('fills in what the caller does not know and gives back what it stored', async () => {
    const { events } = await open('host-7');
    const [appended] = await events.append(event({ data: { text: 'äöü\u0000', list: [1, null] } }));
    expect(appended).toMatchObject({ ...event(), host: 'host-7', seq: 1, data: { text: 'äöü\u0000', list: [1, null] } });
    expect(appended?.id).toMatch(/^evt_/);
    expect(Math.abs(Date.parse(appended?.time ?? '') - Date.now())).toBeLessThan(5000);
    expect(await events.list({ limit: 10 })).toEqual([appended]);
  });

  it('appends many at once, in order, all or none', async () => {
    const { events, database } = await open();
    const many = Array.from({ length: 1200 }, (_, nth) => event({ data: { nth } }));
    const appended = await events.append(many);
    expect(appended.map(({ data }) => data.nth)).toEqual(many.map(({ data }) => data?.nth));
    expect(appended.every(({ seq }, nth) => nth === 0 || seq > (appended[nth - 1]?.seq ?? 0))).toBe(true);
    expect(await events.append([])).toEqual([]);
    const broken = event({ tenant: null as unknown as string });
    await expect(events.append([...many, broken])).rejects.toThrow();
    const { count } = await database.kysely
      .selectFrom('events')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    expect(count).toBe(1200);
  });

  it('joins a transaction: appears with its commit, vanishes with its rollback', async () => {
    const { events, database } = await open();
    await database.transaction((tx) => events.append(event({ type: 'kept' }), tx));
    await database
      .transaction(async (tx) => {
        await events.append(event({ type: 'lost' }), tx);
        throw new Error('stop');
      })
      .catch(() => undefined);
    expect((await events.list({ limit: 10 })).map(({ type }) => type)).toEqual(['kept']);
  });

  it('filters, and pages both ways', async () => {
    const { events } = await open();
    await events.append([
      event({ tenant: 'a', type: 'execution.started', subject: { type: 'execution', id: '1' } }),
      event({ tenant: 'a', type: 'execution.finished', subject: { type: 'execution', id: '1' } }),
      event({ tenant: 'b', type: 'execution.started', subject: { type: 'execution', id: '2' } }),
      event({ tenant: 'a', type: 'skill.pushed', subject: { type: 'skill', id: '1' } }),
      event({ tenant: 'a', type: 'execution_x', subject: { type: 'skill', id: '2' } }),
    ]);
    const seqs = async (query: Parameters<Events['list']>[0]) => (await events.list(query)).map(({ seq }) => seq);
    expect(await seqs({ limit: 10 })).toEqual([1, 2, 3, 4, 5]);
    expect(await seqs({ limit: 10, tenant: 'a' })).toEqual([1, 2, 4, 5]);
    expect(await seqs({ limit: 10, subject: { type: 'execution' } })).toEqual([1, 2, 3]);
    expect(await seqs({ limit: 10, subject: { type: 'execution', id: '1' } })).toEqual([1, 2]);
    expect(await seqs({ limit: 10, type: 'execution.started' })).toEqual([1, 3]);
    expect(await seqs({ limit: 10, typePrefix: 'execution.' })).toEqual([1, 2, 3]);
    expect(await seqs({ limit: 2, typePrefix: 'execution.', afterSeq: 1 })).toEqual([2, 3]);
    expect(await seqs({ limit: 2, typePrefix: 'execution.', order: 'desc' })).toEqual([3, 2]);
    expect(await seqs({ limit: 10, typePrefix: 'execution.', tenant: 'a' })).toEqual([1, 2]);
    expect(await seqs({ limit: 10, typePrefix: '', tenant: 'a' })).toEqual([1, 2, 4, 5]);
    expect(await seqs({ limit: 10, typePrefix: 'nothing.' })).toEqual([]);
    expect(await seqs({ limit: 2, afterSeq: 1 })).toEqual([2, 3]);
    expect(await seqs({ limit: 2, order: 'desc' })).toEqual([5, 4]);
    expect(await seqs({ limit: 2, order: 'desc', beforeSeq: 4, tenant: 'a' })).toEqual([2, 1]);
    expect(await events.lastSeq()).toBe(5);
  });

  it('filters by time, however the time is written', async () => {
    const { events, database } = await open();
    await events.append([event(), event(), event(), event()]);
    // As hosts with different clocks leave them.
    const times = ['2030-01-01T00:00:00.000Z', '2030-01-01T00:00:02.000Z', '2030-01-01T00:00:01.000Z', '2030-01-01T00:00:03.000Z'];
    for (const [nth, time] of times.entries()) {
      await database.kysely
        .updateTable('events')
        .set({ time })
        .where('seq', '=', nth + 1)
        .execute();
    }
    const seqs = async (filter: EventFilter) => (await events.list({ ...filter, limit: 10 })).map(({ seq }) => seq);
    expect(await seqs({ since: '2030-01-01T00:00:01Z' })).toEqual([2, 3, 4]);
    expect(await seqs({ until: '2030-01-01T00:00:02Z' })).toEqual([1, 3]);
    expect(await seqs({ since: '2030-01-01T00:00:01Z', until: '2030-01-01T00:00:03Z' })).toEqual([2, 3]);
    expect(await seqs({ since: '2031-01-01T00:00:00Z' })).toEqual([]);
  });

  it('does not give a number twice after the newest events were deleted', async () => {
    const { events, database } = await open();
    await events.append([event(), event()]);
    await database.kysely.deleteFrom('events').execute();
    const [next] = await events.append(event());
    expect(next?.seq).toBe(3);
  });

  it('follows from a position: the past, then what is new, filtered the same', async () => {
    const { events } = await open();
    await events.append(Array.from({ length: 450 }, (_, nth) => event({ tenant: nth % 2 ? 'a' : 'b' })));
    const follower = follow(events, { tenant: 'a' }, 10);
    await expect.poll(() => follower.seen.length).toBe(220);
    await events.append([event({ tenant: 'b' }), event({ tenant: 'a', type: 'new' })]);
    await expect.poll(() => follower.seen.length).toBe(221);
    expect(follower.seen.at(-1)).toMatchObject({ seq: 452, type: 'new' });
    expect(follower.seen[0]?.seq).toBe(12);
    await follower.stop();
  });

  it('hears at once, not at the next poll', async () => {
    const { events } = await open();
    const follower = follow(events, {}, 0);
    await delay(150);
    const waits: number[] = [];
    for (let nth = 1; nth <= 10; nth++) {
      const start = performance.now();
      await events.append(event());
      await expect.poll(() => follower.seen.length, { interval: 1 }).toBe(nth);
      waits.push(performance.now() - start);
    }
    expect(waits.sort((a, b) => a - b)[5]).toBeLessThan(200);
    await follower.stop();
  });

  it('shows an event of a transaction after its commit, and never one that is rolled back', async () => {
    const { events, database } = await open();
    const follower = follow(events, {}, 0);
    await delay(50);
    await database.transaction(async (tx) => {
      await events.append(event({ type: 'one' }), tx);
      await delay(100);
      expect(follower.seen).toEqual([]);
    });
    await database
      .transaction(async (tx) => {
        await events.append(event({ type: 'lost' }), tx);
        throw new Error('stop');
      })
      .catch(() => undefined);
    await events.append(event({ type: 'two' }));
    await expect.poll(() => follower.seen.map(({ type }) => type)).toEqual(['one', 'two']);
    await follower.stop();
  });

  it('loses and repeats nothing while many append, for followers that come, go and resume', async () => {
    const servers = await Promise.all([open('host-1'), open('host-2'), open('host-3')]);
    const steady = servers.map(({ events }) => follow(events, {}, 0));
    const appending = servers.map(async ({ events, database }, server) => {
      for (let nth = 0; nth < 60; nth++) {
        const data = { server, nth };
        if (nth % 3 === 0) await events.append(event({ data }));
        else {
          await database
            .transaction(async (tx) => {
              await events.append(event({ data }), tx);
              await delay(Math.random() * 5);
              if (nth % 7 === 1) throw new Error('rolled back');
            })
            .catch(() => undefined);
        }
      }
    });
    const resumed = servers.map(async ({ events }) => {
      const seen: BoxEvent[] = [];
      while (seen.length < 162) {
        const part = follow(events, {}, seen.at(-1)?.seq ?? 0);
        await delay(Math.random() * 60);
        await part.stop();
        seen.push(...part.seen);
      }
      return seen;
    });
    await Promise.all(appending);
    const stored = await servers[0].events.list({ limit: 1000 });
    const expected = stored.map(({ seq }) => seq);
    expect(expected).toHaveLength(162);
    for (const { seen } of steady) await expect.poll(() => seen.map(({ seq }) => seq), { timeout: 5000 }).toEqual(expected);
    for (const seen of await Promise.all(resumed)) expect(seen.map(({ seq }) => seq)).toEqual(expected);
    for (const { stop } of steady) await stop();
  });

  it('serves a follower that reads slowly from the table, without loss', async () => {
    const { events } = await open();
    const seen: number[] = [];
    const abort = new AbortController();
    const slow = (async () => {
      for await (const { seq } of events.follow({}, { afterSeq: 0 }, abort.signal)) {
        seen.push(seq);
        if (seq === 1) await delay(300);
        if (seen.length === 3501) abort.abort();
      }
    })();
    await delay(50);
    await events.append(event());
    await delay(50);
    for (let nth = 0; nth < 7; nth++) await events.append(Array.from({ length: 500 }, () => event()));
    await slow;
    expect(seen).toEqual(Array.from({ length: 3501 }, (_, nth) => nth + 1));
  });

  it('ends when the signal aborts, also while it waits or when it had aborted before', async () => {
    const { events } = await open();
    const follower = follow(events, {}, 0);
    await delay(50);
    await follower.stop();
    const aborted = follow(events, {}, 0, AbortSignal.abort());
    await aborted.done;
    await events.append(event());
    await delay(50);
    expect([...follower.seen, ...aborted.seen]).toEqual([]);
  });

  it('tells followers when the database is closed under them', async () => {
    const { events, database } = await open();
    const follower = follow(events, {}, 0);
    const ended = expect(follower.done).rejects.toMatchObject({ code: 'shutting_down' });
    await delay(50);
    await database.close();
    await ended;
  });

  it('hears what another server appends', async () => {
    const [one, two] = [await open('host-1'), await open('host-2')];
    const follower = follow(two.events, {}, 0);
    await delay(100);
    await one.events.append(event());
    await expect.poll(() => follower.seen, { timeout: 3000 }).toMatchObject([{ host: 'host-1' }]);
    await follower.stop();
  });

  if (fixture.kind === 'postgres') {
    it('holds back later numbers while an earlier one is not decided, in lists and for followers', async () => {
      const [one, two] = [await open('host-1'), await open('host-2')];
      const follower = follow(two.events, {}, 0);
      await delay(100);
      for (const ending of ['commit', 'rollback', 'rollback', 'rollback', 'rollback', 'rollback'] as const) {
        const start = follower.seen.length;
        let early: BoxEvent | undefined;
        let late: BoxEvent | undefined;
        await one.database
          .transaction(async (tx) => {
            [early] = await one.events.append(event({ type: 'early' }), tx);
            [late] = await two.events.append(event({ type: 'late' }));
            await delay(130);
            expect(late?.seq).toBeGreaterThan(early?.seq ?? 0);
            expect(follower.seen.length).toBe(start);
            expect(await two.events.list({ afterSeq: (early?.seq ?? 0) - 1, limit: 10 })).toEqual([]);
            expect(await two.events.list({ order: 'desc', limit: 1 })).toMatchObject([{ type: 'late' }]);
            if (ending === 'rollback') throw new Error('stop');
          })
          .catch((error: Error) => {
            if (error.message !== 'stop') throw error;
          });
        const expected = ending === 'commit' ? [early, late] : [late];
        const decided = performance.now();
        await expect.poll(() => follower.seen.slice(start), { interval: 5 }).toEqual(expected);
        // Nobody is notified of a rollback, so this is the quick look again, not the poll of a second.
        expect(performance.now() - decided).toBeLessThan(400);
      }
      await follower.stop();
    });

    it('does not make appends wait for each other', async () => {
      const [one, two] = [await open('host-1'), await open('host-2')];
      await one.database.transaction(async (tx) => {
        await one.events.append(event(), tx);
        const appended = two.events.append(event()).then(() => 'appended');
        expect(await Promise.race([appended, delay(2000, 'waits')])).toBe('appended');
      });
    });

    it('goes on after its connections were lost', async () => {
      const [one, two] = [await open('host-1'), await open('host-2')];
      const follower = follow(two.events, {}, 0);
      await one.events.append(event({ type: 'before' }));
      await expect.poll(() => follower.seen.length).toBe(1);
      await fixture.postgres().cutConnections(fixture.options().dsn ?? '');
      await expect
        .poll(() =>
          one.events.append(event({ type: 'after' })).then(
            () => true,
            () => false,
          ),
        )
        .toBe(true);
      await expect.poll(() => follower.seen.map(({ type }) => type), { timeout: 5000 }).toEqual(['before', 'after']);
      await follower.stop();
    });
  }
});

interface Follower {
  readonly seen: BoxEvent[];
  readonly done: Promise<void>;
  stop(): Promise<void>;
}

function follow(events: Events, filter: EventFilter, afterSeq: number, signal?: AbortSignal): Follower {
  const abort = new AbortController();
  const seen: BoxEvent[] = [];
  const done = (async () => {
    for await (const each of events.follow(filter, { afterSeq }, signal ?? abort.signal)) seen.push(each);
  })();
  // Whoever cares awaits `done`; a test that failed earlier must not fail again for the closed database.
  done.catch(() => undefined);
  onTestFinished(() => abort.abort());
  return {
    seen,
    done,
    stop: () => {
      abort.abort();
      return done;
    },
  };
}
