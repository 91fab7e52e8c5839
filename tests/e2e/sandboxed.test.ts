/** Programs of the graph in sandboxes: started, watched and ended over the API of the box, by processes that come and go. */

import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sandbox } from '@skillbox/protocol';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../packages/box/src/config.ts';
import { checkStatuses } from '../../packages/box/src/graph/checks.ts';
import type { Place, Program } from '../../packages/box/src/graph/graph.ts';
import type { Runtime } from '../../packages/box/src/graph/runtime.ts';
import {
  endOfSandboxed,
  exitOfSandboxed,
  probeSandboxed,
  runBeside,
  type SandboxedProgram,
  signalSandboxed,
  startSandboxed,
} from '../../packages/box/src/graph/sandboxed.ts';
import { isReady } from '../../packages/box/src/graph/tasks/states.ts';
import { check, freePort, graph, task } from '../support/graph.ts';
import { newStateRoot, type ServerProcess, startServerProcess } from '../support/server-process.ts';

const stateRoot = newStateRoot();
let server: ServerProcess;
const runtime: Runtime = {
  config: loadConfig({ cwd: stateRoot, env: { SKILLBOX_STATE_ROOT: stateRoot } }),
  server: false,
  progress: () => undefined,
  signal: new AbortController().signal,
};
const log = (id: string): string => join(stateRoot, 'logs', 'services', `${id}.log`);
const logged = (id: string): string => (existsSync(log(id)) ? readFileSync(log(id), 'utf8') : '');
const inWorkspace = (command: string, more: Partial<Program> = {}): Program => ({
  command,
  cwd: { path: '/workspace/repos', hostPath: join(stateRoot, 'workspace/repos'), inside: true },
  env: {},
  template: 'workspace',
  ...more,
});
const start = (id: string, program: Program, client?: string): Promise<SandboxedProgram> =>
  startSandboxed(runtime, program, { id, client, log: log(id) });
const ended = (at: SandboxedProgram) => expect.poll(() => exitOfSandboxed(runtime, at), { timeout: 10_000 });

const hostProcesses = (words: string): string[] =>
  readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8').startsWith(words);
    } catch {
      // It ended meanwhile.
      return false;
    }
  });

beforeAll(async () => {
  server = await startServerProcess({ stateRoot });
});
afterEach(async () => {
  if (!server.running) server = await startServerProcess({ stateRoot });
});
afterAll(async () => {
  const { body } = await server.json<{ items: Sandbox[] }>('/v1/sandboxes');
  for (const { id } of body.items) await server.json(`/v1/sandboxes/${id}`, { method: 'DELETE' });
  await server.stop();
  rmSync(stateRoot, { recursive: true, force: true });
});

const repos: Place = { path: '/workspace/repos', hostPath: join(stateRoot, 'workspace/repos'), inside: true };
const asked = async (command: string, withinMs?: number) =>
  (await checkStatuses(runtime, graph({ checks: [check('one', { type: 'command', command, cwd: repos })] }), withinMs))[0];

describe('what is asked in the workspace', () => {
  it('is asked only while it runs: a look makes no sandbox', async () => {
    expect(await asked('true')).toMatchObject({ state: 'fail', detail: expect.stringContaining('skillbox shell -- true') });
    const listening = task(stateRoot, { id: 't', command: 'true', template: 'workspace', success: { type: 'port_listening', port: 1 } });
    expect(await isReady(runtime, listening)).toBe(false);
    expect((await server.json<{ items: Sandbox[] }>('/v1/sandboxes')).body.items).toEqual([]);
  });

  it('is asked there, not on the host: commands of checks, and ports that tasks open', async () => {
    const onHost = createServer();
    await new Promise<void>((resolve) => onHost.listen(0, '127.0.0.1', resolve));
    const taken = (onHost.address() as AddressInfo).port;
    const own = await freePort();
    const at = await start('asked', inWorkspace(`exec python3 -m http.server ${own} --bind 127.0.0.1`));
    try {
      expect(await asked(`test "$PWD" = /workspace/repos && test "$HOME" = /home/sandbox && test ! -e ${stateRoot}`)).toMatchObject({
        ...{ state: 'ok', detail: 'it ended with 0' },
      });
      expect(await asked('echo so what; exit 3')).toMatchObject({ state: 'fail', detail: 'it ended with 3: so what' });
      expect(await asked('sleep 20', 300)).toMatchObject({ state: 'fail', detail: 'it took longer than 300 ms' });
      const ready = (port: number, template?: string) =>
        isReady(runtime, task(stateRoot, { id: 't', command: 'true', template, success: { type: 'port_listening', port } }));
      await expect.poll(() => ready(own, 'workspace'), { timeout: 10_000 }).toBe(true);
      expect([await ready(taken, 'workspace'), await ready(own), await ready(taken)]).toEqual([false, false, true]);
    } finally {
      await signalSandboxed(runtime, at, 'SIGKILL');
      onHost.close();
    }
  });
});

describe('a program in the workspace', () => {
  it('runs where it is told, with its variables, writes to its log, and its exit code is told', async () => {
    const at = await start('one', inWorkspace('pwd; echo "$GREETING"; echo trouble >&2; exit 3', { env: { GREETING: 'hello there' } }));
    await ended(at).toBe(3);
    expect(logged('one').split('\n').sort()).toEqual(['', '/workspace/repos', 'hello there', 'trouble']);
    const killed = await start('one', inWorkspace('kill -9 $$'));
    await ended(killed).toBe(137);
  });

  it('shares one sandbox with all others of the box, so that they reach each other on loopback', async () => {
    const web = await start('web', inWorkspace('exec python3 -m http.server 8123 --bind 127.0.0.1'));
    const other = await start('other', inWorkspace('sleep 1000'), 'acme');
    expect(other.sandbox).toBe(web.sandbox);
    await expect.poll(() => probeSandboxed(runtime, web, 8123, '/'), { timeout: 10_000 }).toBe(200);
    expect(await probeSandboxed(runtime, web, 8123, '/missing')).toBe(404);
    expect(await probeSandboxed(runtime, web, 8123, undefined)).toBe(0);
    expect(await probeSandboxed(runtime, web, 8124, undefined)).toBeUndefined();
    expect(await probeSandboxed(runtime, web, 8124, '/')).toBeUndefined();
    expect(
      await runBeside(runtime, other, 'bash -c "exec 3<>/dev/tcp/127.0.0.1/8123" && echo reached; exit 4', { timeoutMs: 5000 }),
    ).toEqual({
      exit: 4,
      output: 'reached\n',
    });
    expect((await runBeside(runtime, other, 'sleep 10', { timeoutMs: 200 })).exit).toBeNull();
    for (const at of [web, other]) await signalSandboxed(runtime, at, 'SIGTERM');
    await ended(web).toBe(143);
    await ended(other).toBe(143);
  });

  it('is ended with everything that it started, also what moved to a session of its own', async () => {
    const at = await start('tree', inWorkspace('(setsid sleep 3121 &) ; sleep 3122 & sh -c "sleep 3123" & wait'));
    const alive = async () =>
      (await runBeside(runtime, at, 'cat /proc/[0-9]*/cmdline | tr "\\0" " " | grep -o "sleep [3]12." | sort -u', { timeoutMs: 5000 }))
        .output;
    await expect.poll(alive).toBe('sleep 3121\nsleep 3122\nsleep 3123\n');
    await signalSandboxed(runtime, at, 'SIGTERM');
    await ended(at).not.toBe(undefined);
    await expect.poll(alive).toBe('');
    await expect(signalSandboxed(runtime, at, 'SIGKILL')).resolves.toBeUndefined();
  });

  it('has no capability, a pid namespace of its own, and the limits of its template', async () => {
    const look =
      'grep -E "CapEff|CapBnd|NoNewPrivs|Seccomp:" /proc/self/status; readlink /proc/self/ns/pid; ls -d /proc/1; cat /proc/1/comm';
    const at = await start('floor', inWorkspace(look));
    await ended(at).toBe(0);
    const said = logged('floor');
    expect(said).toMatch(/CapEff:\s+0{16}/);
    expect(said).toMatch(/CapBnd:\s+0{16}/);
    expect(said).toMatch(/NoNewPrivs:\s+1/);
    expect(said).toMatch(/Seccomp:\s+2/);
    expect(said).toContain('guest');
    expect(said).not.toContain(readlinkSync('/proc/self/ns/pid'));
    const { body } = await server.json<Sandbox>(`/v1/sandboxes/${at.sandbox}`);
    expect(body.limits).toMatchObject({ memory_bytes: 4096 * 2 ** 20, processes: 4096 });
  });
});

describe('a program in another template', () => {
  it('has a sandbox for its client, and is ended when it takes more memory than its template gives', async () => {
    await server.json('/v1/templates/small', { method: 'PUT', body: { resources: { memory: '64Mi', tmp: '16Mi' } } });
    const small = (command: string) => inWorkspace(command, { template: 'small' });
    const hungry = await start('hungry', small('python3 -c "x = bytearray(256 << 20)"'), 'acme');
    await ended(hungry).toBe(137);
    const again = await start('again', small('ls /workspace; sleep 1000'), 'acme');
    const elsewhere = await start('elsewhere', small('sleep 1000'), 'globex');
    expect(again.sandbox).toBe(hungry.sandbox);
    expect(elsewhere.sandbox).not.toBe(hungry.sandbox);
    await expect.poll(() => logged('again')).toContain('No such file or directory');
    for (const at of [again, elsewhere]) await signalSandboxed(runtime, at, 'SIGKILL');
  });
});

describe('without a server', () => {
  it('a program goes on, its output is kept, and the next server writes it down', async () => {
    const at = await start('steady', inWorkspace('for i in $(seq 1 40); do echo line $i; sleep 0.1; done; exit 5'));
    await expect.poll(() => logged('steady')).toContain('line 3\n');
    await server.kill();
    expect(await exitOfSandboxed(runtime, at)).toBeUndefined();
    await sleep(1000);
    server = await startServerProcess({ stateRoot });
    await ended(at).toBe(5);
    const lines = logged('steady').trim().split('\n');
    // What was written in the last moment before the kill may stand there twice, and nothing is missing.
    expect([...new Set(lines)]).toEqual(Array.from({ length: 40 }, (_, index) => `line ${index + 1}`));
    expect(lines.length).toBeLessThan(44);
    expect(readdirSync(join(stateRoot, 'run/graph/output')).filter((name) => name.endsWith('.json'))).toEqual([]);
  });

  it('what runs in there is known all the same, and can be ended with all it started', async () => {
    const at = await start(
      'alone',
      inWorkspace('echo begins; (setsid sleep 3131 &); trap "echo ends; exit 7" TERM; while :; do sleep 0.1; done'),
    );
    const short = await start('short', inWorkspace('sleep 1; exit 4'));
    await expect.poll(() => logged('alone'), { timeout: 10_000 }).toContain('begins\n');
    await server.kill();
    expect(hostProcesses('sleep\x003131')).toHaveLength(1);
    expect(await exitOfSandboxed(runtime, at)).toBeUndefined();
    await ended(short).toBe(4);
    await expect(probeSandboxed(runtime, at, 8123, undefined)).rejects.toMatchObject({ code: 'unreachable' });
    await signalSandboxed(runtime, at, 'SIGTERM');
    await ended(at).toBe(7);
    expect(await endOfSandboxed(runtime, at)).toEqual({ code: 7, signal: null });
    await expect.poll(() => hostProcesses('sleep\x003131'), { timeout: 10_000 }).toEqual([]);
    // Neither a sandbox that is none, nor one of another provider, is taken for one in which nothing runs.
    const elsewhere = { sandbox: '00000000-0000-4000-8000-000000000000', program: 1 };
    expect(await exitOfSandboxed(runtime, elsewhere)).toBeUndefined();
    await expect(signalSandboxed(runtime, elsewhere, 'SIGTERM')).rejects.toMatchObject({
      code: 'unreachable',
      hint: expect.stringContaining('skillbox up'),
    });
    server = await startServerProcess({ stateRoot });
    await expect.poll(() => logged('alone'), { timeout: 10_000 }).toContain('ends\n');
  });

  it('a sandbox that began anew does not pass for the one that a program ran in', async () => {
    const at = await start('before', inWorkspace('sleep 1000'));
    await server.json(`/v1/sandboxes/${at.sandbox}/recreate`, { method: 'POST' });
    await server.stop();
    server = await startServerProcess({ stateRoot });
    const after = await start('after', inWorkspace('sleep 1000'));
    expect(after.sandbox).toBe(at.sandbox);
    expect(await exitOfSandboxed(runtime, at)).toBeNull();
    expect(await exitOfSandboxed(runtime, after)).toBeUndefined();
    await signalSandboxed(runtime, after, 'SIGKILL');
  });

  it('a second start of the same ends what the first left', async () => {
    const first = await start('twice', inWorkspace('sleep 1000'));
    const second = await start('twice', inWorkspace('sleep 1000'));
    await ended(first).toBe(137);
    expect(await exitOfSandboxed(runtime, second)).toBeUndefined();
    await signalSandboxed(runtime, second, 'SIGKILL');
  });
});
