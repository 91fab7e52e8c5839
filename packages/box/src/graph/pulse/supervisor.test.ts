import { spawn } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Activity } from '@skillbox/protocol';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  check,
  freePort,
  type GraphGround,
  graph,
  hostPlace,
  httpHealth,
  service as makeService,
  newGround,
  type ServiceDraft,
} from '../../../../../tests/support/graph.ts';
import { identify, isAlive } from '../../process/identity.ts';
import type { Graph, Service } from '../graph.ts';
import { exclusively } from '../runtime.ts';
import { recentActivity } from '../runtime-log.ts';
import { startService, stopService } from '../services/control.ts';
import { readServiceRecord, writeServiceRecord } from '../services/records.ts';
import { type Patience, usualPatience } from './backoff.ts';
import { readPulseState } from './state.ts';
import { type Supervisor, type SupervisorParts, startSupervisor } from './supervisor.ts';

let ground: GraphGround;
let declared: Graph;
let supervisor: Supervisor | undefined;
let said: string[];

beforeEach(() => {
  ground = newGround();
  mkdirSync(ground.stateRoot, { recursive: true });
  declared = graph();
  said = [];
});
afterEach(async () => {
  await supervisor?.stop();
  supervisor = undefined;
  for (const one of declared.services) await stopService(ground.runtime, one, { wanted: false });
  ground.remove();
});

const quick: Patience = { ...usualPatience, firstMs: 40, mostMs: 1000, limit: 5, windowMs: 60_000, steadyMs: 400, slowMs: 60_000 };
const selection = { client: undefined, profiles: [] };

function declare(...drafts: ServiceDraft[]): void {
  declared = graph({ ...declared, services: drafts.map((draft) => makeService(ground.folder, draft)) });
}
const named = (id: string): Service => {
  const found = declared.services.find((one) => one.id === id);
  if (!found) throw new Error(`no service ${id}`);
  return found;
};
const up = (id: string) =>
  exclusively(ground.runtime, 'up', () =>
    startService(ground.runtime, declared, named(id), { mode: 'reuse', selection, restarts: 0, waitMs: undefined }),
  );
const record = (id: string) => readServiceRecord(ground.stateRoot, id);
const pidOf = (id: string): number => {
  const pid = record(id)?.process?.pid;
  if (pid === undefined) throw new Error(`${id} has no process`);
  return pid;
};
const alive = (id: string): boolean => {
  const process = record(id)?.process;
  return process !== undefined && isAlive(process);
};
const history = (...types: string[]): Activity[] =>
  recentActivity(ground.stateRoot, 1000).filter(({ type }) => types.length === 0 || types.includes(type));
const typesOf = (subject: string): string[] =>
  history()
    .filter((one) => one.subject === subject)
    .map(({ type }) => type);

/** Generous: a busy machine is no fault of pulse. What must be quick is measured. */
const soon = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, { timeout: 15_000 });
/** As if it had been started long ago, so that a bad answer is no longer part of its start. */
const age = (id: string): void => {
  const before = record(id);
  if (!before) throw new Error(`${id} has no record`);
  writeServiceRecord(ground.stateRoot, { ...before, startedAt: new Date(Date.now() - 60_000).toISOString() });
};

async function watchOver(more: Partial<SupervisorParts> = {}): Promise<Supervisor> {
  const started = startSupervisor({
    config: () => ground.runtime.config,
    load: () => declared,
    intervalMs: 60_000,
    patience: quick,
    random: () => 0.5,
    say: (text) => void said.push(text),
    ...more,
  });
  supervisor = started;
  await started.look();
  return started;
}

describe('pulse', () => {
  it('is stopped at once while somebody else is at work on the graph', async () => {
    const began = await exclusively(ground.runtime, 'test', async () => {
      const looking = watchOver();
      const since = performance.now();
      await supervisor?.stop();
      await looking;
      return since;
    });
    expect(performance.now() - began).toBeLessThan(900);
    expect(said.filter((line) => line.includes('a look failed'))).toEqual([]);
  });

  it('starts a service that was killed within a second, and tells the truth about it', async () => {
    declare({ id: 'web', command: 'exec sleep 1000' }, { id: 'other', command: 'exec sleep 1000', dependsOn: ['web'] });
    await up('web');
    await up('other');
    await watchOver();
    const [before, other] = [pidOf('web'), pidOf('other')];
    const killed = async (): Promise<number> => {
      const pid = pidOf('web');
      const at = performance.now();
      process.kill(pid, 'SIGKILL');
      await vi.waitFor(() => expect(record('web')?.process?.pid ?? pid).not.toBe(pid), { timeout: 15_000, interval: 5 });
      return performance.now() - at;
    };
    const times = [await killed()];
    await soon(() =>
      expect(typesOf('service:web')).toEqual(['service.started', 'service.crashed', 'service.started', 'service.restarted']),
    );
    expect(history('service.crashed')[0]?.data).toMatchObject({
      ...{ pid: before, exit_code: null, signal: 'SIGKILL', fall: 1, retry_in_ms: 0 },
    });
    expect(history('service.restarted')[0]?.data).toMatchObject({ pid: pidOf('web'), restarts: 1 });
    expect(record('web')).toMatchObject({ wanted: true, restarts: 1 });
    // Who needs it goes on as it was.
    expect(pidOf('other')).toBe(other);
    await soon(() => expect(readPulseState(ground.stateRoot)).toMatchObject({ heals: 1, service_states: { web: 'running' } }));
    // The best of three: others may have the machine in one of these moments.
    for (let heals = 2; heals <= 3 && Math.min(...times) >= 1000; heals++) {
      times.push(await killed());
      await soon(() => expect(readPulseState(ground.stateRoot).heals).toBe(heals));
    }
    expect(Math.min(...times)).toBeLessThan(1000);
  });

  it('tells how it ended, also of one that it started itself; null where nobody was there to hear', async () => {
    const flag = join(ground.folder, 'end');
    declare({ id: 'web', command: `while ! test -e ${flag}; do sleep 0.05; done; exit 3` });
    await up('web');
    await watchOver();
    for (const times of [1, 2]) {
      // Not at the next look, which is a minute away: what pulse started is watched as what up started.
      writeFileSync(flag, '');
      await soon(() => expect(history('service.crashed')).toHaveLength(times));
      rmSync(flag);
      await soon(() => expect(history('service.restarted')).toHaveLength(times));
    }
    await supervisor?.stop();
    process.kill(pidOf('web'), 'SIGKILL');
    // Somebody else's child, as after up has ended: its end was heard by nobody.
    const before = record('web');
    writeServiceRecord(ground.stateRoot, { ...(before as NonNullable<typeof before>), process: { pid: pidOf('web'), startTime: '1' } });
    await watchOver();
    await soon(() => expect(history('service.crashed')).toHaveLength(3));
    expect(history('service.crashed').map(({ data }) => [data.exit_code, data.signal])).toEqual([
      [3, null],
      [3, null],
      [null, null],
    ]);
  });

  it('starts one that lives but is not well', async () => {
    const port = await freePort();
    const flag = join(ground.folder, 'sick');
    const program = `const fs = require("fs"); require("http").createServer((q, s) => { s.statusCode = fs.existsSync("${flag}") ? 500 : 200; s.end(); }).listen(${port}, "127.0.0.1")`;
    const script = join(ground.folder, 'server.js');
    writeFileSync(script, program);
    declare({ id: 'web', command: `exec ${process.execPath} ${script}`, healthcheck: httpHealth(port), startMs: 15_000 });
    await up('web');
    age('web');
    await watchOver({ intervalMs: 300 });
    const before = pidOf('web');
    writeFileSync(flag, '');
    await soon(() => expect(typesOf('service:web')).toContain('service.unhealthy'));
    rmSync(flag);
    await soon(() => expect(typesOf('service:web')).toContain('service.restarted'));
    expect(pidOf('web')).not.toBe(before);
    expect(history('service.unhealthy')[0]?.data).toMatchObject({ pid: before, detail: expect.stringContaining('500') });
  }, 30_000);

  it('does not fall over one bad answer', async () => {
    const port = await freePort();
    const script = join(ground.folder, 'server.js');
    const flag = join(ground.folder, 'sick');
    writeFileSync(
      script,
      `const fs = require("fs"); require("http").createServer((q, s) => { s.statusCode = fs.existsSync("${flag}") ? 500 : 200; s.end(); }).listen(${port}, "127.0.0.1")`,
    );
    declare({ id: 'web', command: `exec ${process.execPath} ${script}`, healthcheck: httpHealth(port), startMs: 15_000 });
    await up('web');
    age('web');
    const pulse = await watchOver();
    const before = pidOf('web');
    writeFileSync(flag, '');
    await pulse.look();
    rmSync(flag);
    await sleep(1500);
    await pulse.look();
    expect(typesOf('service:web')).toEqual(['service.started']);
    expect(pidOf('web')).toBe(before);
  });

  it('waits longer and longer for one that falls again and again, gives it up, says so, and takes it up again by hand', async () => {
    const flag = join(ground.folder, 'broken');
    declare({ id: 'web', command: `test ! -e ${flag} && exec sleep 1000` });
    await up('web');
    await watchOver();
    writeFileSync(flag, '');
    process.kill(pidOf('web'), 'SIGKILL');
    await vi.waitFor(() => expect(typesOf('service:web')).toContain('service.given_up'), { timeout: 15_000 });
    const falls = history('service.crashed', 'service.restart_failed');
    expect(falls.map(({ data }) => data.retry_in_ms)).toEqual([0, 40, 80, 160, 60_000]);
    expect(falls.map(({ data }) => data.fall)).toEqual([1, 2, 3, 4, 5]);
    expect(history('service.given_up')[0]?.data).toMatchObject({
      falls: 5,
      fix: expect.stringContaining('skillbox restart --service web'),
    });
    await soon(() => expect(readPulseState(ground.stateRoot)).toMatchObject({ given_up: ['web'], service_states: { web: 'down' } }));
    expect(Object.keys(readPulseState(ground.stateRoot).next_attempts)).toEqual(['web']);
    rmSync(flag);
    await up('web');
    await soon(() => expect(typesOf('service:web')).toContain('service.resumed'));
    await soon(() => expect(readPulseState(ground.stateRoot)).toMatchObject({ given_up: [], next_attempts: {} }));
    process.kill(pidOf('web'), 'SIGKILL');
    await soon(() => expect(typesOf('service:web').at(-1)).toBe('service.restarted'));
    expect(history('service.crashed').at(-1)?.data).toMatchObject({ fall: 1, retry_in_ms: 0 });
  }, 30_000);

  it('tries one that was given up again when its declaration changed, and now and then anyway', async () => {
    declare({ id: 'a', command: 'exec sleep 1000' }, { id: 'b', command: 'exec sleep 1000' });
    await up('a');
    await up('b');
    const flag = join(ground.folder, 'broken');
    writeFileSync(flag, '');
    const broken = `test ! -e ${flag} && exec sleep 1000`;
    declare({ id: 'a', command: broken }, { id: 'b', command: broken });
    const pulse = await watchOver({ patience: { ...quick, limit: 2, slowMs: 5000 } });
    process.kill(pidOf('a'), 'SIGKILL');
    process.kill(pidOf('b'), 'SIGKILL');
    await soon(() => expect(history('service.given_up')).toHaveLength(2));
    declare({ id: 'a', command: 'exec sleep 2000' }, { id: 'b', command: broken });
    // After all that was heard of the last starts: the look itself must see what is new.
    await sleep(300);
    await pulse.look();
    await soon(() => expect(typesOf('service:a').at(-1)).toBe('service.restarted'));
    // It was not its turn anyway: b, whose turn comes in the same moment, was not tried meanwhile.
    expect(typesOf('service:b').filter((type) => type === 'service.restart_failed')).toHaveLength(1);
    rmSync(flag);
    await soon(() => expect(typesOf('service:b').at(-1)).toBe('service.restarted'));
    expect(readPulseState(ground.stateRoot).given_up).toContain('b');
    await sleep(500);
    await pulse.look();
    expect(typesOf('service:b').at(-1)).toBe('service.recovered');
    expect(readPulseState(ground.stateRoot).given_up).toEqual([]);
  }, 30_000);

  it('starts again what was declared and started since its last look', async () => {
    declare({ id: 'a', command: 'exec sleep 1000' });
    await up('a');
    await watchOver();
    declare({ id: 'a', command: 'exec sleep 1000' }, { id: 'fresh', command: 'exec sleep 1000' });
    await up('fresh');
    process.kill(pidOf('fresh'), 'SIGKILL');
    await vi.waitFor(() => expect(typesOf('service:fresh').at(-1)).toBe('service.restarted'), { timeout: 10_000 });
    expect(history('service.crashed').at(-1)?.data).toMatchObject({ fall: 1 });
  });

  it('starts neither what down stopped nor what is declared not to be, and says the latter once', async () => {
    declare({ id: 'stopped', command: 'exec sleep 1000' }, { id: 'once', command: 'exec sleep 1000', restart: false });
    await up('stopped');
    await up('once');
    const pulse = await watchOver();
    await exclusively(ground.runtime, 'down', () => stopService(ground.runtime, named('stopped'), { wanted: false }));
    process.kill(pidOf('once'), 'SIGKILL');
    await soon(() => expect(typesOf('service:once')).toContain('service.crashed'));
    await pulse.look();
    await pulse.look();
    await sleep(300);
    expect(typesOf('service:stopped')).toEqual(['service.started', 'service.stopped']);
    expect(history('service.crashed').map(({ subject, data }) => [subject, data.restart])).toEqual([['service:once', false]]);
    expect(alive('once')).toBe(false);
    expect(alive('stopped')).toBe(false);
  });

  it('takes a restart by hand for no crash', async () => {
    declare({ id: 'web', command: 'exec sleep 1000' });
    await up('web');
    await watchOver();
    await exclusively(ground.runtime, 'restart', async () => {
      await stopService(ground.runtime, named('web'), { wanted: true });
      await sleep(300);
      await startService(ground.runtime, declared, named('web'), { mode: 'reuse', selection, restarts: 0, waitMs: undefined });
    });
    await sleep(300);
    expect(typesOf('service:web')).toEqual(['service.started', 'service.stopped', 'service.started']);
    expect(alive('web')).toBe(true);
    process.kill(pidOf('web'), 'SIGKILL');
    await soon(() => expect(typesOf('service:web').at(-1)).toBe('service.restarted'));
  });

  it('watches what is started after it, and starts what two need in their order', async () => {
    const port = await freePort();
    declare(
      {
        id: 'db',
        command: `sleep 0.5; exec ${process.execPath} -e 'require("net").createServer().listen(${port}, "127.0.0.1")'`,
        healthcheck: { type: 'port', port, host: '127.0.0.1', intervalMs: 50, timeoutMs: 500 },
      },
      {
        id: 'web',
        command: `${process.execPath} -e 'require("net").connect(${port}, "127.0.0.1").on("error", () => process.exit(1)).on("connect", () => process.exit(0))' && exec sleep 1000`,
        dependsOn: ['db'],
      },
    );
    await watchOver();
    await up('db');
    await up('web');
    await sleep(100);
    for (const id of ['web', 'db']) process.kill(pidOf(id), 'SIGKILL');
    await vi.waitFor(() => expect(history('service.restarted').map(({ subject }) => subject)).toEqual(['service:db', 'service:web']), {
      timeout: 10_000,
    });
    expect(history('service.restart_failed')).toEqual([]);
  }, 20_000);

  it('neither adopts nor kills whoever has the pid now', async () => {
    declare({ id: 'web', command: 'exec sleep 1000' });
    await up('web');
    await exclusively(ground.runtime, 'down', () => stopService(ground.runtime, named('web'), { wanted: false }));
    const stranger = spawn('sleep', ['1000'], { stdio: 'ignore', detached: true });
    const identity = identify(stranger.pid ?? 0);
    const old = record('web');
    if (!identity || !old) throw new Error('nothing to pretend with');
    writeServiceRecord(ground.stateRoot, {
      ...old,
      wanted: true,
      process: { pid: identity.pid, startTime: String(Number(identity.startTime) - 500) },
    });
    try {
      await watchOver();
      await soon(() => expect(typesOf('service:web').at(-1)).toBe('service.restarted'));
      expect(isAlive(identity)).toBe(true);
      expect(pidOf('web')).not.toBe(identity.pid);
    } finally {
      stranger.kill('SIGKILL');
    }
  });

  it('tells of checks and of the configuration when they change, and at the first look of nothing', async () => {
    const file = join(ground.folder, 'wanted');
    declare({ id: 'web', command: 'exec sleep 1000' });
    declared = graph({ ...declared, checks: [check('file', { type: 'path_exists', place: hostPlace(file) })] });
    await up('web');
    const pulse = await watchOver();
    expect(history('check.failed', 'check.recovered', 'config.changed', 'service.stale')).toEqual([]);
    expect(readPulseState(ground.stateRoot)).toMatchObject({
      check_states: { file: 'fail' },
      config_hash: '0123456789abcdef',
      cycle_count: 1,
    });
    writeFileSync(file, '');
    await pulse.look();
    await pulse.look();
    rmSync(file);
    await pulse.look();
    expect(typesOf('check:file')).toEqual(['check.recovered', 'check.failed']);
    const before = pidOf('web');
    declare({ id: 'web', command: 'exec sleep 2000' });
    declared = graph({ ...declared, configHash: 'fedcba9876543210' });
    await pulse.look();
    await pulse.look();
    expect(history('config.changed').map(({ data }) => data)).toEqual([{ was: '0123456789abcdef', is: 'fedcba9876543210' }]);
    expect(history('service.stale').map(({ subject }) => subject)).toEqual(['service:web']);
    // Only a person knows whether now is the time.
    expect(pidOf('web')).toBe(before);
  });

  it('tells when an env file goes missing and when it is back', async () => {
    const place = hostPlace(join(ground.folder, 'app.env'));
    writeFileSync(place.hostPath, 'A=1', { mode: 0o600 });
    const item = {
      id: 'app',
      client: undefined,
      required: true,
      profiles: [],
      notes: undefined,
      origin: { file: 'skillbox.yaml', line: 1 },
    };
    const manual = { kind: 'env', repo: undefined, mode: 0o600, source: { kind: 'manual' }, sync: 'manual' } as const;
    declared = graph({ envFiles: [{ ...item, ...manual, place }] });
    const pulse = await watchOver();
    rmSync(place.hostPath);
    await pulse.look();
    await pulse.look();
    writeFileSync(place.hostPath, 'A=1', { mode: 0o600 });
    await pulse.look();
    expect(typesOf('env_file:app')).toEqual(['env_file.missing', 'env_file.ok']);
    expect(history('env_file.missing')[0]?.data).toMatchObject({ was: 'ok' });
  });

  it('goes on with the graph it had while a file is broken', async () => {
    declare({ id: 'web', command: 'exec sleep 1000' });
    await up('web');
    let broken = false;
    const pulse = await watchOver({
      load: () => {
        if (broken) throw new Error('skillbox.yaml:3: not YAML');
        return declared;
      },
    });
    broken = true;
    await pulse.look();
    await pulse.look();
    process.kill(pidOf('web'), 'SIGKILL');
    await soon(() => expect(typesOf('service:web').at(-1)).toBe('service.restarted'));
    broken = false;
    await pulse.look();
    expect(typesOf('box')).toEqual(['config.invalid', 'config.valid']);
  });

  it('survives a storm: whatever is killed, and however often, is up in the end, and the history counts right', async () => {
    declare(...['a', 'b', 'c'].map((id) => ({ id, command: 'exec sleep 1000' })));
    for (const id of ['a', 'b', 'c']) await up(id);
    await watchOver({ patience: { ...quick, limit: 1000, mostMs: 200 } });
    let kills = 0;
    for (const since = performance.now(); performance.now() - since < 4000 || (kills <= 10 && performance.now() - since < 20_000); ) {
      for (const id of ['a', 'b', 'c']) {
        const victim = record(id)?.process;
        if (victim && isAlive(victim) && Math.random() < 0.4) {
          process.kill(victim.pid, 'SIGKILL');
          kills++;
        }
      }
      await sleep(50);
    }
    await soon(() => expect(['a', 'b', 'c'].map(alive)).toEqual([true, true, true]));
    await soon(() => expect(Object.keys(readPulseState(ground.stateRoot).fallen)).toEqual([]));
    expect(kills).toBeGreaterThan(10);
    for (const id of ['a', 'b', 'c']) {
      const types = typesOf(`service:${id}`);
      // Each that was killed before it counted as started is a failed start.
      const falls = types.filter((type) => type === 'service.crashed' || type === 'service.restart_failed').length;
      expect(types.at(-1)).toBe('service.restarted');
      expect(types.filter((type) => type === 'service.crashed')).toHaveLength(types.filter((type) => type === 'service.restarted').length);
      expect(falls).toBeGreaterThan(0);
    }
    const falls = history('service.crashed', 'service.restart_failed').length;
    expect(falls).toBe(kills);
  }, 40_000);
});
