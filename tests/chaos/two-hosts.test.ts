/** Two servers on one PostgreSQL and one S3: one box, and what one leaves the other closes; nothing runs twice, nothing is lost. */

import { randomBytes } from 'node:crypto';
import { rmdirSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Execution } from '@skillbox/protocol';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { probeSkill } from '../support/box.ts';
import { groupParents, leftoversSettled, sandboxGroups, sandboxProcesses, uptime } from '../support/leftovers.ts';
import { postgresFolder, startPostgres, type TestPostgres } from '../support/postgres.ts';
import { startS3, type TestS3 } from '../support/s3.ts';
import { newStateRoot, type ServerProcess, startServerProcess } from '../support/server-process.ts';

const leaseMs = 2000;
const slots = 2;
const programs = postgresFolder();
const long = 'echo start; for i in $(seq 600); do echo tick $i; sleep 0.1; done';
const quick = `echo start; echo '"ran"' > "$SANDBOX_OUTPUT"`;

describe.skipIf(!programs)('two hosts', () => {
  let postgres: TestPostgres;
  let s3: TestS3;
  let env: Record<string, string>;
  let servers: ServerProcess[];

  beforeAll(async () => {
    [postgres, s3] = await Promise.all([startPostgres(programs as string), startS3()]);
  });
  afterAll(async () => {
    await Promise.all([postgres.stop(), s3.stop()]);
  });
  beforeEach(async () => {
    servers = [];
    env = {
      SKILLBOX_DB_DSN: await postgres.createDatabase(),
      SKILLBOX_S3_ENDPOINT: s3.endpoint,
      SKILLBOX_S3_BUCKET: `box-${randomBytes(4).toString('hex')}`,
      SKILLBOX_S3_ACCESS_KEY: s3.accessKey,
      SKILLBOX_S3_SECRET_KEY: s3.secretKey,
      SKILLBOX_SECRET_KEY: 'the same secret on all hosts of this box',
      SKILLBOX_LEASE_TTL: `${leaseMs}ms`,
      SKILLBOX_DRAIN_TIMEOUT: '1s',
      SKILLBOX_MAX_CONCURRENT_EXECS: String(slots),
    };
  });
  afterEach(async () => {
    await Promise.all(
      servers
        .filter((server) => server.running)
        .map((server) => {
          // One that a failed test left asleep would never hear that it should stop.
          server.signal('SIGCONT');
          return server.stop();
        }),
    );
    for (const { host, stateRoot } of servers) {
      // A host that never came back cannot remove its groups itself.
      for (const group of [...sandboxGroups(host), ...groupParents(host)]) rmdirSync(group);
      rmSync(stateRoot, { recursive: true, force: true });
    }
  });

  const start = async (more: Record<string, string> = {}): Promise<ServerProcess> => {
    const stateRoot = newStateRoot();
    try {
      const server = await startServerProcess({ stateRoot, env: { ...env, ...more } });
      servers.push(server);
      return server;
    } catch (error) {
      rmSync(stateRoot, { recursive: true, force: true });
      throw error;
    }
  };
  const startBoth = async (): Promise<[ServerProcess, ServerProcess]> => {
    const both = await Promise.all([start(), start()]);
    await both[0].push(probeSkill('bash'));
    return both;
  };
  const submit = (server: ServerProcess, probe: string): Promise<Execution> =>
    server.run('probe-bash', { env: { PROBE: probe }, wait: false });
  const submitMany = (server: ServerProcess, count: number, probe: string): Promise<Execution[]> =>
    Promise.all(Array.from({ length: count }, () => submit(server, probe)));

  /** Each once: one end in the events, one start in the log of what ran. */
  const expectOnce = async (server: ServerProcess, ids: readonly string[]): Promise<void> => {
    const events = await server.json<{ items: { subject: { id: string } }[] }>('/v1/events?type=execution.finished&limit=200');
    const ends = events.body.items.map(({ subject }) => subject.id);
    expect(ends.sort()).toEqual([...ids].sort());
    for (const id of ids) {
      const { status, logs } = await server.get(id);
      if (status === 'success') expect(logs).toBe('start\n');
    }
  };

  it('are one box: skills, links, cancels and streams work on either', async () => {
    const [a, b] = await startBoth();
    const record = await b.run('probe-bash', { env: { PROBE: `${quick}; echo hello > "$SANDBOX_FILES_DIR/hi.txt"` } });
    expect(record).toMatchObject({ status: 'success', output: 'ran', host: b.host });
    const link = new URL((await a.get(record.execution_id)).files_url ?? '');
    expect(link.origin).toBe(a.url);
    const archive = await fetch(`${b.url}${link.pathname}${link.search}`);
    expect(archive.status).toBe(200);
    expect((await archive.arrayBuffer()).byteLength).toBeGreaterThan(50);

    const running = await submit(a, long);
    const ticks = await followTicks(b, running.execution_id, 5);
    expect(ticks.lines.slice(0, 5)).toEqual(['tick 1', 'tick 2', 'tick 3', 'tick 4', 'tick 5']);
    // Forwarded while it runs: five ticks take half a second there, and arrive one by one.
    expect(ticks.spreadMs).toBeGreaterThan(200);

    const cancelled = await b.json<Execution>(`/v1/executions/${running.execution_id}/cancel`, { method: 'POST' });
    expect(cancelled).toMatchObject({ status: 200, body: { status: 'cancelled', host: a.host } });
    expect(await leftoversSettled({ ...a }, { standby: 2 })).toEqual([]);
    await expectOnce(b, [record.execution_id, running.execution_id]);
  });

  it('one killed for good: the other closes what ran and runs what waited, once, within a lease', async () => {
    const [a, b] = await startBoth();
    const running = await submitMany(a, slots, long);
    const waiting = await submitMany(a, 6, quick);
    const callers = [1, 2].map(() => a.run('probe-bash', { env: { PROBE: quick } }).catch(() => undefined));
    await delay(600);
    const inRow = await a.json<{ items: Execution[] }>('/v1/executions?limit=100');
    const ids = inRow.body.items.map(({ execution_id }) => execution_id);
    expect(inRow.body.items.map(({ status }) => status).sort()).toEqual([...Array(8).fill('queued'), ...Array(slots).fill('running')]);

    const killedAt = performance.now();
    const deadSince = uptime();
    await a.kill();
    await Promise.all(callers);
    for (const { execution_id } of running) {
      expect(await b.ended(execution_id)).toMatchObject({ status: 'failed', error: { code: 'interrupted' }, host: a.host });
    }
    const closedMs = performance.now() - killedAt;
    console.log(`closed ${Math.round(closedMs)} ms after the kill, lease ${leaseMs} ms`);
    // The lease, a beat of the other host (a third of it), and the work itself.
    expect(closedMs).toBeLessThan(leaseMs * 1.34 + 1500);
    for (const { execution_id } of waiting) {
      expect(await b.ended(execution_id)).toMatchObject({ status: 'success', output: 'ran', host: b.host });
    }
    // Whoever waited for these went away with the host; nobody could come back for them.
    const others = ids.filter((id) => ![...running, ...waiting].some(({ execution_id }) => execution_id === id));
    expect(others).toHaveLength(2);
    for (const id of others) expect(await b.ended(id)).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
    await expectOnce(b, ids);
    expect(sandboxProcesses(a.firstUid, deadSince)).toEqual([]);
  });

  it('one stopped in order: what waited there runs on the other', async () => {
    const [a, b] = await startBoth();
    const running = await submitMany(a, slots, long);
    const waiting = await submitMany(a, 4, quick);
    expect(await a.stop()).toBe(0);
    for (const { execution_id } of running) {
      expect(await b.get(execution_id)).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
    }
    for (const { execution_id } of waiting) {
      expect(await b.ended(execution_id)).toMatchObject({ status: 'success', output: 'ran', host: b.host });
    }
    await expectOnce(
      b,
      [...running, ...waiting].map(({ execution_id }) => execution_id),
    );
    expect(groupParents(a.host)).toEqual([]);
  });

  it('one that slept through its lease: what was recorded meanwhile stands, and it goes on working', async () => {
    const [a, b] = await startBoth();
    const late = await submit(a, `sleep 1; ${quick}`);
    const endless = await submit(a, long);
    const waiting = await submitMany(a, 3, quick);
    for (const deadline = Date.now() + 5000; !(await a.get(endless.execution_id)).logs && Date.now() < deadline; ) await delay(50);
    a.signal('SIGSTOP');
    for (const { execution_id } of [late, endless]) {
      expect(await b.ended(execution_id)).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
    }
    for (const { execution_id } of waiting) expect(await b.ended(execution_id)).toMatchObject({ status: 'success', host: b.host });
    expect(sandboxProcesses(a.firstUid).length).toBeGreaterThan(0);
    a.signal('SIGCONT');
    expect(await leftoversSettled({ ...a }, { standby: 2 }), 'it stops what is not its own any more').toEqual([]);
    expect(await untilAccepted(a)).toMatchObject({ status: 'success', host: a.host });
    for (const { execution_id } of [late, endless]) {
      expect(await a.get(execution_id)).toMatchObject({ status: 'failed', error: { code: 'interrupted' }, output: null });
    }
    const events = await b.json<{ items: { subject: { id: string } }[] }>('/v1/events?type=execution.finished&limit=200');
    const ends = events.body.items.map(({ subject }) => subject.id);
    expect(ends).toHaveLength(new Set(ends).size);
  });

  it('with different secrets refuse to be one box', async () => {
    await start();
    await expect(start({ SKILLBOX_SECRET_KEY: 'another secret than the first host has' })).rejects.toThrow(
      /another secret key than the box[\s\S]*SKILLBOX_SECRET_KEY/,
    );
  });
});

/** Reads the stream until so many ticks have come. */
async function followTicks(server: ServerProcess, id: string, count: number): Promise<{ lines: string[]; spreadMs: number }> {
  const stop = new AbortController();
  const response = await server.request(`/v1/executions/${id}/events`, {
    signal: AbortSignal.any([stop.signal, AbortSignal.timeout(10_000)]),
  });
  const lines: string[] = [];
  let first = 0;
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    lines.splice(0, lines.length, ...[...text.matchAll(/tick \d+/g)].map(([line]) => line));
    if (lines.length > 0) first ||= performance.now();
    if (lines.length >= count) break;
  }
  stop.abort();
  return { lines, spreadMs: performance.now() - first };
}

/** A host without a lease refuses with Retry-After; it has one again within a beat. */
async function untilAccepted(server: ServerProcess): Promise<Execution> {
  for (let tries = 0; tries < 50; tries += 1) {
    const { status, body, headers } = await server.json<Execution>('/v1/executions', {
      body: { skill: 'probe-bash', env: { PROBE: 'echo start' } },
    });
    if (status === 200 && body.error?.code !== 'interrupted') return body;
    if (status !== 200) expect({ status, retry: headers.get('retry-after') }).toEqual({ status: 503, retry: expect.any(String) });
    await delay(100);
  }
  throw new Error('the host takes no work any more');
}
