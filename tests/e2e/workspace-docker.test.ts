/** The workspace made by docker: the same folders, the same owner of what lies in them, and the way to bubblewrap and back. */

import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page, Sandbox } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../packages/box/src/config.ts';
import { examine } from '../../packages/box/src/doctor.ts';
import { requireLocalBox } from '../../packages/box/src/graph/box-api.ts';
import { writeAt } from '../../packages/box/src/graph/place.ts';
import type { Runtime } from '../../packages/box/src/graph/runtime.ts';
import { sandboxFor } from '../../packages/box/src/graph/sandbox-for.ts';
import { exitOfSandboxed, probeSandboxed, runBeside, signalSandboxed, startSandboxed } from '../../packages/box/src/graph/sandboxed.ts';
import { diskUid } from '../../packages/box/src/sandbox/disk-owner.ts';
import { checkDockerWorkspace } from '../../packages/box/src/sandbox/providers/configured.ts';
import { dockerIsInstalled, librariesOf, startDocker, type TestDocker } from '../support/docker.ts';
import { newStateRoot, type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { main } from './cli-process.ts';

interface Ran {
  readonly exit_code: number | null;
  readonly stdout: string;
}

describe.skipIf(!dockerIsInstalled())('the workspace by docker', () => {
  const stateRoot = newStateRoot();
  const state = (...parts: string[]): string => join(stateRoot, ...parts);
  let engine: TestDocker;
  let server: ServerProcess;
  let sandbox: Sandbox;

  const declare = (workspace: string): void => writeFileSync(state('skillbox.yaml'), `version: 1\nworkspace: { ${workspace} }\n`);
  const byDocker = (image = engine.image): string => `provider: docker, image: '${image}'`;
  const settings = (more: Record<string, string> = {}): Record<string, string> => ({
    SKILLBOX_STATE_ROOT: stateRoot,
    SKILLBOX_MANIFEST: state('skillbox.yaml'),
    SKILLBOX_DOCKER_HOST: `unix://${engine.socket}`,
    SKILLBOX_IMAGE_ALLOWLIST: `${engine.image},absent`,
    ...more,
  });
  const start = async (more: Record<string, string> = {}): Promise<void> => {
    server = await startServerProcess({ stateRoot, env: settings(more) });
  };
  const create = async (): Promise<Sandbox> => {
    const made = await server.json<Sandbox>('/v1/sandboxes', { body: { template: 'workspace' } });
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
    return made.body;
  };
  const run = async (cmd: string, id = sandbox.id): Promise<string> => {
    const { status, body } = await server.json<Ran>(`/v1/sandboxes/${id}/programs`, { body: { cmd } });
    if (status !== 200 || body.exit_code !== 0) throw new Error(JSON.stringify(body));
    return body.stdout.trim();
  };
  const runtimeOf = (more: Record<string, string> = {}): Runtime => ({
    config: loadConfig({ cwd: stateRoot, env: { PATH: process.env.PATH, ...settings(more) } }),
    server: false,
    progress: () => undefined,
    signal: new AbortController().signal,
  });

  beforeAll(async () => {
    engine = await startDocker(['/usr/bin/sh', '/usr/bin/setsid', ...librariesOf([process.execPath])]);
    declare(byDocker());
    await start();
    sandbox = await create();
  });
  afterAll(async () => {
    if (server?.running) {
      const { body } = await server.json<Page<Sandbox>>('/v1/sandboxes');
      for (const { id } of body.items) await server.json(`/v1/sandboxes/${id}`, { method: 'DELETE' });
      await server.stop();
    }
    await engine?.stop();
    rmSync(stateRoot, { recursive: true, force: true });
  });

  it('has its folders, agent homes and logs from the start, and programs begin in it as its user', async () => {
    expect(sandbox).toMatchObject({ provider: 'docker', tier: 'container', expires_at: null, on_idle: 'keep', tenant: 'default' });
    expect(await run('whoami; pwd; echo $HOME; ls -A $HOME; ls -d /monoserver /workspace/repos /workspace/logs')).toBe(
      ['sandbox', '/workspace', '/home/sandbox', '.claude', '.codex', '.local', '/monoserver', '/workspace/logs', '/workspace/repos'].join(
        '\n',
      ),
    );
    expect(await run('cd ~sandbox && pwd; echo $PATH')).toMatch(/^\/home\/sandbox\n\/home\/sandbox\/\.local\/bin:/);
  });

  it('has skillbox, which asks the box through the channel, with the node of the box', async () => {
    expect(
      await run('command -v skillbox node; skillbox status --json > /tmp/status; [ $? -eq 0 -o $? -eq 2 ] && cut -c1-10 /tmp/status'),
    ).toBe('/opt/skillbox/bin/skillbox\n{"client":');
    expect(await run('skillbox key list 2>&1 || echo $?; touch /opt/skillbox/lib/x 2>&1 || echo $?')).toMatch(
      /not for the inside.*\n3\n.*Read-only.*\n1$/s,
    );
  });

  it('is one folder for both sides: what either puts there is the other’s to use', async () => {
    await run('mkdir -p /workspace/repos/app && echo inside > /workspace/repos/app/note && echo more > /monoserver/x');
    expect(statSync(state('workspace/repos/app/note'))).toMatchObject({ uid: diskUid, gid: diskUid });
    expect(readFileSync(state('monoserver/x'), 'utf8')).toBe('more\n');
    // As sync and focus write there.
    const place = { path: '/workspace/repos/app/.env', hostPath: state('workspace/repos/app/.env'), inside: true };
    writeAt(place, 'A=1\n', { mode: 0o600 });
    expect(await run('cd /workspace/repos/app && stat -c %U note .env && echo B=2 >> .env && cat .env')).toBe('sandbox\nsandbox\nA=1\nB=2');
    writeFileSync(state('logs/runtime/runtime.log'), 'a line\n', { mode: 0o600 });
    writeFileSync(state('clients/note.txt'), 'an overlay\n', { mode: 0o644 });
    expect(await run('cat /workspace/logs/runtime/runtime.log /workspace/workspace/clients/note.txt')).toBe('a line\nan overlay');
  });

  it('keeps what was written when it is paused, recreated, destroyed and made anew', async () => {
    await run('echo kept > ~/.claude/kept; echo gone > /home/user/gone');
    await server.json(`/v1/sandboxes/${sandbox.id}/pause`, { method: 'POST' });
    expect(await run('cat ~/.claude/kept')).toBe('kept');
    const again = await server.json<Sandbox>(`/v1/sandboxes/${sandbox.id}/recreate`, { method: 'POST' });
    expect(again.body).toMatchObject({ state: 'ready', provider: 'docker', expires_at: null });
    expect(await run('cat ~/.claude/kept; ls /home/user; echo more >> ~/.claude/kept')).toBe('kept');
    await server.json(`/v1/sandboxes/${sandbox.id}`, { method: 'DELETE' });
    expect(existsSync(state('home/.claude/kept'))).toBe(true);
    sandbox = await create();
    expect(await run('echo last >> ~/.claude/kept; cat ~/.claude/kept; rm ~/.claude/kept')).toBe('kept\nmore\nlast');
  });

  it('is found as it was by a server after one that stopped or was killed, with what runs in it', async () => {
    await run('mkdir /workspace/made && echo 1 > /workspace/made/number');
    const pid = await run('setsid sleep 1000 >/dev/null 2>&1 & echo $!');
    for (const end of [() => server.stop(), () => server.kill()]) {
      await end();
      await start();
      expect(await run(`ls -d /proc/${pid}; echo 2 >> /workspace/made/number; cat /workspace/made/number`)).toContain('/proc/');
    }
    expect(readFileSync(state('workspace/made/number'), 'utf8')).toBe('1\n2\n2\n');
  });

  it('runs tasks and services of the graph, with their logs, ports and ends', async () => {
    const runtime = runtimeOf();
    const log = (id: string): string => state('logs/services', `${id}.log`);
    const program = (command: string) => ({
      ...{ command, env: { GREETING: 'hello there' }, template: 'workspace' },
      cwd: { path: '/workspace/repos/app', hostPath: state('workspace/repos/app'), inside: true },
    });
    const task = await startSandboxed(runtime, program('pwd; echo "$GREETING"; exit 3'), {
      id: 'task',
      client: undefined,
      log: log('task'),
    });
    await expect.poll(() => exitOfSandboxed(runtime, task), { timeout: 10_000 }).toBe(3);
    expect(readFileSync(log('task'), 'utf8')).toBe('/workspace/repos/app\nhello there\n');
    // Made for the graph, and the only one that is.
    expect(task.sandbox).not.toBe(sandbox.id);
    const service = await startSandboxed(runtime, program('exec python3 -m http.server 8123 --bind 127.0.0.1'), {
      ...{ id: 'web', client: undefined, log: log('web') },
    });
    await expect.poll(() => probeSandboxed(runtime, service, 8123, '/note'), { timeout: 10_000 }).toBe(200);
    expect(await runBeside(runtime, service, 'cat /workspace/logs/services/task.log | head -1', { timeoutMs: 10_000 })).toMatchObject({
      ...{ exit: 0, output: '/workspace/repos/app\n' },
    });
    // Also while no server runs: what is in a container goes on, and can be asked and ended.
    await server.kill();
    expect(await exitOfSandboxed(runtime, service)).toBeUndefined();
    await signalSandboxed(runtime, service, 'SIGTERM');
    await expect.poll(() => exitOfSandboxed(runtime, service), { timeout: 10_000 }).toBe(143);
    await start();
  });

  it('opens as a shell: one command, a terminal, their exit codes', { timeout: 120_000 }, async () => {
    const shell = (words: readonly string[], input?: string) => main(['shell', ...words], settings(), input);
    expect(await shell(['--', 'bash', '-c', 'pwd; echo err >&2; exit 9'])).toEqual({ exit: 9, stdout: '/workspace\n', stderr: 'err\n' });
    const { exit, stdout } = await shell([], 'pwd; tty; exit 6\n');
    expect([exit, stdout.includes('/workspace'), stdout.includes('/dev/pts/')]).toEqual([6, true, true]);
  });

  it('becomes one by bubblewrap and one by docker again, and everything can be read and written in both', async () => {
    const workspace = async (): Promise<Sandbox> => {
      const wanted = { template: 'workspace', client: undefined, stateRoot, note: () => undefined };
      const id = await sandboxFor(requireLocalBox(stateRoot), wanted);
      return (await server.json<Sandbox>(`/v1/sandboxes/${id}`)).body;
    };
    const changed = async (workspaceSettings: string, more: Record<string, string> = {}): Promise<void> => {
      await server.stop();
      declare(workspaceSettings);
      await start(more);
    };
    const turn = async (provider: string): Promise<void> => {
      const { id, provider: maker } = await workspace();
      expect(maker).toBe(provider);
      const every = `for d in /workspace/by/*; do echo ${provider} >> $d/mark && mv $d/mark ~/mark && mv ~/mark $d/mark || exit; done`;
      const words = [`mkdir -p /workspace/by/${provider}`, every, `echo ${provider} >> /workspace/turns`, 'stat -c %U /workspace/by/*'];
      expect(await run(`set -e; ${words.join('; ')}`, id)).toMatch(/^sandbox(\nsandbox)*$/);
    };
    await turn('docker');
    // Also when the engine is taken away at once, and nobody can end what it made.
    await changed('provider: bubblewrap', { SKILLBOX_DOCKER_HOST: '' });
    await turn('bubblewrap');
    await changed(byDocker());
    await turn('docker');
    expect(readFileSync(state('workspace/turns'), 'utf8')).toBe('docker\nbubblewrap\ndocker\n');
    expect(readFileSync(state('workspace/by/docker/mark'), 'utf8')).toBe('docker\nbubblewrap\ndocker\n');
    expect(statSync(state('workspace/turns')).uid).toBe(diskUid);
  });

  it('says what is missing and how to get it: the engine, the image, its place on the list; so does doctor', async () => {
    const nobody = `unix://${state('nobody.sock')}`;
    const cases: { image: string; more: Record<string, string>; lacks: string; hint: string }[] = [
      { image: engine.image, more: { SKILLBOX_DOCKER_HOST: '' }, lacks: 'no such provider', hint: 'SKILLBOX_DOCKER_HOST' },
      { image: engine.image, more: { SKILLBOX_DOCKER_HOST: nobody }, lacks: 'does not answer', hint: 'Start it' },
      { image: 'absent', more: {}, lacks: 'does not have the image', hint: 'docker pull' },
      { image: 'other', more: {}, lacks: 'not on the allow list', hint: 'SKILLBOX_IMAGE_ALLOWLIST' },
    ];
    for (const { hint, image, lacks, more } of cases) {
      await server.stop();
      declare(byDocker(image));
      await start(more);
      type Refusal = { readonly error: string; readonly message: string; readonly hint: string };
      const { status, body } = await server.json<Refusal>('/v1/sandboxes', { body: { template: 'workspace' } });
      expect([status, body.error, body.message]).toEqual([503, 'no_provider', expect.stringContaining(lacks)]);
      expect(body.hint).toContain(hint);
      await expect(checkDockerWorkspace(runtimeOf(more).config, image)).rejects.toMatchObject({ hint: expect.stringContaining(hint) });
    }
    const doctor = async () => (await examine(() => runtimeOf().config)).find(({ name }) => name === 'workspace');
    expect(await doctor()).toMatchObject({ state: 'missing', fix: expect.stringContaining('SKILLBOX_IMAGE_ALLOWLIST') });
    declare(byDocker());
    expect(await doctor()).toMatchObject({ state: 'ok', detail: expect.stringContaining(engine.image) });
    declare('provider: bubblewrap');
    expect(await doctor()).toBeUndefined();
  });
});
