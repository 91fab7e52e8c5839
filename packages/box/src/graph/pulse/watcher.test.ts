import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { endingOf } from '../../process/endings.ts';
import { identify, isAlive, type ProcessIdentity } from '../../process/identity.ts';
import { type ProcessWatcher, startWatcher, type WatcherOptions } from './watcher.ts';

const children: ChildProcess[] = [];
let watcher: ProcessWatcher | undefined;
afterEach(() => {
  watcher?.close();
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

function sleeper(): ProcessIdentity {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  children.push(child);
  const identity = identify(child.pid ?? 0);
  if (!identity) throw new Error('sleep did not start');
  return identity;
}

function watching(more: Partial<WatcherOptions> = {}) {
  const gone: { pid: number; at: number }[] = [];
  const troubles: string[] = [];
  watcher = startWatcher({
    onGone: ({ pid }) => void gone.push({ pid, at: performance.now() }),
    onTrouble: (why) => void troubles.push(why),
    ...more,
  });
  return { watcher, gone, troubles };
}

const soon = (check: () => void | Promise<void>): Promise<void> => vi.waitFor(check, { timeout: 15_000 });

const watcherPids = (): number[] =>
  readdirSync('/proc').flatMap((name) => {
    try {
      const stat = /^\d+$/.test(name) ? readFileSync(`/proc/${name}/stat`, 'utf8') : '';
      return stat.includes('(pidwatch) ') && stat.split(' ')[3] === String(process.pid) ? [Number(name)] : [];
    } catch {
      // It ended between the two.
      return [];
    }
  });

describe('watching processes', () => {
  it('tells within a moment that one ended, and nothing of the others', async () => {
    const { watcher: watches, gone } = watching({ lookMs: 60_000 });
    const [one, other] = [sleeper(), sleeper()];
    watches.watch([one, other]);
    await soon(() => expect(watches.told).toBe(true));
    const killedAt = performance.now();
    process.kill(one.pid, 'SIGKILL');
    await vi.waitFor(() => expect(gone).toHaveLength(1), { timeout: 15_000, interval: 5 });
    expect(gone[0]?.pid).toBe(one.pid);
    expect((gone[0]?.at ?? 0) - killedAt).toBeLessThan(1000);
  });

  it('tells how one ended that is not its child', async () => {
    const { watcher: watches, gone } = watching({ lookMs: 60_000 });
    // Children of a program that never asks how they ended: the kernel keeps that as long as it lives. (A parent that asks may be quicker.)
    const parent = spawn('sh', ['-c', 'sh -c "read line; exit 7" <&3 & echo $!; sleep 1000 & echo $!; exec sleep 1000'], {
      stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
    });
    children.push(parent);
    const pids: number[] = [];
    parent.stdout?.on('data', (text) => pids.push(...String(text).trim().split('\n').map(Number)));
    await soon(() => expect(pids).toHaveLength(2));
    const [orphan, killed] = pids.map((pid) => identify(pid));
    if (!orphan || !killed) throw new Error('the children are not there');
    watches.watch([orphan, killed]);
    await soon(() => expect(watches.told).toBe(true));
    (parent.stdio[3] as Writable).end('go\n');
    await soon(() => expect(gone.map((one) => one.pid)).toEqual([orphan.pid]));
    expect(await endingOf(orphan, 0)).toEqual({ code: 7, signal: null });
    process.kill(killed.pid, 'SIGTERM');
    while (isAlive(killed)) await sleep(1);
    // No longer asked for, but its end is heard all the same.
    watches.watch([]);
    await soon(async () => expect(await endingOf(killed, 0)).toEqual({ code: null, signal: 'SIGTERM' }));
  });

  it('takes a pid that belongs to somebody else for gone', async () => {
    const { watcher: watches, gone } = watching({ lookMs: 60_000 });
    const somebody = sleeper();
    watches.watch([{ pid: somebody.pid, startTime: String(Number(somebody.startTime) - 100) }]);
    await soon(() => expect(gone.map(({ pid }) => pid)).toEqual([somebody.pid]));
    expect(identify(somebody.pid)).toEqual(somebody);
  });

  it('tells no more of those that are no longer asked for', async () => {
    const { watcher: watches, gone } = watching({ lookMs: 60_000 });
    const [one, other] = [sleeper(), sleeper()];
    watches.watch([one, other]);
    watches.watch([other]);
    await soon(() => expect(watches.told).toBe(true));
    process.kill(one.pid, 'SIGKILL');
    process.kill(other.pid, 'SIGKILL');
    await soon(() => expect(gone.map(({ pid }) => pid)).toEqual([other.pid]));
  });

  it('looks by itself where the kernel does not tell, and says so', async () => {
    const { watcher: watches, gone, troubles } = watching({ program: '/nonexistent/pidwatch', lookMs: 50 });
    const one = sleeper();
    watches.watch([one]);
    expect(troubles.join()).toContain('is not there');
    process.kill(one.pid, 'SIGKILL');
    await soon(() => expect(gone.map(({ pid }) => pid)).toEqual([one.pid]));
    expect(watches.told).toBe(false);
  });

  it('goes on when its program is killed', async () => {
    const { watcher: watches, gone, troubles } = watching({ lookMs: 50 });
    const [one, other] = [sleeper(), sleeper()];
    watches.watch([one, other]);
    await soon(() => expect(watches.told).toBe(true));
    const [program] = watcherPids();
    process.kill(program ?? 0, 'SIGKILL');
    await soon(() => expect(troubles.join()).toContain('SIGKILL'));
    process.kill(one.pid, 'SIGKILL');
    await soon(() => expect(gone.map(({ pid }) => pid)).toEqual([one.pid]));
    await soon(() => expect(watches.told).toBe(true));
    process.kill(other.pid, 'SIGKILL');
    await soon(() => expect(gone).toHaveLength(2));
    expect(watcherPids()).toHaveLength(1);
  });

  it('watches hundreds', async () => {
    const { watcher: watches, gone } = watching({ lookMs: 60_000 });
    const many = Array.from({ length: 200 }, sleeper);
    watches.watch(many);
    await soon(() => expect(watches.told).toBe(true));
    for (const { pid } of many) process.kill(pid, 'SIGKILL');
    await soon(() => expect(gone).toHaveLength(200));
  });
});
