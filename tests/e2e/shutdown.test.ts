/** A server that stops, and the next one on its state root. */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Execution } from '@skillbox/protocol';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { loadConfig } from '../../packages/box/src/config.ts';
import { createLog } from '../../packages/box/src/observe/log.ts';
import { type RunningServer, startServer } from '../../packages/box/src/server/serve.ts';
import { groupParents } from '../support/leftovers.ts';
import { collect, eventsOf, shellSkill, until, zipOf } from './wire.ts';

let stateRoot: string;
const servers: RunningServer[] = [];
beforeEach(() => {
  stateRoot = mkdtempSync(join(tmpdir(), 'skillbox-test-'));
});
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  rmSync(stateRoot, { recursive: true, force: true });
});

interface Client extends RunningServer {
  send(path: string, options?: RequestInit): Promise<Response>;
  json<T = Execution>(path: string, options?: RequestInit): Promise<{ status: number; body: T }>;
  run(run: string, more?: object, headers?: Record<string, string>): Promise<{ status: number; body: Execution }>;
}

async function startHere(env: Record<string, string> = {}): Promise<Client> {
  const config = loadConfig({
    cwd: stateRoot,
    env: {
      SKILLBOX_API_PORT: '0',
      SKILLBOX_LOG_LEVEL: 'error',
      SKILLBOX_STATE_ROOT: stateRoot,
      SKILLBOX_MAX_CONCURRENT_EXECS: '1',
      ...env,
    },
  });
  const server = await startServer(config, createLog('error'));
  servers.push(server);
  const key = readFileSync(join(stateRoot, 'admin.key'), 'utf8').trim();
  const send: Client['send'] = (path, options = {}) =>
    fetch(server.url + path, { ...options, headers: { Authorization: `Bearer ${key}`, ...(options.headers as Record<string, string>) } });
  const json = async <T>(path: string, options?: RequestInit) => {
    const response = await send(path, options);
    return { status: response.status, body: (await response.json()) as T };
  };
  await send('/v1/skills', {
    method: 'POST',
    body: new Uint8Array(await zipOf(shellSkill())),
    headers: { 'Content-Type': 'application/zip' },
  });
  return {
    ...server,
    send,
    json,
    run: (run, more = {}, headers = {}) =>
      json('/v1/executions', { method: 'POST', body: JSON.stringify({ skill: 'shell', env: { RUN: run }, ...more }), headers }),
  };
}

/** What a later server says of an execution. */
const later = (server: Client, id: string) =>
  until(
    async () => (await server.json(`/v1/executions/${id}`)).body,
    ({ finished_at }) => finished_at !== null,
  );

it('lets what runs finish, answers who waits for it, and refuses what comes', async () => {
  const server = await startHere();
  const waiting = server.run('echo begun; sleep 0.6; echo done');
  const id = await until(
    async () => (await server.json<{ items: Execution[] }>('/v1/executions?status=running')).body.items[0]?.execution_id ?? '',
  );
  const stream = server.send(`/v1/executions/${id}/events`).then((response) => collect(eventsOf(response)));
  await delay(50);
  const stopped = server.stop();
  expect(server.stop()).toBe(stopped);
  await delay(100);
  const late = await server.run('echo late').then(
    ({ status, body }) => ({ status, error: body.error as unknown }),
    () => 'refused',
  );
  expect(late === 'refused' || JSON.stringify(late) === '{"status":503,"error":"shutting_down"}').toBe(true);
  expect(await waiting).toMatchObject({ status: 200, body: { execution_id: id, status: 'success', logs: 'begun\ndone\n' } });
  expect((await stream).at(-1)).toMatchObject({ event: 'status', data: { text: 'success' } });
  await stopped;
  expect(existsSync(join(stateRoot, 'run', 'server.json'))).toBe(false);
  await expect(fetch(`${server.url}/livez`)).rejects.toThrow();

  const next = await startHere();
  expect((await next.json(`/v1/executions/${id}`)).body).toMatchObject({ status: 'success', logs: 'begun\ndone\n' });
});

it('keeps what waits with wait: false for the next server, with its input, files and environment', async () => {
  const server = await startHere();
  const running = (await server.run('sleep 0.5; echo first', { wait: false })).body.execution_id;
  const queued = await server.run(`echo "$GREETING $(cat /sandbox/input.json) $(cat $SANDBOX_INPUT_DIR/a/b.txt)"`, {
    wait: false,
    input: { n: 1 },
    files: { 'a/b.txt': Buffer.from('from a file').toString('base64') },
    env: { RUN: `echo "$GREETING $(cat /sandbox/input.json) $(cat $SANDBOX_INPUT_DIR/a/b.txt)"`, GREETING: 'hello' },
  });
  expect(queued).toMatchObject({ status: 202, body: { status: 'queued' } });
  const keyed = server.run('echo keyed', {}, { 'Idempotency-Key': 'once' });
  const unkeyed = server.run('echo nobody can come back for this');
  await until(
    () => server.box.executions.running,
    (count) => count === 4,
  );
  await server.stop();
  // Whoever has a key to come back with is told to; who has none is told the truth.
  const kept = await keyed;
  expect(kept).toMatchObject({ status: 202, body: { status: 'queued' } });
  const lost = await unkeyed;
  expect(lost).toMatchObject({ status: 200, body: { status: 'failed', error: { code: 'interrupted' }, started_at: null } });

  const next = await startHere();
  expect(await later(next, running)).toMatchObject({ status: 'success', logs: 'first\n' });
  const resumed = await later(next, queued.body.execution_id);
  expect(resumed).toMatchObject({ status: 'success', logs: 'hello {"n":1} from a file\n' });
  expect(resumed.queued_ms).toBeGreaterThan(0);
  expect(await next.run('echo keyed', {}, { 'Idempotency-Key': 'once' })).toMatchObject({
    status: 200,
    body: { execution_id: kept.body.execution_id, status: 'success', logs: 'keyed\n' },
  });
  expect(await later(next, lost.body.execution_id)).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
  const { body } = await next.json<{ items: Execution[] }>('/v1/executions');
  expect(body.items).toHaveLength(4);
});

it('stops a run that outlasts the time to drain, and says so in its record', async () => {
  const server = await startHere({ SKILLBOX_DRAIN_TIMEOUT: '300ms' });
  const waiting = server.run('echo begun; sleep 60');
  await until(async () => (await server.json<{ items: Execution[] }>('/v1/executions?status=running')).body.items.length === 1);
  await delay(150);
  const started = performance.now();
  await server.stop();
  expect(performance.now() - started).toBeLessThan(5000);
  const { body } = await waiting;
  expect(body).toMatchObject({ status: 'failed', error: { code: 'interrupted' }, logs: 'begun\n' });
  const next = await startHere();
  expect((await next.json(`/v1/executions/${body.execution_id}`)).body).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
});

it('is stopped by idle or reading clients no longer than it takes', async () => {
  const server = await startHere();
  await server.send('/livez');
  const started = performance.now();
  await server.stop();
  expect(performance.now() - started).toBeLessThan(1500);
});

it('leaves nothing half-made, keeps keys and skills, and is one server at a time', async () => {
  const server = await startHere();
  await expect(startHere()).rejects.toMatchObject({ code: 'already_running' });
  await server.run('echo a > $SANDBOX_FILES_DIR/a');
  const host = readFileSync(join(stateRoot, 'host.id'), 'utf8').trim();
  const groups = () => [host, `${host}-living`].flatMap(groupParents);
  expect(groups()).not.toEqual([]);
  await server.stop();
  expect(groups()).toEqual([]);
  for (const folder of ['run/spool', 'sandboxes/skills'])
    expect(readdirSync(join(stateRoot, folder)).filter((name) => !/^[0-9a-f]{64}$/.test(name))).toEqual([]);
  const next = await startHere();
  const { body } = await next.json<{ items: { name: string }[] }>('/v1/skills');
  expect(body.items.map(({ name }) => name)).toEqual(['shell']);
  expect((await next.run('echo again')).body.logs).toBe('again\n');
});
