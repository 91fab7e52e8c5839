import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { BoxError } from '@skillbox/protocol';
import { build } from 'esbuild';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { type Database, openDatabase, type Step } from '../../packages/box/src/store/database.ts';
import { migrate, migrations } from '../../packages/box/src/store/migrations.ts';
import { statement } from '../../packages/box/src/store/statement.ts';
import { afterCommit } from '../../packages/box/src/store/transaction.ts';
import { describeDatabases } from './databases.ts';

const repository = fileURLToPath(new URL('../../', import.meta.url));

describeDatabases('database', (fixture) => {
  it('commits what a transaction wrote, and nothing of one that throws', async () => {
    const { kysely, transaction } = await fixture.server();
    await transaction(async (tx) => {
      await tx.insertInto('box_facts').values({ name: 'kept', value: '1' }).execute();
    });
    const failing = transaction(async (tx) => {
      await tx.insertInto('box_facts').values({ name: 'lost', value: '1' }).execute();
      throw new BoxError('quota_exceeded', 'no');
    });
    await expect(failing).rejects.toMatchObject({ code: 'quota_exceeded' });
    const rows = await kysely.selectFrom('box_facts').select('name').execute();
    expect(rows).toEqual([{ name: 'kept' }]);
  });

  describe('a batch', () => {
    const names = async ({ kysely }: Database) =>
      (await kysely.selectFrom('box_facts').select('name').orderBy('name').execute()).map(({ name }) => name);

    it('writes all of its statements', async () => {
      const database = await fixture.server();
      const insert = inserter(database);
      expect(await database.batch([insert('a'), insert('b'), { ...touch(database, 'a'), mustChange: true }])).toBe(true);
      expect(await names(database)).toEqual(['a', 'b']);
    });

    it('writes nothing when one that must change something does not', async () => {
      const database = await fixture.server();
      const insert = inserter(database);
      expect(await database.batch([insert('a'), { ...touch(database, 'missing'), mustChange: true }])).toBe(false);
      expect(await database.batch([insert('b'), touch(database, 'missing')])).toBe(true);
      expect(await names(database)).toEqual(['b']);
    });

    it('writes nothing when one fails, and the next goes on', async () => {
      const database = await fixture.server();
      const insert = inserter(database);
      await expect(database.batch([insert('a'), insert('a')])).rejects.toThrow(/unique|duplicate/i);
      await expect(
        database.batch([
          insert('b'),
          {
            query: () => {
              throw new Error('not now');
            },
          },
        ]),
      ).rejects.toThrow('not now');
      expect(await database.batch([insert('c')])).toBe(true);
      expect(await names(database)).toEqual(['c']);
    });

    it('waits for a transaction that is under way, and one that comes later for it', async () => {
      const database = await fixture.server();
      const order: string[] = [];
      const first = database.transaction(async (tx) => {
        await tx.insertInto('box_facts').values({ name: 'n', value: '' }).execute();
        await new Promise((resolve) => setTimeout(resolve, 30));
        order.push('transaction');
      });
      // The same row: on PostgreSQL too it has to wait.
      await new Promise((resolve) => setTimeout(resolve, 10));
      const second = database.batch([inserter(database)('n')]).catch(() => order.push('batch refused'));
      await Promise.all([first, second]);
      expect(order).toEqual(['transaction', 'batch refused']);
      const both = Array.from({ length: 20 }, (_, index) => database.batch([inserter(database)(`parallel-${index}`)]));
      expect(await Promise.all(both)).toEqual(both.map(() => true));
    });
  });

  it('runs a statement that is compiled once with ever other values', async () => {
    const database = await fixture.server();
    const insert = inserter(database);
    await database.batch([insert('a'), insert('b')]);
    const find = statement<{ name: string }, { name: string; value: string }>(['name'], ({ name }) =>
      database.kysely.selectFrom('box_facts').selectAll().where('name', '=', name).where('value', 'in', ['of a', 'of b']),
    );
    expect(await database.query(find({ name: 'b' }))).toEqual([{ name: 'b', value: 'of b' }]);
    expect(await database.query(find({ name: 'a' }))).toEqual([{ name: 'a', value: 'of a' }]);
    expect(await database.query(find({ name: 'c' }))).toEqual([]);
  });

  it('runs hooks after the commit, and not after a rollback', async () => {
    const { kysely, transaction } = await fixture.server();
    const calls: string[] = [];
    await transaction(async (tx) => {
      afterCommit(tx, () => calls.push('committed'));
      await tx.insertInto('box_facts').values({ name: 'a', value: '1' }).execute();
      expect(calls).toEqual([]);
    });
    await transaction(async (tx) => {
      afterCommit(tx, () => calls.push('rolled back'));
      throw new Error('stop');
    }).catch(() => undefined);
    afterCommit(kysely, () => calls.push('no transaction'));
    expect(calls).toEqual(['committed', 'no transaction']);
  });

  it('keeps parallel transactions of several servers apart', async () => {
    const servers = [await fixture.server(), await fixture.server()];
    await servers[0]?.kysely.insertInto('leases').values({ name: 'n', owner: '', data: '', expires_at: 0 }).execute();
    const increments = servers.flatMap(({ transaction, kind }) =>
      Array.from({ length: 40 }, () =>
        transaction(async (tx) => {
          const read = tx.selectFrom('leases').select('expires_at').where('name', '=', 'n');
          const { expires_at } = await (kind === 'postgres' ? read.forUpdate() : read).executeTakeFirstOrThrow();
          await tx
            .updateTable('leases')
            .set({ expires_at: expires_at + 1 })
            .execute();
        }),
      ),
    );
    await Promise.all(increments);
    const row = await servers[1]?.kysely.selectFrom('leases').select('expires_at').executeTakeFirst();
    expect(row).toEqual({ expires_at: 80 });
  });

  it('gives large integers as numbers', async () => {
    const { kysely } = await fixture.server();
    await kysely.insertInto('leases').values({ name: 'n', owner: '', data: '', expires_at: 1_800_000_000_123 }).execute();
    const row = await kysely.selectFrom('leases').select('expires_at').executeTakeFirst();
    expect(row).toEqual({ expires_at: 1_800_000_000_123 });
    const counted = await kysely
      .selectFrom('leases')
      .select(({ fn }) => [fn.countAll<number>().as('count'), fn.sum<number>('expires_at').as('sum')])
      .executeTakeFirst();
    expect(counted).toEqual({ count: 1, sum: 1_800_000_000_123 });
  });

  it('sorts text by bytes, whatever the locale', async () => {
    const { kysely } = await fixture.server();
    const names = ['b', 'B', 'a', 'ä', '_', '-', '1'];
    await kysely
      .insertInto('box_facts')
      .values(names.map((name) => ({ name, value: '' })))
      .execute();
    const rows = await kysely.selectFrom('box_facts').select('name').orderBy('name').execute();
    expect(rows.map(({ name }) => name)).toEqual(['-', '1', 'B', '_', 'a', 'b', 'ä']);
  });

  it('deletes the files of an execution with it, and refuses files without one', async () => {
    const { kysely } = await fixture.server();
    const file = { execution_id: 'e1', tenant: 't', path: 'a.txt', size: 1, digest: 'd' };
    await expect(kysely.insertInto('execution_files').values(file).execute()).rejects.toThrow(/foreign key/i);
    await kysely.insertInto('executions').values(execution('e1')).execute();
    await kysely.insertInto('execution_files').values(file).execute();
    await kysely.deleteFrom('executions').execute();
    expect(await kysely.selectFrom('execution_files').selectAll().execute()).toEqual([]);
  });

  it('tells the time in milliseconds', async () => {
    const { now } = await fixture.server();
    expect(Math.abs((await now()) - Date.now())).toBeLessThan(2000);
  });

  it('answers ping, and after close says so with a code', async () => {
    const database = await fixture.server();
    await database.ping();
    await database.close();
    await database.close();
    await expect(database.ping()).rejects.toMatchObject({ code: 'shutting_down' });
    await expect(database.transaction(async () => 1)).rejects.toMatchObject({ code: 'shutting_down' });
  });

  it('wakes listeners, also those of this process, until they stop', async () => {
    const database = await fixture.server();
    let woken = 0;
    const stop = database.listen('test_channel', () => woken++);
    database.notify('test_channel');
    database.notify('test_other');
    await expect.poll(() => woken).toBeGreaterThan(0);
    stop();
    const before = woken;
    database.notify('test_channel');
    expect(woken).toBe(before);
  });

  it('migrates once when four processes start at the same moment', async () => {
    const program = await bundle('migrate-process.ts');
    const startAt = Date.now() + 700;
    const runs = Array.from({ length: 4 }, () =>
      promisify(execFile)(process.execPath, [program, JSON.stringify(fixture.options()), String(startAt)]),
    );
    const applied = (await Promise.all(runs)).map(({ stdout }) => JSON.parse(stdout) as string[]);
    const all = migrations.map(({ name }) => name);
    expect(applied.filter((names) => names.length > 0)).toEqual([all]);
    const { kysely } = await fixture.server();
    expect(await kysely.selectFrom('box_facts').selectAll().execute()).toHaveLength(4);
  });

  it('migrates once when four servers of one process start at the same moment', async () => {
    const servers = await Promise.all(Array.from({ length: 4 }, () => openDatabase(fixture.options())));
    try {
      const applied = await Promise.all(servers.map((server) => migrate(server)));
      expect(applied.flat()).toEqual(migrations.map(({ name }) => name));
    } finally {
      await Promise.all(servers.map((server) => server.close()));
    }
  });

  it('leaves nothing of a migration that fails, and applies it when it is mended', async () => {
    const database = await fixture.server();
    const next = (broken: boolean) => ({
      name: '0002-next',
      async up(kysely: Parameters<(typeof migrations)[0]['up']>[0]) {
        await kysely.schema.createTable('next').addColumn('id', 'text').execute();
        if (broken) throw new Error('broken');
      },
    });
    await expect(migrate(database, [...migrations, next(true)])).rejects.toThrow('broken');
    expect(await migrate(database, [...migrations, next(false)])).toEqual(['0002-next']);
    expect(await migrate(database, [...migrations, next(false)])).toEqual([]);
  });

  it('refuses a database that a newer version made, with a hint', async () => {
    const database = await fixture.server();
    await migrate(database, [...migrations, { name: '0099-future', up: async () => undefined }]);
    const refused = await migrate(database).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(BoxError);
    expect(refused).toMatchObject({
      code: 'start_failed',
      message: expect.stringContaining('0099-future'),
      hint: expect.stringContaining('newer'),
    });
  });

  if (fixture.kind === 'sqlite') {
    it('keeps its file to itself and uses the write-ahead log', async () => {
      const { kysely } = await fixture.server();
      const { file } = fixture.options();
      await kysely.insertInto('box_facts').values({ name: 'a', value: '1' }).execute();
      for (const path of [file, `${file}-wal`, `${file}-shm`]) expect(statSync(path).mode & 0o777).toBe(0o600);
      expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
      const { rows } = await sql<{ journal_mode: string }>`pragma journal_mode`.execute(kysely);
      expect(rows).toEqual([{ journal_mode: 'wal' }]);
      expect((await sql<{ synchronous: number }>`pragma synchronous`.execute(kysely)).rows).toEqual([{ synchronous: 1 }]);
    });

    it('takes the write lock when a transaction starts', async () => {
      const [one, two] = [await fixture.server(), await fixture.server()];
      const order: string[] = [];
      await one.transaction(async (tx) => {
        await tx.selectFrom('box_facts').selectAll().execute();
        const other = two.kysely
          .insertInto('box_facts')
          .values({ name: 'two', value: '' })
          .execute()
          .then(() => order.push('two'));
        await new Promise((resolve) => setTimeout(resolve, 100));
        order.push('one');
        void other;
      });
      await expect.poll(() => order).toEqual(['one', 'two']);
    });

    it('does not stop the event loop while another process holds the lock, and gives up with a code', async () => {
      const [one, two] = [await fixture.server(), await fixture.server()];
      await one.transaction(async () => {
        let ticks = 0;
        const timer = setInterval(() => ticks++, 20);
        const waiting = two.kysely.insertInto('box_facts').values({ name: 'two', value: '' }).execute();
        await expect(waiting).rejects.toMatchObject({ code: 'unavailable' });
        clearInterval(timer);
        expect(ticks).toBeGreaterThan(100);
      });
    }, 15_000);

    it('says which file it is when it cannot be opened', async () => {
      const { file } = fixture.options();
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, 'this is no database, but it is long enough to be read as one');
      await expect(openDatabase({ file })).rejects.toMatchObject({ code: 'start_failed', message: expect.stringContaining(file) });
    });
  }

  if (fixture.kind === 'postgres') {
    it('survives the loss of all its connections', async () => {
      const database = await fixture.server();
      await Promise.all(Array.from({ length: 5 }, () => database.ping()));
      const { dsn = '' } = fixture.options();
      expect(await fixture.postgres().cutConnections(dsn)).toBeGreaterThan(0);
      await expect
        .poll(() =>
          database.ping().then(
            () => 'answers',
            (error: BoxError) => error.code,
          ),
        )
        .toBe('answers');
    });

    it('gives a code when the connection breaks under a query or a transaction', async () => {
      const database = await fixture.server();
      const { dsn = '' } = fixture.options();
      const sleeping = sql`select pg_sleep(20)`.execute(database.kysely);
      const inTransaction = database.transaction(async (tx) => {
        await tx.insertInto('box_facts').values({ name: 'lost', value: '' }).execute();
        await sql`select pg_sleep(20)`.execute(tx);
      });
      const results = Promise.allSettled([sleeping, inTransaction]);
      await new Promise((resolve) => setTimeout(resolve, 200));
      await fixture.postgres().cutConnections(dsn);
      for (const result of await results) expect(result).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } });
      // Connections that were idle were cut as well, and the first to use one may still learn it that way.
      const facts = database.kysely.selectFrom('box_facts').selectAll();
      await expect.poll(() => facts.execute().catch((error: BoxError) => error.code)).toEqual([]);
    });

    it('notices a server that stands still', async () => {
      const database = await fixture.server();
      fixture.postgres().freeze();
      try {
        await expect(database.ping()).rejects.toMatchObject({ code: 'unavailable' });
      } finally {
        fixture.postgres().thaw();
      }
      await database.ping();
    });

    it('wakes listeners of another server, also after their connection was lost', async () => {
      const [one, two] = [await fixture.server(), await fixture.server()];
      let woken = 0;
      two.listen('test_channel', () => woken++);
      await expect.poll(() => woken).toBe(1); // The LISTEN itself.
      one.notify('test_channel');
      await expect.poll(() => woken).toBe(2);
      expect(await fixture.postgres().cutConnections(fixture.options().dsn ?? '', 'listeners')).toBe(1);
      await expect.poll(() => woken).toBe(3); // Back again.
      one.notify('test_channel');
      await expect.poll(() => woken).toBe(4);
    });
  }
});

describe('database that cannot be reached', () => {
  it('is a code, whether nobody listens, nobody answers or the string is wrong', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const address = silent.address() as { port: number };
    const answers = [
      'postgres://u:secret@127.0.0.1:1/x',
      `postgres://u:secret@127.0.0.1:${address.port}/x`,
      'postgres://u:secret@[bad/x',
    ].map((dsn) =>
      openDatabase({ dsn, file: '' }).then(
        () => 'opened',
        (error: BoxError) => `${error.code} ${error.message}`,
      ),
    );
    for (const answer of await Promise.all(answers)) {
      expect(answer).toMatch(/^unavailable /);
      expect(answer).not.toContain('secret');
    }
    silent.close();
  }, 15_000);
});

const cache = join(repository, 'node_modules', '.cache');
mkdirSync(cache, { recursive: true });
/** Beside the packages it imports. */
const bundles = mkdtempSync(join(cache, 'contract-'));
afterAll(() => rmSync(bundles, { recursive: true, force: true }));

async function bundle(name: string): Promise<string> {
  const outfile = join(bundles, name.replace('.ts', '.mjs'));
  await build({
    entryPoints: [fileURLToPath(new URL(name, import.meta.url))],
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['better-sqlite3', 'pg', 'kysely', 'zod'],
    outfile,
  });
  return outfile;
}

function execution(id: string) {
  return {
    id,
    tenant: 't',
    skill_name: 's',
    skill_version: '1.0.0',
    status: 'queued',
    input: '{}',
    log_size: 0,
    queued_ms: 0,
    host: 'h',
    cancel_requested: 0,
    actor: 'adm:x',
    created_at: new Date().toISOString(),
  };
}

function inserter({ kysely }: Database): (name: string) => Step {
  const insert = statement<{ name: string; value: string }, unknown>(['name', 'value'], (row) =>
    kysely.insertInto('box_facts').values(row),
  );
  return (name) => ({ query: () => insert({ name, value: `of ${name}` }) });
}

const touch = ({ kysely }: Database, name: string): Step => ({
  query: () => kysely.updateTable('box_facts').set({ value: 'touched' }).where('name', '=', name).compile(),
});
