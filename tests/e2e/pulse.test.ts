/** Pulse as a process of its own, with a real box: it outlives what is killed around it, and what it watches outlives it. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BoxEvent, errorKinds, type PulseStatus } from '@skillbox/protocol';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Config, loadConfig } from '../../packages/box/src/config.ts';
import { loadGraph } from '../../packages/box/src/graph/load.ts';
import { pulse, startPulse, stopPulse } from '../../packages/box/src/graph/pulse/control.ts';
import { exclusively, type Runtime } from '../../packages/box/src/graph/runtime.ts';
import { recentActivity } from '../../packages/box/src/graph/runtime-log.ts';
import { startService, stopService } from '../../packages/box/src/graph/services/control.ts';
import { readServiceRecord } from '../../packages/box/src/graph/services/records.ts';
import { isAlive, type ProcessIdentity } from '../../packages/box/src/process/identity.ts';
import { adminKeyFile, readServerRecord } from '../../packages/box/src/state.ts';
import { built } from './cli-process.ts';

let folder: string;
let config: Config;
let runtime: Runtime;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-pulse-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function declare(ids: readonly string[]): void {
  const services = ids.map((id) => `    - id: ${id}\n      command: exec sleep 1000\n`).join('');
  writeFileSync(join(folder, 'skillbox.yaml'), `version: 1\ngraph:\n  services:\n${services}`);
  config = loadConfig({ cwd: folder, env: { PATH: process.env.PATH, HOME: folder } });
  runtime = { config, server: false, progress: () => undefined, signal: new AbortController().signal };
}
const skillbox = (...words: string[]) =>
  built([...words, '--manifest', join(folder, 'skillbox.yaml')], { HOME: folder, SKILLBOX_API_PORT: '0', SKILLBOX_LOG_LEVEL: 'warn' });
const processOf = (id: string) => {
  const process = readServiceRecord(config.stateRoot, id)?.process;
  if (!process) throw new Error(`${id} has no process`);
  return process;
};
const alive = (id: string): boolean => isAlive(processOf(id));
const seen = (type: string, subject: string): number =>
  recentActivity(config.stateRoot, 1000).filter((one) => one.type === type && one.subject === subject).length;

/** 0 would be this test and all who run it. */
function killHard(pid: number | null | undefined): void {
  if (!pid) throw new Error('nobody to kill');
  process.kill(pid, 'SIGKILL');
}

describe('pulse beside a box', () => {
  it('is started by up; whoever is killed is brought back by the other, and services are adopted', async () => {
    declare(['a', 'b']);
    const started: ProcessIdentity[] = [];
    try {
      const up = await skillbox('up', '--json');
      expect(up.exit, up.stdout + up.stderr).toBe(0);
      const first = await pulse(runtime);
      expect(first).toMatchObject({ running: true, auto_restart: true, interval: 30, given_up: [] });

      const [a, b] = [processOf('a'), processOf('b')];
      started.push(a, b);
      killHard(first.pid);
      expect([isAlive(a), isAlive(b)]).toEqual([true, true]);
      process.kill(a.pid, 'SIGKILL');
      // The server looks every five seconds.
      const another = async (): Promise<boolean> => {
        const { pid, running } = await pulse(runtime);
        return running && pid !== first.pid;
      };
      await vi.waitFor(async () => expect(await another()).toBe(true), { timeout: 25_000, interval: 100 });
      await vi.waitFor(() => expect(seen('service.restarted', 'service:a')).toBe(1), { timeout: 10_000 });
      expect([alive('a'), processOf('b')]).toEqual([true, b]);

      const server = readServerRecord(config.stateRoot);
      killHard(server?.pid);
      await vi.waitFor(() => expect(readServerRecord(config.stateRoot)?.pid ?? server?.pid).not.toBe(server?.pid), { timeout: 20_000 });
      await vi.waitFor(() => expect(seen('service.restarted', 'service:api')).toBe(1), { timeout: 20_000 });

      const again = readServerRecord(config.stateRoot);
      const key = readFileSync(adminKeyFile(config.stateRoot), 'utf8').trim();
      const headers = { authorization: `Bearer ${key}` };
      await vi.waitFor(
        async () => {
          const answer = await fetch(`${again?.url}/v1/events?type=graph.service.crashed&limit=100`, { headers });
          const { items } = (await answer.json()) as { items: BoxEvent[] };
          expect(items.map(({ subject }) => `${subject.type}:${subject.id}`).sort()).toEqual(['service:a', 'service:api']);
        },
        { timeout: 10_000 },
      );
      const metrics = await (await fetch(`${again?.url}/metrics`, { headers })).text();
      expect(metrics).toContain('skillbox_pulse_up 1');
      expect(metrics).toMatch(/skillbox_graph_services\{state="running"\} [23]/);
      expect(metrics).toMatch(/skillbox_pulse_heals [12]/);

      const stop = await skillbox('pulse', 'stop', '--json');
      expect(JSON.parse(stop.stdout)).toMatchObject({ running: false });
      await sleep(6000);
      // Who stopped it meant it.
      expect((await pulse(runtime)).running).toBe(false);
      expect([alive('a'), processOf('b')]).toEqual([true, b]);
    } finally {
      const down = await skillbox('down', '--json');
      expect(down.exit, down.stdout + down.stderr).toBe(0);
    }
    expect(started.map(isAlive)).toEqual([false, false]);
    expect([(await pulse(runtime)).running, readServerRecord(config.stateRoot)]).toEqual([false, undefined]);
  }, 150_000);

  it('is there once, however many start it', async () => {
    declare(['a']);
    mkdirSync(config.stateRoot, { recursive: true });
    try {
      const started = await Promise.all(Array.from({ length: 4 }, () => startPulse(runtime)));
      expect(new Set(started.map(({ pid }) => pid)).size).toBe(1);
      const other = await skillbox('pulse', 'run');
      expect(other.exit).toBe(errorKinds.already_running.exit);
      const faster = await startPulse(runtime, { interval: 7 });
      expect(faster).toMatchObject({ running: true, interval: 7 });
      expect(faster.pid).not.toBe(started[0]?.pid);
    } finally {
      expect(await stopPulse(runtime)).toMatchObject({ running: false, pid: null } satisfies Partial<PulseStatus>);
    }
  }, 60_000);

  it('costs next to nothing with fifty services, and hears of one that is killed', async () => {
    const ids = Array.from({ length: 50 }, (_, i) => `s${i}`);
    declare(ids);
    mkdirSync(config.stateRoot, { recursive: true });
    const graph = loadGraph(config, { profiles: [] });
    const services = graph.services.filter(({ own }) => own === undefined);
    try {
      const options = { mode: 'reuse', selection: { client: undefined, profiles: [] }, restarts: 0, waitMs: undefined } as const;
      await exclusively(runtime, 'up', () => Promise.all(services.map((one) => startService(runtime, graph, one, options))));
      const interval = 10;
      const { pid } = await startPulse(runtime, { interval });
      await vi.waitFor(async () => expect((await pulse(runtime)).cycle_count).toBe(1), { timeout: 20_000 });
      await sleep(1000);
      const before = cpuMs(pid ?? 0);
      const since = performance.now();
      await sleep(2 * interval * 1000);
      const { cycle_count: looks } = await pulse(runtime);
      expect(looks).toBe(3);
      const usedMs = cpuMs(pid ?? 0) - before;
      const seconds = (performance.now() - since) / 1000;
      // Two looks in this time; by default there is one in three times as long.
      const perLookMs = usedMs / 2;
      console.log(
        `pulse with 50 services: ${usedMs} ms of CPU in ${seconds.toFixed(1)} s, so ${(perLookMs / 300).toFixed(2)} % of a core at 30 s`,
      );
      expect(perLookMs / (30 * 1000)).toBeLessThan(0.005);

      const victim = processOf('s7');
      const killedAt = performance.now();
      process.kill(victim.pid, 'SIGKILL');
      await vi.waitFor(() => expect(processOf('s7').pid).not.toBe(victim.pid), { timeout: 10_000, interval: 5 });
      const tookMs = performance.now() - killedAt;
      console.log(`crash to restart among 50: ${Math.round(tookMs)} ms`);
      expect(tookMs).toBeLessThan(1000);
    } finally {
      await stopPulse(runtime);
      await exclusively(runtime, 'down', () => Promise.all(services.map((one) => stopService(runtime, one, { wanted: false }))));
    }
  }, 120_000);
});

/** User and system time of a process and its children so far; ticks are hundredths of a second. */
function cpuMs(pid: number): number {
  const own = (one: number): number => {
    const stat = readFileSync(`/proc/${one}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  };
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
  return [pid, ...children].reduce((sum, one) => sum + own(one), 0);
}
