/** Code that runs inside a real sandbox, through the API of a real box, and what the host sees of it meanwhile. */

import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import type { Execution } from '@skillbox/protocol';
import { afterAll, beforeAll } from 'vitest';
import type { RunRequest } from '../../packages/box/src/sandbox/provider.ts';
import { type Architecture, syscalls } from '../../packages/box/src/sandbox/providers/guest/syscalls.ts';
import { probeSkill, startTestBox, type TestBox } from '../support/box.ts';
import { type ServerProcess, type ServerProcessOptions, startServerProcess } from '../support/server-process.ts';
import { createLivingPair, type LivingPair, once, type Site } from './living.ts';
import { type Lang, preludes } from './probes.ts';

/** Where doors lead. */
export interface Place {
  readonly box: Site;
  /** The living sandboxes of this file, made when a door first leads there. */
  readonly living: LivingPair;
  /** Key of another tenant that has the probes too. */
  neighbourKey(): Promise<string>;
  /** A box whose sandboxes stand ready and whose Python runs are copies of a started interpreter; made when a door first leads there. */
  warm(): Promise<{ readonly box: Site; neighbourKey(): Promise<string> }>;
}

/** The other boxes start every run anew. */
const cold = { SKILLBOX_WARM_MEMORY: '0' };
const warm = { SKILLBOX_WARM_MEMORY: '512Mi', SKILLBOX_WARM_COPIES: 'always' };

export interface Inside extends Place {
  readonly box: TestBox;
  run(lang: Lang, code: string, more?: Record<string, unknown>): Promise<Execution>;
  /** What the code gave to `answer(value)`; fails with the log when it did not succeed. */
  python<T>(code: string, more?: Record<string, unknown>): Promise<T>;
  node<T>(code: string, more?: Record<string, unknown>): Promise<T>;
  /** What the code printed. */
  bash(code: string, more?: Record<string, unknown>): Promise<string>;
  stop(): Promise<void>;
}

/** One box for a file of tests, there from its first test on. `resources`: of its living sandboxes, as in a template. */
export function useInside(env: Record<string, string> = {}, resources: Record<string, unknown> = {}): Inside {
  const held: Partial<Inside> = {};
  beforeAll(async () => {
    Object.assign(held, await openInside(env, resources));
  });
  afterAll(() => (held as Inside).stop());
  return held as Inside;
}

async function openInside(env: Record<string, string>, resources: Record<string, unknown>): Promise<Inside> {
  const start = async (more: Record<string, string>): Promise<TestBox> => {
    const started = await startTestBox({ SKILLBOX_DEFAULT_CPU: '2', SKILLBOX_DRAIN_TIMEOUT: '1s', ...more, ...env });
    boxes.push(started);
    for (const lang of ['python', 'node', 'bash'] as const) await started.push(probeSkill(lang));
    return started;
  };
  const boxes: TestBox[] = [];
  const box = await start(cold);
  const run: Inside['run'] = (lang, code, more = {}) => runProbe(box, lang, code, more);
  const succeed = async (lang: Lang, code: string, more?: Record<string, unknown>): Promise<Execution> => {
    const execution = await run(lang, code, more);
    if (execution.status === 'success') return execution;
    throw new Error(`The probe ended as ${execution.status} ${JSON.stringify(execution.error)}:\n${execution.logs}`);
  };
  return {
    box,
    living: createLivingPair(box, resources),
    neighbourKey: createNeighbour(box),
    warm: once(async () => {
      const warmBox = await start(warm);
      return { box: warmBox, neighbourKey: createNeighbour(warmBox) };
    }),
    run,
    python: async <T>(code: string, more?: Record<string, unknown>) => (await succeed('python', code, more)).output as T,
    node: async <T>(code: string, more?: Record<string, unknown>) => (await succeed('node', code, more)).output as T,
    bash: async (code, more) => ((await succeed('bash', code, more)).logs ?? '').trim(),
    async stop() {
      for (const started of boxes) await started.stop();
      const left = boxes.flatMap((started) => processesOf(started.box.host));
      for (const pid of left) process.kill(pid, 'SIGKILL');
      if (left.length > 0) throw new Error(`The box has stopped and left ${left.length} processes.`);
    },
  };
}

/** The same for a server in a process of its own, which may be started in a way that this one was not. */
export function useServer(options: () => ServerProcessOptions): Place & { readonly server: ServerProcess } {
  const held: Partial<Place & { server: ServerProcess }> = {};
  beforeAll(async () => {
    const server = await start(cold);
    const warmServer = once(async () => {
      const box = await start(warm);
      return { box, neighbourKey: createNeighbour(box) };
    });
    Object.assign(held, {
      server,
      box: server,
      living: createLivingPair(server, {}),
      neighbourKey: createNeighbour(server),
      warm: warmServer,
    });
  });
  const servers: ServerProcess[] = [];
  const start = async (env: Record<string, string>): Promise<ServerProcess> => {
    const given = options();
    const server = await startServerProcess({ ...given, env: { ...given.env, ...env } });
    servers.push(server);
    for (const lang of ['python', 'bash'] as const) await server.push(probeSkill(lang));
    return server;
  };
  afterAll(async () => {
    await held.living?.end();
    for (const server of servers) {
      await server.stop();
      rmSync(server.stateRoot, { recursive: true });
    }
  });
  return held as Place & { server: ServerProcess };
}

function createNeighbour(box: Site): Place['neighbourKey'] {
  return once(async () => {
    const key = await box.newKey('neighbour');
    for (const lang of ['python', 'node', 'bash'] as const) await box.push(probeSkill(lang), key);
    return key;
  });
}

/** Those in a cgroup of this host: whatever becomes of its parents, a process does not leave its group. */
function processesOf(host: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && readProc(name, 'cgroup').includes(`/skillbox-${host}/`))
    .map(Number);
}

/** Pushed for another tenant, the same probes run with that tenant's key. */
export function runProbe(box: Site, lang: Lang, code: string, more: Record<string, unknown> = {}, key?: string): Promise<Execution> {
  const env = { ...(lang === 'bash' && { PROBE: code }), ...((more.env as Record<string, string>) ?? {}) };
  const input = lang === 'bash' ? {} : { code: preludes[lang]('/sandbox/out/output.json') + code };
  return box.run(`probe-${lang}`, { input, ...more, env }, key);
}

/** A request for the provider itself, below the API: for what the host does while a sandbox starts or is collected from. */
export function bashRequest(script: string, more: Partial<RunRequest> = {}): RunRequest {
  return {
    id: 'threat',
    skillFolder: import.meta.dirname,
    argv: ['/usr/bin/bash', '-c', script],
    env: { PATH: '/usr/bin' },
    inputs: [],
    limits: {
      timeoutMs: 5000,
      memoryBytes: 128 * 2 ** 20,
      cpu: 2,
      processes: 32,
      openFiles: 256,
      diskBytes: 16 * 2 ** 20,
      logBytes: 65_536,
      outputBytes: 65_536,
      artifacts: 5,
      artifactBytes: 2 ** 20,
    },
    signal: AbortSignal.timeout(10_000),
    onOutput: () => undefined,
    onArtifact: async () => undefined,
    ...more,
  };
}

/** Number of a system call on this machine, for `syscall` in Python. */
export function callNumber(name: string): number {
  const number = syscalls[process.arch as Architecture].get(name);
  if (number === undefined) throw new Error(`${process.arch} has no system call ${name}`);
  return number;
}

/** Host processes whose command line has this mark in it, with what /proc says of them. */
export function hostProcesses(mark: string): HostProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) =>
      readProc(pid, 'cmdline')
        .split('\0')
        .some((word) => word.includes(mark)),
    )
    .map((pid) => describeProcess(Number(pid)));
}

export interface HostProcess {
  readonly pid: number;
  readonly uids: readonly number[];
  readonly gids: readonly number[];
  readonly groups: string;
  readonly noNewPrivileges: string;
  /** Pid in each of its namespaces, the host's first. */
  readonly pids: readonly number[];
  readonly parent: number;
}

export function describeProcess(pid: number): HostProcess {
  const status = readProc(pid, 'status');
  const field = (name: string): string => new RegExp(`^${name}:[ \\t]*(.*)$`, 'm').exec(status)?.[1]?.trim() ?? '';
  const numbers = (name: string): number[] => field(name).split(/\s+/).map(Number);
  return {
    pid,
    uids: numbers('Uid'),
    gids: numbers('Gid'),
    groups: field('Groups'),
    noNewPrivileges: field('NoNewPrivs'),
    pids: numbers('NSpid'),
    parent: Number(field('PPid')),
  };
}

let sleepers = 0;

/** Starts a sandbox whose program sleeps after `first`, and ends it when the host has looked. */
export async function besideSleeper<T>(
  start: (code: string) => Promise<unknown>,
  look: (sleeper: HostProcess) => T | Promise<T>,
  first = 'true',
): Promise<T> {
  sleepers += 1;
  const mark = `41.${process.pid}${sleepers}`;
  const run = start(`${first}; sleep ${mark}`);
  const [sleeper] = await eventually(
    () => hostProcesses(mark).filter(({ pids }) => pids.length > 1 && readProc(pids[0] ?? 0, 'comm') === 'sleep\n'),
    (list) => list.length > 0,
    10_000,
  );
  if (!sleeper) throw new Error('The sleeper did not appear on the host.');
  try {
    return await look(sleeper);
  } finally {
    process.kill(sleeper.pid, 'SIGKILL');
    await run;
  }
}

/** Pid 1 of the sandbox that this process is in, as the host numbers it. */
export function guestOf(pid: number): HostProcess {
  for (let at = describeProcess(pid); ; at = describeProcess(at.parent)) {
    if (at.pids.at(-1) === 1 || at.parent === 0) return at;
  }
}

/** Empty when the process is gone meanwhile. */
export function readProc(pid: number | string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return '';
    throw error;
  }
}

export const readNamespaces = (pid: number | 'self'): Record<string, string> =>
  Object.fromEntries(readdirSync(`/proc/${pid}/ns`).map((name) => [name, readlinkSync(`/proc/${pid}/ns/${name}`)]));

/** Polls until it holds; the last value when it never does. */
export async function eventually<T>(read: () => T, holds: (value: T) => boolean, withinMs = 3000): Promise<T> {
  for (const end = Date.now() + withinMs; ; ) {
    const value = read();
    if (holds(value) || Date.now() > end) return value;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The longest that the box took to answer a probe while this went on. */
export async function slowestAnswer<T>(box: TestBox, work: Promise<T>): Promise<{ result: T; slowestMs: number }> {
  let done = false;
  let slowestMs = 0;
  const ping = async (): Promise<void> => {
    while (!done) {
      const start = performance.now();
      const { status } = await box.request('/livez', { key: null });
      if (status !== 200) throw new Error(`/livez answered ${status}`);
      slowestMs = Math.max(slowestMs, performance.now() - start);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const pings = ping();
  const result = await work.finally(() => {
    done = true;
  });
  await pings;
  return { result, slowestMs };
}
