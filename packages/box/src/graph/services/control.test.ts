import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError } from '@skillbox/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  freePort,
  type GraphGround,
  graph,
  hostPlace,
  httpHealth,
  newGround,
  portHealth,
  type ServiceDraft,
  service,
  smallServer,
} from '../../../../../tests/support/graph.ts';
import { identify } from '../../process/identity.ts';
import { readProcessTable } from '../../process/table.ts';
import type { Service } from '../graph.ts';
import type { Runtime } from '../runtime.ts';
import { recentActivity } from '../runtime-log.ts';
import { serviceStatus, startService, stopService } from './control.ts';
import { readServiceRecord, readServiceRecords, writeServiceRecord } from './records.ts';

let ground: GraphGround;
let runtime: Runtime;
const made: Service[] = [];

beforeEach(() => {
  ground = newGround({ env: { SKILLBOX_SECRET_KEY: 'x'.repeat(40), SKILLBOX_DB_DSN: 'postgres://secret' } });
  runtime = ground.runtime;
});
afterEach(async () => {
  for (const one of made.splice(0)) await stopService(runtime, { ...one, stopMs: 0 }, { wanted: false });
  ground.remove();
});

function declare(draft: ServiceDraft): Service {
  const one = service(ground.folder, draft);
  made.push(one);
  return one;
}

const start = (one: Service, more: Partial<Parameters<typeof startService>[3]> = {}) =>
  startService(runtime, graph({ services: [one] }), one, {
    mode: 'reuse',
    selection: { profiles: [] },
    restarts: 0,
    waitMs: undefined,
    ...more,
  });
const look = (one: Service) => serviceStatus(runtime, graph({ services: [one] }), one);
const record = (id: string) => readServiceRecord(ground.stateRoot, id);

/** Processes whose environment says that they are of this ground. */
const left = (): number[] => {
  const mark = `HOME=${ground.folder}`;
  return [...readProcessTable().keys()].filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(mark);
    } catch {
      return false;
    }
  });
};

describe('a service on the host', () => {
  it('starts, is healthy, is known by pid and start time, stops, and the history says so', async () => {
    const port = await freePort();
    const web = declare({ id: 'web', command: smallServer(port), healthcheck: httpHealth(port) });
    expect((await look(web)).state).toBe('declared');
    const started = await start(web);
    expect(started).toMatchObject({ id: 'web', result: 'started', error: null, tail: [] });
    expect(await (await fetch(`http://127.0.0.1:${port}`)).text()).toBe(String(started.pid));
    expect(record('web')).toMatchObject({ wanted: true, mode: 'reuse', restarts: 0, process: identify(started.pid ?? 0) });
    expect(await look(web)).toMatchObject({ state: 'running', healthy: true, pid: started.pid, wanted: true, mode: 'reuse' });
    expect(await start(web)).toMatchObject({ result: 'already-running', pid: started.pid, detail: null });
    expect(await stopService(runtime, web, { wanted: false })).toMatchObject({ result: 'stopped', pid: started.pid });
    expect(identify(started.pid ?? 0)).toBeUndefined();
    expect(await look(web)).toMatchObject({ state: 'declared', wanted: false, pid: null });
    expect(await stopService(runtime, web, { wanted: false })).toMatchObject({ result: 'not-running' });
    expect(recentActivity(ground.stateRoot, 10).map(({ type, subject }) => `${type} ${subject}`)).toEqual([
      'service.started service:web',
      'service.stopped service:web',
    ]);
  });

  it('sees its own environment and paths, and no secret of the box', async () => {
    const one = declare({ id: 'env', command: 'env; echo that is all; exec sleep 60', env: { GREETING: 'hello' } });
    const variables = { SKILLBOX_REPOS_ROOT: '/workspace/repos', SKILLBOX_REPOS_HOST_ROOT: '/srv/repos', OTHER: 'no' };
    await startService(runtime, graph({ services: [one], variables }), one, {
      ...{ mode: 'reuse', selection: { profiles: [] }, restarts: 0, waitMs: undefined },
    });
    const log = record('env')?.log ?? '';
    await expect.poll(() => readFileSync(log, 'utf8'), { timeout: 10_000 }).toContain('that is all\n');
    const env = readFileSync(log, 'utf8');
    expect(statSync(log).mode & 0o777).toBe(0o600);
    expect(env).toContain('GREETING=hello\n');
    expect(env).toContain('SKILLBOX_REPOS_ROOT=/srv/repos\n');
    expect(env).not.toMatch(/SECRET_KEY|postgres|OTHER=/);
  });

  it('that ends at once has failed, with its last lines, and is not wanted', async () => {
    const one = declare({ id: 'short', command: 'for i in $(seq 1 60); do echo line $i; done; exit 7' });
    const outcome = await start(one);
    expect(outcome).toMatchObject({ result: 'failed', error: { error: 'service_failed' } });
    expect(outcome.detail).toContain('exit code 7');
    expect(outcome.tail).toHaveLength(40);
    expect(outcome.tail.at(-1)).toBe('line 60');
    expect(record('short')).toMatchObject({ wanted: false });
    expect(await look(one)).toMatchObject({ state: 'down', detail: expect.stringContaining('exit code 7') });
    expect((await start({ ...one, commands: { reuse: 'exit 0' } })).detail).toContain('stays in the foreground');
  });

  it('that is late is stopped with all it started; nothing is left', async () => {
    const one = declare({
      id: 'late',
      command: 'sleep 60 & setsid sleep 61 & wait',
      healthcheck: portHealth(await freePort()),
      startMs: 500,
    });
    expect(await start(one)).toMatchObject({ result: 'timeout', detail: expect.stringContaining('nothing listens') });
    expect(left()).toEqual([]);
    expect(record('late')?.process).toBeUndefined();
  });

  it('is not started on a port that another has, who is named', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as { port: number };
    const one = declare({ id: 'web', command: smallServer(port), ports: [port] });
    const outcome = await start(one);
    expect(outcome).toMatchObject({ result: 'failed', error: { error: 'port_in_use', hint: expect.any(String) }, tail: [] });
    expect(outcome.detail).toContain(`(pid ${process.pid})`);
    await new Promise((resolve) => other.close(resolve));
    expect(await start(one)).toMatchObject({ result: 'started' });
  });

  it('whose program is not there is told before it starts, and the shell tells the rest', async () => {
    for (const command of ['no-such-program --flag', './missing.sh', 'A=1 exec no-such-program', '"no such program"']) {
      const outcome = await start(declare({ id: 'gone', command }));
      expect({ command, ...outcome }).toMatchObject({ result: 'failed', error: { error: 'command_missing' } });
    }
    expect(await start(declare({ id: 'gone', command: 'true && no-such-program' }))).toMatchObject({
      ...{ result: 'failed', error: { error: 'command_missing' }, tail: [expect.stringContaining('no-such-program')] },
    });
    writeFileSync(join(ground.folder, 'run.sh'), '#!/bin/sh\nexec sleep 60\n', { mode: 0o755 });
    for (const command of ['./run.sh', 'cd / && exec sleep 60', 'X=y exec sleep 60', '$HOME/run.sh', 'if true; then exec sleep 60; fi']) {
      const one = declare({ id: 'there', command });
      expect({ command, ...(await start(one)) }).toMatchObject({ result: 'started' });
      await stopService(runtime, one, { wanted: false });
    }
  });

  it('in a mode that it does not declare is refused', async () => {
    const one = declare({ id: 'web', commands: { reuse: 'exec sleep 60' } });
    const refused = await start(one, { mode: 'fresh' }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(BoxError);
    expect(refused).toMatchObject({ code: 'LOCAL_RUNTIME_MODE_UNSUPPORTED', message: expect.stringContaining('web has reuse') });
  });

  it('without its folder or its artifact is blocked', async () => {
    const lost = declare({ id: 'lost', command: 'exec sleep 60', cwd: hostPlace(join(ground.folder, 'none')) });
    expect(await start(lost)).toMatchObject({ result: 'failed', error: { error: 'LOCAL_RUNTIME_START_BLOCKED' } });
    const inside = declare({ id: 'inside', command: 'exec sleep 60', cwd: { path: '/workspace', hostPath: ground.folder, inside: true } });
    expect(await start(inside)).toMatchObject({
      error: { error: 'LOCAL_RUNTIME_START_BLOCKED', message: expect.stringContaining('template') },
    });
  });

  it('that ignores SIGTERM is killed after its patience', async () => {
    const one = declare({ id: 'deaf', command: `trap '' TERM; touch ready; while :; do sleep 0.1; done`, stopMs: 400 });
    await start({
      ...one,
      healthcheck: { type: 'path_exists', place: hostPlace(join(ground.folder, 'ready')), intervalMs: 50, timeoutMs: 500 },
    });
    const outcome = await stopService(runtime, one, { wanted: false });
    expect(outcome.result).toBe('killed');
    expect(outcome.duration_ms).toBeGreaterThan(400);
    expect(left()).toEqual([]);
  });

  it('never is another process that has its pid by now', async () => {
    const bystander = spawn('sleep', ['60'], { detached: true });
    const one = declare({ id: 'web', command: 'exec sleep 60' });
    await start(one);
    await stopService(runtime, one, { wanted: false });
    const before = record('web');
    if (!before) throw new Error('there is a record');
    writeServiceRecord(ground.stateRoot, { ...before, wanted: true, process: { pid: bystander.pid ?? 0, startTime: '1' }, run: 'old' });
    expect(await look(one)).toMatchObject({ state: 'down', pid: null, detail: 'its process is gone' });
    expect(await stopService(runtime, one, { wanted: true })).toMatchObject({ result: 'not-running' });
    expect(bystander.exitCode).toBeNull();
    expect(bystander.signalCode).toBeNull();
    bystander.kill('SIGKILL');
  });

  it('whose start nobody got to write down is found and kept', async () => {
    const one = declare({ id: 'web', command: 'exec sleep 60' });
    const { pid } = await start(one);
    const full = record('web');
    if (!full) throw new Error('there is a record');
    // As it was between the two writes, when whoever started it was killed there.
    writeServiceRecord(ground.stateRoot, { ...full, process: undefined });
    expect(await look(one)).toMatchObject({ state: 'running', pid });
    expect(await start(one)).toMatchObject({ result: 'already-running', pid });
    expect(record('web')?.process).toEqual(full.process);
  });

  it('that crashed and left children is cleared away before it starts anew', async () => {
    const port = await freePort();
    const one = declare({ id: 'web', command: `${smallServer(port).replace('exec ', '')} & wait`, healthcheck: httpHealth(port) });
    const { pid } = await start(one);
    process.kill(pid ?? 0, 'SIGKILL');
    await expect.poll(async () => (await look(one)).state, { timeout: 10_000 }).toBe('down');
    expect(await (await fetch(`http://127.0.0.1:${port}`)).text()).not.toBe(String(pid));
    const again = await start(one, { restarts: 1 });
    expect(again).toMatchObject({ result: 'started' });
    expect(record('web')?.restarts).toBe(1);
  });

  it('that pulse cannot start stays wanted', async () => {
    expect(await start(declare({ id: 'bad', command: 'exit 1' }), { restarts: 3 })).toMatchObject({ result: 'failed' });
    expect(record('bad')).toMatchObject({ wanted: true, restarts: 3 });
  });

  it('of another client with the same name is not touched', async () => {
    const one = declare({ id: 'web', client: 'acme', command: 'exec sleep 60' });
    const { pid } = await start(one);
    const other = service(ground.folder, { id: 'web', client: 'personal', command: 'exec sleep 61' });
    expect(await start(other)).toMatchObject({
      error: { error: 'LOCAL_RUNTIME_START_BLOCKED', hint: expect.stringContaining('--client acme') },
    });
    expect(record('web')).toMatchObject({ client: 'acme', process: { pid } });
    expect(await look(other)).toMatchObject({ state: 'declared', pid: null });
  });

  it('says that its declaration changed since', async () => {
    const one = declare({ id: 'web', command: 'exec sleep 60' });
    await start(one);
    const changed = { ...one, env: { NEW: '1' } };
    expect(await look(changed)).toMatchObject({ state: 'running', detail: expect.stringContaining('changed') });
    expect(await start(changed)).toMatchObject({ result: 'already-running', detail: expect.stringContaining('skillbox restart') });
  });

  it('that hangs is started anew by up', async () => {
    const port = await freePort();
    const one = declare({ id: 'web', command: smallServer(port), healthcheck: httpHealth(port), startMs: 15_000 });
    const { pid } = await start(one);
    const before = record('web');
    if (!before) throw new Error('there is a record');
    process.kill(pid ?? 0, 'SIGSTOP');
    writeServiceRecord(ground.stateRoot, { ...before, startedAt: new Date(Date.now() - 60_000).toISOString() });
    const hanging = { ...one, stopMs: 200, healthcheck: { ...httpHealth(port), timeoutMs: 1000 } };
    expect(await look(hanging)).toMatchObject({ state: 'down', healthy: false });
    const again = await start(hanging);
    expect(again).toMatchObject({ result: 'started' });
    expect(again.pid).not.toBe(pid);
  });

  it('that is interrupted while it starts is stopped', async () => {
    const abort = new AbortController();
    runtime = { ...runtime, signal: abort.signal };
    const one = declare({ id: 'web', command: 'exec sleep 60', healthcheck: portHealth(await freePort()) });
    const starting = start(one);
    await sleep(200);
    abort.abort(new BoxError('cancelled', 'Interrupted.'));
    await expect(starting).rejects.toMatchObject({ code: 'cancelled' });
    expect(left()).toEqual([]);
  });
});

describe('health', () => {
  it('by a command, which sees the environment of the service', async () => {
    const healthcheck = { type: 'command', command: 'test "$ANSWER" = 42 && test -e up', intervalMs: 50, timeoutMs: 4000 } as const;
    const one = declare({ id: 'web', command: 'sleep 0.3; touch up; exec sleep 60', env: { ANSWER: '42' }, healthcheck });
    expect(await start(one)).toMatchObject({ result: 'started' });
    expect(existsSync(join(ground.folder, 'up'))).toBe(true);
    const wrong = { ...one, healthcheck: { ...healthcheck, command: 'echo no luck; exit 3' } };
    expect(await look(wrong)).toMatchObject({ healthy: false, detail: expect.stringContaining('ended with 3: no luck') });
    const slow = { ...one, healthcheck: { ...healthcheck, command: 'sleep 30', timeoutMs: 100 } };
    expect(await look(slow)).toMatchObject({ healthy: false, detail: expect.stringContaining('longer than 100 ms') });
  });

  it('of one that is managed elsewhere', async () => {
    const port = await freePort();
    const one = service(ground.folder, { id: 'db', healthcheck: portHealth(port) });
    expect(await look(one)).toMatchObject({ state: 'down', healthy: false });
    expect(await start(one)).toMatchObject({ result: 'failed', error: { error: 'service_failed' } });
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve));
    expect(await look(one)).toMatchObject({ state: 'ok', healthy: true });
    expect(await start(one)).toMatchObject({ result: 'external' });
    await new Promise((resolve) => other.close(resolve));
    expect((await look(service(ground.folder, { id: 'x' }))).state).toBe('idle');
    expect(readServiceRecords(ground.stateRoot)).toEqual([]);
  });
});
