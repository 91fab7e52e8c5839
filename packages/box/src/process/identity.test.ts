import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { tryLock } from './abstract-lock.ts';
import { identify, isAlive } from './identity.ts';

it('knows a process by pid and start, and that it is gone when it is', async () => {
  const child = spawn('sleep', ['30']);
  const identity = identify(child.pid ?? 0);
  if (!identity) throw new Error('the child should be there');
  expect(isAlive(identity)).toBe(true);
  expect(isAlive({ ...identity, startTime: '1' })).toBe(false);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(isAlive(identity)).toBe(false);
});

it('is not misled by the name a process gives itself', async () => {
  const child = spawn('bash', ['-c', 'printf ") S 1 1 (" > /proc/self/comm; echo ready; read -r line'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const before = identify(child.pid ?? 0);
  await once(child.stdout, 'data');
  expect(identify(child.pid ?? 0)).toEqual(before);
  expect(before?.startTime).toMatch(/^\d+$/);
  child.kill('SIGKILL');
  await once(child, 'exit');
});

it('takes a zombie for gone', async () => {
  const parent = spawn('bash', ['-c', 'sleep 0.01 & echo $!; exec sleep 30'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [pid] = (await once(parent.stdout, 'data')) as [Buffer];
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(identify(Number(pid.toString()))).toBeUndefined();
  parent.kill('SIGKILL');
  await once(parent, 'exit');
});

it('gives a lock to one, and to the next when that lets go', async () => {
  const name = `test-${process.pid}-${Date.now()}`;
  const first = await tryLock(name);
  expect(first).toBeDefined();
  expect(await tryLock(name)).toBeUndefined();
  expect(await tryLock(`${name}-other`)).toBeDefined();
  first?.release();
  await new Promise((resolve) => setTimeout(resolve, 10));
  const second = await tryLock(name);
  expect(second).toBeDefined();
  second?.release();
});
