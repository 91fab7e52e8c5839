/** What every provider of living sandboxes must do, against the real thing. A provider joins by one line in `providers`. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type {
  LivingProvider,
  ProgramEvent,
  ProgramSpec,
  ProviderRef,
  SandboxHandle,
  SandboxSpec,
} from '../../packages/box/src/sandbox/living.ts';
import { nativeProgram } from '../../packages/box/src/sandbox/providers/bubblewrap/files.ts';
import { openBubblewrap } from '../../packages/box/src/sandbox/providers/bubblewrap/provider.ts';
import { createComposeSsh } from '../../packages/box/src/sandbox/providers/compose-ssh/provider.ts';
import { createDocker } from '../../packages/box/src/sandbox/providers/docker/provider.ts';
import { createE2b } from '../../packages/box/src/sandbox/providers/e2b/provider.ts';
import { createSsh } from '../../packages/box/src/sandbox/providers/ssh/provider.ts';
import { startTestBox } from '../support/box.ts';
import { composeIsInstalled, startComposeHost } from '../support/compose-host.ts';
import { dockerIsInstalled, startDocker } from '../support/docker.ts';
import { sshdIsInstalled, startSshd } from '../support/sshd.ts';

interface Opened {
  readonly provider: LivingProvider;
  /** What a template would say to it. */
  readonly options?: SandboxSpec['options'];
  /** Default: none. */
  readonly network?: SandboxSpec['network'];
  /** What the inside calls /home/user, where that is a name for callers only. */
  home?(ref: ProviderRef): string;
  /** Whether what a program said before a restart of the server, or its end meanwhile, is known after it. Default: yes. */
  readonly remembers?: boolean;
  /** As after a restart of the server: a second instance over the same state. */
  reopen(): Promise<Opened>;
  close(): Promise<void>;
}

const providers: Record<string, (folder: string) => Promise<Opened>> = {
  bubblewrap: openBubblewrapIn,
  ...(dockerIsInstalled() && { docker: openDockerIn }),
  ...(sshdIsInstalled() && { ssh: openSshIn }),
  ...(composeIsInstalled() && { 'compose-ssh': openComposeIn }),
  e2b: openE2bIn,
};
if (!providers.docker) it.skip('docker: there is no engine', () => undefined);
if (!providers.ssh) it.skip('ssh: there is no sshd', () => undefined);
if (!providers['compose-ssh']) it.skip('compose-ssh: there is no host with compose', () => undefined);

const limits = { memoryBytes: 512 * 2 ** 20, cpu: 2, processes: 64, openFiles: 1024, diskBytes: 256 * 2 ** 20, tmpBytes: 64 * 2 ** 20 };

/** Compose is a program that starts anew for every step. */
const timeLimits: Record<string, number> = { 'compose-ssh': 120_000 };
for (const [name, open] of Object.entries(providers)) describe(name, { timeout: timeLimits[name] ?? 30_000 }, () => suite(open));

function suite(openProvider: (folder: string) => Promise<Opened>): void {
  let folder: string;
  let opened: Opened;
  let serial = 0;
  const made: SandboxHandle[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sb-'));
    opened = await openProvider(folder);
  });
  afterEach(async () => {
    for (const handle of made.splice(0)) await handle.teardown();
  }, 120_000);
  afterAll(async () => {
    await opened.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const specOf = (more: Partial<SandboxSpec> = {}): SandboxSpec => {
    serial += 1;
    return {
      id: `test${process.pid}x${serial}`,
      tenant: 'default',
      limits,
      network: opened.network ?? 'none',
      env: {},
      options: opened.options ?? {},
      ...more,
    };
  };
  const create = async (more: Partial<SandboxSpec> = {}): Promise<{ spec: SandboxSpec; ref: ProviderRef; handle: SandboxHandle }> => {
    const spec = specOf(more);
    const ref = await opened.provider.provision(spec);
    const handle = opened.provider.open(ref, spec);
    made.push(handle);
    return { spec, ref, handle };
  };

  it('runs programs with true exit codes, signals, environment and folder', async () => {
    const { handle, ref } = await create({ env: { FROM_SANDBOX: 'yes' } });
    const home = opened.home?.(ref) ?? '/home/user';
    await handle.waitReady(AbortSignal.timeout(10_000));
    const result = await sh(handle, 'echo $FROM_SANDBOX $FROM_PROGRAM; pwd; echo problem >&2; exit 7', {
      env: { PATH: '/usr/bin:/bin', FROM_PROGRAM: 'too' },
    });
    expect(result).toEqual({ stdout: `yes too\n${home}\n`, stderr: 'problem\n', exitCode: 7, signal: null });
    expect(await sh(handle, 'kill -TERM $$')).toMatchObject({ exitCode: null, signal: 'SIGTERM' });
    expect(await sh(handle, 'nosuchcommand')).toMatchObject({ exitCode: 127 });
  });

  it('feeds stdin and closes it', async () => {
    const { handle } = await create();
    const program = await handle.start(spec('cat; echo done', { stdin: true }));
    await program.write(Buffer.from('hello '));
    await program.write(Buffer.from('world\n'));
    await program.closeStdin();
    expect(await outcome(program.events)).toMatchObject({ stdout: 'hello world\ndone\n', exitCode: 0 });
  });

  it('gives a terminal that can be resized', async () => {
    const { handle } = await create();
    const program = await handle.start(spec('stty size; read line; stty size', { pty: { columns: 100, rows: 30 }, stdin: true }));
    setTimeout(async () => {
      await program.resize(120, 40);
      await program.write(Buffer.from('\n'));
    }, 200);
    const { stdout } = await outcome(program.events);
    expect(stdout).toContain('30 100');
    expect(stdout).toContain('40 120');
  });

  it('keeps a program and its output when nobody listens, and through a restart of the server', async () => {
    const { spec: sandbox, ref, handle } = await create();
    const program = await handle.start(spec('for i in 1 2 3 4 5; do echo line $i; sleep 0.1; done; exit 3'));
    const first = await program.events[Symbol.asyncIterator]().next();
    const seen = (first.value as { number: number }).number;
    program.detach();
    const again = await opened.reopen();
    if (opened.remembers === false) {
      const following = again.provider.open(ref, sandbox);
      expect(await outcome((await following.join(program.id, seen)).events)).toMatchObject({ exitCode: 3 });
      await expect(following.join(99_999, 0)).rejects.toMatchObject({ code: 'not_found' });
      expect(await outcome((await handle.join(program.id, 0)).events)).toMatchObject({
        stdout: 'line 1\nline 2\nline 3\nline 4\nline 5\n',
      });
      await again.close();
      return;
    }
    const reached = again.provider.open(ref, sandbox);
    const joined = await reached.join(program.id, seen);
    const rest = await outcome(joined.events);
    expect(rest.stdout).toBe('line 2\nline 3\nline 4\nline 5\n');
    expect(rest.exitCode).toBe(3);
    const late = await reached.join(program.id, 0);
    expect(await outcome(late.events)).toMatchObject({ stdout: 'line 1\nline 2\nline 3\nline 4\nline 5\n', exitCode: 3 });
    expect((await reached.programs()).find(({ id }) => id === program.id)).toMatchObject({ ended: true, exitCode: 3 });
    await expect(reached.join(99_999, 0)).rejects.toMatchObject({ code: 'not_found' });
    await again.close();
  });

  it('signals one program and ends all', async () => {
    const { handle } = await create();
    const one = await handle.start(spec('sleep 60'));
    const two = await handle.start(spec('sleep 60'));
    await handle.signal(one.id, 15);
    expect(await outcome(one.events)).toMatchObject({ signal: 'SIGTERM' });
    expect(await handle.isActive()).toBe(true);
    await handle.endAll();
    expect(await outcome(two.events)).toMatchObject({ signal: 'SIGKILL' });
    expect(await handle.isActive()).toBe(false);
  });

  it('reads, writes, lists, moves and removes files', async () => {
    const { handle } = await create();
    const { files } = handle;
    const written = await files.write('/home/user/a/b/c.txt', Buffer.from('hello'));
    expect(written).toMatchObject({ path: '/home/user/a/b/c.txt', kind: 'file', size: 5 });
    const read = await files.read('/home/user/a/b/c.txt');
    expect(await text(read.content)).toBe('hello');
    expect(await text((await files.read('/home/user/a/b/c.txt', { offset: 1, limit: 3 })).content)).toBe('ell');
    await files.write('/home/user/a/b/c.txt', Buffer.from(' you'), { append: true });
    expect(await text((await files.read('/home/user/a/b/c.txt')).content)).toBe('hello you');
    await expect(files.write('/home/user/a/b/c.txt', Buffer.from('x'), { mustBeNew: true })).rejects.toMatchObject({
      code: 'already_exists',
    });
    expect((await files.list('/home/user', { depth: 3 })).map(({ path }) => path).sort()).toEqual([
      '/home/user/a',
      '/home/user/a/b',
      '/home/user/a/b/c.txt',
    ]);
    expect(await files.makeDir('/home/user/new/deep')).toMatchObject({ kind: 'directory' });
    await expect(files.makeDir('/home/user/new/deep')).rejects.toMatchObject({ code: 'already_exists' });
    expect(await files.move('/home/user/a/b/c.txt', '/home/user/moved.txt')).toMatchObject({ path: '/home/user/moved.txt' });
    await files.remove('/home/user/a');
    await expect(files.stat('/home/user/a')).rejects.toMatchObject({ code: 'not_found' });
    await sh(handle, 'ln -s /home/user/moved.txt link');
    expect(await files.stat('/home/user/link')).toMatchObject({ kind: 'symlink', target: '/home/user/moved.txt' });
    await expect(files.read('/home/user')).rejects.toMatchObject({ code: 'bad_request' });
    await expect(files.write('/usr/x', Buffer.from('x'))).rejects.toMatchObject({ code: 'bad_request' });
  });

  it('streams large files both ways', async () => {
    const { handle } = await create({ limits: { ...limits, memoryBytes: 256 * 2 ** 20, diskBytes: 2 ** 30 } });
    const size = 300 * 2 ** 20;
    const chunk = Buffer.alloc(2 ** 20, 'x');
    const before = process.memoryUsage.rss();
    await handle.files.write(
      '/home/user/large',
      Readable.from(
        Array.from({ length: 300 }, () => chunk),
        { objectMode: true },
      ),
    );
    let seen = 0;
    for await (const part of (await handle.files.read('/home/user/large')).content as AsyncIterable<Buffer>) seen += part.length;
    expect(seen).toBe(size);
    expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 2 ** 20);
  }, 90_000);

  it('watches a folder', async () => {
    const { handle } = await create();
    const controller = new AbortController();
    await handle.files.makeDir('/home/user/watched');
    const events = await handle.files.watch('/home/user/watched', { recursive: true, signal: controller.signal });
    void sh(handle, 'sleep 0.1; cd watched; echo x > one; mkdir sub; sleep 0.1; echo y > sub/two; rm one');
    const seen: string[] = [];
    setTimeout(() => controller.abort(), 1500);
    for await (const { type, path } of events) seen.push(`${type} ${path}`);
    expect(seen).toEqual(expect.arrayContaining(['create one', 'write one', 'create sub', 'create sub/two', 'remove one']));
  });

  it('reaches a server inside through a tunnel', async () => {
    const { handle } = await create();
    if (!opened.provider.capabilities.has('ports')) {
      await expect(handle.connect(8000)).rejects.toMatchObject({ code: 'capability_missing' });
      return;
    }
    await handle.files.write('/home/user/page.txt', Buffer.from('from inside'));
    await handle.start(spec('exec python3 -m http.server 8000 --bind 127.0.0.1'));
    let answer = '';
    for (let attempt = 0; attempt < 100 && !answer; attempt += 1) {
      const socket = await handle.connect(8000).catch(() => undefined);
      if (!socket) await new Promise((resolve) => setTimeout(resolve, 50));
      else {
        socket.end('GET /page.txt HTTP/1.0\r\n\r\n');
        answer = (await buffer(socket)).toString();
      }
    }
    expect(answer).toContain('from inside');
    await expect(handle.connect(9)).rejects.toMatchObject({ code: expect.any(String) });
  });

  it('pauses to its disk alone and wakes up on use', async () => {
    const { handle } = await create();
    await sh(handle, 'echo kept > file; (sleep 60 &)');
    await handle.pause();
    expect(await handle.isActive()).toBe(false);
    if (opened.provider.capabilities.has('metrics')) expect((await handle.metrics()).memoryBytes).toBe(0);
    expect(await sh(handle, 'cat file')).toMatchObject({ stdout: 'kept\n' });
    await handle.pause();
    await handle.pause();
  });

  it('snapshots and forks the disk, running or not, and the forks are apart', async () => {
    const { handle } = await create();
    if (!opened.provider.capabilities.has('snapshot')) {
      await expect(handle.snapshot('none')).rejects.toMatchObject({ code: 'capability_missing' });
      return;
    }
    await sh(handle, 'echo one > file; mkdir d; echo x > d/x');
    const running = `snap${process.pid}a${serial}`;
    await handle.snapshot(running);
    await sh(handle, 'echo two > file; rm -r d');
    await handle.pause();
    const resting = `snap${process.pid}b${serial}`;
    await handle.snapshot(resting);
    expect(await sh(handle, 'cat file; ls')).toMatchObject({ stdout: 'two\nfile\n' });
    const early = (await create({ snapshot: running })).handle;
    const late = (await create({ snapshot: resting })).handle;
    expect(await sh(early, 'cat file d/x; echo three > file; cat file')).toMatchObject({ stdout: 'one\nx\nthree\n' });
    expect(await sh(late, 'cat file; ls')).toMatchObject({ stdout: 'two\nfile\n' });
    expect(await sh(handle, 'cat file')).toMatchObject({ stdout: 'two\n' });
    await expect(opened.provider.removeSnapshot(resting)).rejects.toMatchObject({ code: 'already_exists' });
  });

  it('tells what it uses', async () => {
    const { handle } = await create();
    if (!opened.provider.capabilities.has('metrics')) {
      await expect(handle.metrics()).rejects.toMatchObject({ code: 'capability_missing' });
      return;
    }
    const program = await handle.start(spec('head -c 20000000 /dev/zero > big; exec sleep 60'));
    await new Promise((resolve) => setTimeout(resolve, 500));
    const metrics = await handle.metrics();
    expect(metrics.diskBytes).toBeGreaterThan(19_000_000);
    expect(metrics.processes).toBeGreaterThan(0);
    expect(metrics.memoryBytes).toBeGreaterThan(0);
    program.detach();
  });

  it('is torn down as often as one likes, and lists what there is', async () => {
    const { handle, spec: sandbox } = await create();
    await sh(handle, 'sleep 60 & disown; echo');
    expect((await opened.provider.list()).map((entry) => entry.sandbox)).toContain(sandbox.id);
    await handle.teardown();
    await handle.teardown();
    expect((await opened.provider.list()).map((entry) => entry.sandbox)).not.toContain(sandbox.id);
  });

  let programs = 100;
  function spec(script: string, more: Partial<ProgramSpec> = {}): ProgramSpec {
    programs += 1;
    return { id: programs, argv: ['/bin/bash', '-c', script], env: { PATH: '/usr/bin:/bin' }, cwd: '/home/user', stdin: false, ...more };
  }

  async function sh(handle: SandboxHandle, script: string, more: Partial<ProgramSpec> = {}) {
    return outcome((await handle.start(spec(script, more))).events);
  }
}

async function outcome(events: AsyncIterable<ProgramEvent>) {
  let stdout = '';
  let stderr = '';
  for await (const event of events) {
    if (event.type === 'stdout' || event.type === 'pty') stdout += event.bytes;
    else if (event.type === 'stderr') stderr += event.bytes;
    else if (event.type === 'end') return { stdout, stderr, exitCode: event.exitCode, signal: event.signal };
  }
  throw new Error('the stream ended without an end');
}

async function openBubblewrapIn(folder: string): Promise<Opened> {
  const provider = await openBubblewrap({
    ...{
      runFolder: join(folder, 'run'),
      diskFolder: join(folder, 'disks'),
      owner: `contract-${process.pid}`,
      standby: 0,
      warmMemory: 0,
      warmCopies: 'never',
      warmIdleMs: 0,
    },
    ...{ interpreters: {}, acceptMissing: [], paths: [], onWarning: () => undefined },
  });
  return { provider: provider.living, reopen: () => openBubblewrapIn(folder), close: () => provider.close() };
}

async function openDockerIn(folder: string): Promise<Opened> {
  const { socket, image, stop } = await startDocker();
  const instance = (): Opened => {
    const provider = createDocker({
      ...{ socket, allowlist: [image], owner: `contract-${process.pid}` },
      ...{ guestProgram: nativeProgram('guest'), runFolder: join(folder, 'docker') },
    });
    return { provider, options: { image }, reopen: async () => instance(), close: () => provider.close() };
  };
  return { ...instance(), close: stop };
}

async function openSshIn(): Promise<Opened> {
  const { host, stop } = await startSshd();
  const instance = (): Opened => {
    const provider = createSsh({ hosts: [host], owner: `contract-${process.pid}`, guestProgram: nativeProgram('guest') });
    const home = ({ folder }: ProviderRef): string => `${folder}/home`;
    return { provider, network: 'full', home, reopen: async () => instance(), close: () => provider.close() };
  };
  const first = instance();
  return {
    ...first,
    async close() {
      await first.close();
      await stop();
    },
  };
}

async function openComposeIn(): Promise<Opened> {
  const { ssh, root, project, stop } = await startComposeHost();
  const service = { image: 'skillbox-test:latest', user: '65534:65534', init: true, command: 'sleep infinity', stop_grace_period: '1s' };
  const repo = project('contract', { 'compose.yaml': JSON.stringify({ services: { main: service } }) });
  const instance = (): Opened => {
    const owner = `contract-${process.pid}`;
    const provider = createComposeSsh({ hosts: [ssh.host], roots: [root], owner, guestProgram: nativeProgram('guest') });
    const home = (): string => '/.skillbox/home/user';
    return { provider, network: 'full', options: { repo }, home, reopen: async () => instance(), close: () => provider.close() };
  };
  const first = instance();
  return {
    ...first,
    async close() {
      await first.close();
      await stop();
    },
  };
}

/** The other side is a second box. */
async function openE2bIn(): Promise<Opened> {
  const box = await startTestBox();
  const instance = (): Opened => {
    const address = { apiUrl: `${box.url}/e2b`, sandboxUrl: `${box.url}/e2b`, domain: 'e2b.app', key: box.key };
    const provider = createE2b({ ...address, owner: `contract-${process.pid}` });
    return { provider, remembers: false, reopen: async () => instance(), close: () => provider.close() };
  };
  return { ...instance(), close: () => box.stop() };
}
