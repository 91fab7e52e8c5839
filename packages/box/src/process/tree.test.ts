import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { identify, isAlive } from './identity.ts';
import { startProgram } from './program.ts';
import { readProcessTable } from './table.ts';
import { endProcess, endTree, findLeader, membersOf, type ProcessTree, runVariable } from './tree.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-tree-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function start(script: string): Promise<ProcessTree & { ended: Promise<unknown> }> {
  const run = randomBytes(8).toString('hex');
  const env = { PATH: process.env.PATH, [runVariable]: run };
  const { identity, ended } = await startProgram({ argv: ['/bin/bash', '-c', script], cwd: folder, env, log: join(folder, 'log') });
  return { leader: identity, run, ended };
}

async function until(what: string, condition: () => boolean): Promise<void> {
  for (const since = Date.now(); Date.now() - since < 10_000; await sleep(10)) if (condition()) return;
  throw new Error(`waited in vain: ${what}`);
}

const pidIn = (name: string): number => Number(readFileSync(join(folder, name), 'utf8'));
const written = (name: string) => () => existsSync(join(folder, name)) && readFileSync(join(folder, name), 'utf8').endsWith('\n');

it('a program has a session of its own, no environment but its own, and a log only its owner reads', async () => {
  process.env.SKILLBOX_TEST_SECRET = 'not for children';
  const tree = await start('echo out; echo err >&2; env; exec sleep 30');
  delete process.env.SKILLBOX_TEST_SECRET;
  await until('it wrote', () => readFileSync(join(folder, 'log'), 'utf8').includes('PWD'));
  const log = readFileSync(join(folder, 'log'), 'utf8');
  expect(log).toContain('out\n');
  expect(log).toContain('err\n');
  expect(log).not.toContain('not for children');
  expect(statSync(join(folder, 'log')).mode & 0o777).toBe(0o600);
  expect(readProcessTable().get(tree.leader.pid)).toMatchObject({ session: tree.leader.pid, group: tree.leader.pid });
  expect(await endTree(tree, { patienceMs: 2000 })).toBe('stopped');
  expect(isAlive(tree.leader)).toBe(false);
});

it('takes children with it that went to other groups and other sessions, orphans too', async () => {
  const tree = await start('set -m; sleep 60 & echo $! > other; setsid bash -c "echo \\$\\$ > far; exec sleep 60" & wait');
  await until('both are there', () => written('other')() && written('far')());
  expect(readProcessTable().get(pidIn('other'))?.group).not.toBe(tree.leader.pid);
  expect(readProcessTable().get(pidIn('far'))?.session).toBe(pidIn('far'));
  expect(await endTree(tree, { patienceMs: 2000 })).toBe('stopped');
  expect([identify(pidIn('other')), identify(pidIn('far'))]).toEqual([undefined, undefined]);
});

it('kills what does not hear SIGTERM, after its patience and not before', async () => {
  const tree = await start('trap "" TERM; echo > ready; while :; do sleep 0.1; done');
  await until('it ignores the signal', written('ready'));
  const since = performance.now();
  expect(await endTree(tree, { patienceMs: 400 })).toBe('killed');
  expect(performance.now() - since).toBeGreaterThan(400);
  expect(membersOf(tree, readProcessTable())).toEqual([]);
});

it('finds what a dead leader left in its session, by the name of its run', async () => {
  const tree = await start('sleep 60 & echo $! > child; exit 3');
  expect(await tree.ended).toEqual({ code: 3, signal: null });
  const child = pidIn('child');
  expect(membersOf(tree, readProcessTable()).map(({ pid }) => pid)).toEqual([child]);
  expect(membersOf({ ...tree, run: 'another' }, readProcessTable())).toEqual([]);
  expect(membersOf({ ...tree, run: undefined }, readProcessTable())).toEqual([]);
  expect(await endTree(tree, { patienceMs: 2000 })).toBe('stopped');
  expect(identify(child)).toBeUndefined();
});

it('never touches a process that has the pid of one long gone', async () => {
  const bystander = await start('exec sleep 60');
  const recycled = { leader: { ...bystander.leader, startTime: '1' }, run: 'long gone' };
  expect(await endTree(recycled, { patienceMs: 100 })).toBe('gone');
  expect(await endProcess(recycled.leader, { patienceMs: 100 })).toBe('gone');
  expect(isAlive(bystander.leader)).toBe(true);
  expect(await endProcess(bystander.leader, { patienceMs: 2000 })).toBe('stopped');
});

it('finds a leader that nobody wrote down', async () => {
  const tree = await start('sleep 60 & wait');
  expect(findLeader(tree.run ?? '', readProcessTable())).toEqual(tree.leader);
  expect(findLeader('another', readProcessTable())).toBeUndefined();
  await endTree(tree, { patienceMs: 2000 });
});

it('says why a program cannot be started', async () => {
  await expect(startProgram({ argv: ['/no/such/program'], cwd: folder, env: {}, log: join(folder, 'log') })).rejects.toThrow('ENOENT');
});
