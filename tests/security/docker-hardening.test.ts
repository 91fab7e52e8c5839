/** What holds a sandbox by docker back: as the engine tells it of a live one, and as the inside finds it. */

import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Dockerode from 'dockerode';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { LivingProvider, SandboxHandle, SandboxSpec } from '../../packages/box/src/sandbox/living.ts';
import { nativeProgram } from '../../packages/box/src/sandbox/providers/bubblewrap/files.ts';
import type { EngineAddress } from '../../packages/box/src/sandbox/providers/docker/engine.ts';
import { createDocker, type DockerOptions } from '../../packages/box/src/sandbox/providers/docker/provider.ts';
import { seccompProfile } from '../../packages/box/src/sandbox/providers/docker/seccomp-profile.ts';
import { type Architecture, syscalls } from '../../packages/box/src/sandbox/providers/guest/syscalls.ts';
import { dockerIsInstalled, startDocker, type TestDocker, whatIsSet } from '../support/docker.ts';

const limits = { memoryBytes: 128 * 2 ** 20, cpu: 1, processes: 32, openFiles: 512, diskBytes: 2 ** 28, tmpBytes: 2 ** 24 };
const owner = `hardening-${process.pid}`;

describe.skipIf(!dockerIsInstalled())('a sandbox by docker', () => {
  let engine: TestDocker;
  let folder: string;
  let provider: LivingProvider;
  let serial = 0;
  const made: SandboxHandle[] = [];

  const open = (more: Partial<DockerOptions> = {}, address: EngineAddress = { socket: engine.socket }): LivingProvider =>
    createDocker({
      ...{ allowlist: [engine.image], owner, guestProgram: nativeProgram('guest'), runFolder: join(folder, 'run') },
      ...more,
      ...address,
    });
  const specOf = (more: Partial<SandboxSpec> = {}): SandboxSpec => {
    serial += 1;
    return { id: `s${serial}`, tenant: 'acme', limits, network: 'none', env: {}, options: { image: engine.image }, ...more };
  };
  const create = async (from = provider): Promise<{ spec: SandboxSpec; handle: SandboxHandle; name: string }> => {
    const spec = specOf();
    const handle = from.open(await from.provision(spec), spec);
    made.push(handle);
    return { spec, handle, name: `skillbox.${owner}.${spec.id}` };
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sbh-'));
    engine = await startDocker();
    provider = open();
  });
  afterEach(async () => {
    for (const handle of made.splice(0)) await handle.teardown();
  });
  afterAll(async () => {
    await engine?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('is to the engine exactly this', async () => {
    const { handle, name, spec } = await create();
    await handle.waitReady(AbortSignal.timeout(20_000));
    const { Config, HostConfig, NetworkSettings } = await engine.docker.getContainer(name).inspect();
    const [privileges, seccomp, ...more] = HostConfig.SecurityOpt ?? [];
    expect(privileges).toBe('no-new-privileges');
    expect(JSON.parse(seccomp?.replace(/^seccomp=/, '') ?? '')).toEqual(seccompProfile(process.arch as Architecture));
    expect(more).toEqual([]);
    // Whatever is set and not named here fails: privileges, capabilities, devices, mounts, namespaces of others.
    expect(whatIsSet({ ...HostConfig, SecurityOpt: undefined })).toEqual({
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      NetworkMode: 'none',
      IpcMode: 'private',
      CgroupnsMode: 'private',
      Runtime: 'runc',
      Memory: limits.memoryBytes,
      MemorySwap: limits.memoryBytes,
      NanoCpus: 1e9,
      PidsLimit: 33,
      ShmSize: 64 * 2 ** 20,
      Ulimits: [
        { Name: 'nofile', Soft: 512, Hard: 512 },
        { Name: 'core', Soft: 0, Hard: 0 },
      ],
      Tmpfs: {
        '/tmp': `rw,noexec,nosuid,nodev,size=${limits.tmpBytes},mode=1777`,
        '/root': `rw,noexec,nosuid,nodev,size=${16 * 2 ** 20},mode=0700,uid=65534,gid=65534`,
      },
      Mounts: [
        { Type: 'bind', Source: nativeProgram('guest'), Target: '/.skillbox/guest', ReadOnly: true },
        { Type: 'bind', Source: join(folder, 'run', spec.id), Target: '/.skillbox/run' },
        { Type: 'volume', Source: `skillbox.${owner}.home.${spec.id}`, Target: '/home', VolumeOptions: { NoCopy: true } },
      ],
      LogConfig: { Type: 'none', Config: {} },
      RestartPolicy: { Name: 'no', MaximumRetryCount: 0 },
      MaskedPaths: expect.arrayContaining(['/proc/kcore', '/proc/keys', '/proc/timer_list', '/sys/firmware']),
      ReadonlyPaths: expect.arrayContaining(['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger']),
    });
    expect(whatIsSet(Config)).toEqual({
      Hostname: 'sandbox',
      User: '65534:65534',
      Image: `docker.io/library/${engine.image}`,
      WorkingDir: '/',
      Entrypoint: ['/.skillbox/guest', '--listen', '/.skillbox/run/guest'],
      Healthcheck: { Test: ['NONE'] },
      Labels: {
        'managed-by': 'skillbox',
        'skillbox.kind': 'sandbox',
        'skillbox.owner': owner,
        'skillbox.sandbox': spec.id,
        'skillbox.tenant': 'acme',
      },
    });
    expect(Object.keys(NetworkSettings.Networks)).toEqual(['none']);
  });

  it('has no privilege, and what is started later has none either', async () => {
    const { handle } = await create();
    const status = await run(handle, 'cat /proc/self/status; cat /proc/1/status | grep -E "^(Uid|Seccomp|CapEff)"');
    for (const line of ['NoNewPrivs:\t1', 'Seccomp:\t2', 'Uid:\t65534\t65534\t65534\t65534', 'Gid:\t65534\t65534\t65534\t65534'])
      expect(status).toContain(line);
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) expect(status).toContain(`${set}:\t0000000000000000`);
  });

  it('cannot write its root, run what it wrote to /tmp, or use what the filter refuses', async () => {
    const { handle } = await create();
    const probes = {
      root: 'touch /x',
      usr: 'touch /usr/bin/x',
      etc: 'echo x >> /etc/hosts',
      guest: 'echo x > /.skillbox/guest',
      sys: 'echo 1 > /proc/sys/kernel/panic',
      'exec in /tmp': 'cp /usr/bin/true /tmp/t && /tmp/t',
      'exec in /root': 'cp /usr/bin/true /root/t && /root/t',
      mount: python('libc.mount(b"none", b"/tmp", b"tmpfs", 0, None)'),
      unshare: python('libc.unshare(0x10000000)'),
      ptrace: python('libc.ptrace(16, 1, 0, 0)'),
      'typing for others': python('libc.ioctl(0, 0x5412, b"x")'),
      'typing for others, by the upper half': python(
        `libc.syscall(${numberOf('ioctl')}, ctypes.c_long(0), ctypes.c_ulong(0x100005412), b"x")`,
      ),
      vsock: python('libc.socket(40, 1, 0)'),
      keyctl: python(`libc.syscall(${numberOf('keyctl')}, 0, 0, 0)`),
    };
    const open = [];
    for (const [name, probe] of Object.entries(probes))
      if ((await run(handle, `(${probe}) >/dev/null 2>&1 && echo open`)) !== '') open.push(name);
    expect(open).toEqual([]);
    expect(await run(handle, 'cp /usr/bin/true here && ./here && echo works')).toBe('works\n');
  });

  it('cannot come near the socket through which the host speaks to its guest', async () => {
    const { handle, spec } = await create();
    const attempts = [
      'ls /.skillbox/run',
      'ln -sf /etc/passwd /.skillbox/run/guest',
      'rm -f /.skillbox/run/guest',
      'mv /.skillbox/run /tmp/x',
    ];
    for (const attempt of attempts) expect(await run(handle, `${attempt} 2>/dev/null && echo open`)).toBe('');
    expect(statSync(join(folder, 'run', spec.id)).mode & 0o777).toBe(0o700);
    // The same after it has been stopped and started.
    await handle.pause();
    for (const attempt of attempts) expect(await run(handle, `${attempt} 2>/dev/null && echo open`)).toBe('');
  });

  it('has no network but its own loopback, and sees nothing of the host', async () => {
    const { handle } = await create();
    const interfaces = await run(handle, 'cat /proc/net/dev');
    expect([...interfaces.matchAll(/^\s*(\S+):/gm)].map(([, name]) => name)).toEqual(['lo']);
    expect(await run(handle, 'echo > /dev/tcp/1.1.1.1/53 2>/dev/null && echo open')).toBe('');
    expect(await run(handle, `ls -d ${engine.socket} /var/run/docker.sock /work 2>/dev/null`)).toBe('');
    expect(await run(handle, 'ls /dev')).not.toMatch(/vda|kvm|mem\b|fuse/);
  });

  it('is held to its processes and its memory', async () => {
    const { handle } = await create();
    const bomb = await run(handle, 'for i in $(seq 60); do sleep 5 & done 2>&1; true');
    expect(bomb).toContain('Resource temporarily unavailable');
    await handle.endAll();
    const program = await handle.start(programOf('python3 -c "x = bytearray(400 << 20)"'));
    let last: unknown;
    for await (const event of program.events) last = event;
    expect(last).toMatchObject({ type: 'end', signal: 'SIGKILL' });
    expect(await run(handle, 'echo lives')).toBe('lives\n');
  });

  it('is made only of images on the list', async () => {
    const refused = { code: 'image_unsupported' };
    await expect(open({ allowlist: [] }).provision(specOf())).rejects.toMatchObject(refused);
    await expect(provider.provision(specOf({ options: { image: 'other' } }))).rejects.toMatchObject(refused);
    await expect(provider.provision(specOf({ options: {} }))).rejects.toMatchObject(refused);
    await expect(open({ allowlist: ['absent'] }).provision(specOf({ options: { image: 'absent' } }))).rejects.toMatchObject(refused);
    expect(await provider.list()).toEqual([]);
  });

  it('refuses what it cannot do, and leaves nothing of what failed', async () => {
    await expect(provider.provision(specOf({ network: 'full' }))).rejects.toMatchObject({ code: 'bad_request' });
    await expect(provider.provision(specOf({ snapshot: 'none' }))).rejects.toMatchObject({ code: 'not_found' });
    await expect(provider.provision(specOf({ id: '../x' }))).rejects.toMatchObject({ code: 'bad_request' });
    await expect(open({ runtime: 'nosuch' }).provision(specOf())).rejects.toMatchObject({ code: 'bad_request' });
    expect(await provider.list()).toEqual([]);
    expect((await engine.docker.listVolumes()).Volumes ?? []).toEqual([]);
  });

  it('is found by its labels when nobody knows it any more, by its own box only', async () => {
    const { handle, name, spec } = await create();
    await handle.waitReady(AbortSignal.timeout(20_000));
    const { spec: other, name: otherName } = await create();
    const restarted = open();
    const found = async () => (await restarted.list()).map(({ sandbox }) => sandbox).sort();
    expect(await found()).toEqual([spec.id, other.id].sort());
    expect(await open({ owner: 'somebody-else' }).list()).toEqual([]);
    // Of this one only the disk is left.
    await engine.docker.getContainer(otherName).remove({ force: true });
    expect(await found()).toEqual([spec.id, other.id].sort());
    for (const { sandbox, ref } of await restarted.list()) await restarted.open(ref, { ...specOf(), id: sandbox }).teardown();
    expect(await found()).toEqual([]);
    expect((await engine.docker.listVolumes()).Volumes ?? []).toEqual([]);
    await expect(engine.docker.getContainer(name).inspect()).rejects.toMatchObject({ statusCode: 404 });
  });

  it('goes on after a server that died while it held it still for a snapshot', async () => {
    const { handle, name, spec } = await create();
    await run(handle, 'echo kept > file');
    await engine.docker.getContainer(name).pause();
    const again = open().open({}, spec);
    expect(await run(again, 'cat file')).toBe('kept\n');
  });

  it('lives its whole life through a proxy that lets through what the docs list', async () => {
    const proxy = await startProxy(engine.socket);
    const through = open({}, { host: `tcp://127.0.0.1:${proxy.port}` });
    expect(await through.health()).toMatchObject({ healthy: true });
    const { handle, spec } = await create(through);
    expect(await run(handle, 'echo one > file; cat file')).toBe('one\n');
    expect((await handle.metrics()).memoryBytes).toBeGreaterThan(0);
    await handle.snapshot('proxied');
    await handle.pause();
    const fork = specOf({ snapshot: 'proxied' });
    const forked = through.open(await through.provision(fork), fork);
    expect(await run(forked, 'cat file')).toBe('one\n');
    expect((await through.list()).map(({ sandbox }) => sandbox).sort()).toEqual([spec.id, fork.id].sort());
    await forked.teardown();
    await handle.teardown();
    await through.removeSnapshot('proxied');
    expect(proxy.refused).toEqual([]);
    expect([...proxy.unused]).toEqual([]);
    await expect(new Dockerode({ host: '127.0.0.1', port: proxy.port }).listNetworks()).rejects.toMatchObject({ statusCode: 403 });
    made.length = 0;
    proxy.close();
  });

  it('is not made by an engine on another machine', () => {
    expect(() => open({}, { host: 'tcp://engine.example:2375' })).toThrow(expect.objectContaining({ code: 'config_invalid' }));
  });

  it('says so when the engine is away or lacks a runtime', async () => {
    const away = open({}, { socket: join(folder, 'nobody.sock') });
    expect(await away.health()).toMatchObject({ healthy: false, detail: expect.stringContaining('nobody.sock') });
    await expect(away.provision(specOf())).rejects.toMatchObject({ code: 'unavailable' });
    await expect(away.list()).rejects.toMatchObject({ code: 'unavailable' });
    expect(await open({ runtime: 'runsc' }).health()).toEqual({ healthy: false, detail: 'the engine has no runtime runsc' });
    expect(open({ runtime: 'runsc' }).tier).toBe('gvisor');
  });
});

const numberOf = (name: string): number | undefined => syscalls[process.arch as Architecture].get(name);

let programs = 0;
function programOf(script: string) {
  programs += 1;
  return { id: programs, argv: ['/bin/bash', '-c', script], env: { PATH: '/usr/bin:/bin' }, cwd: '/home/user', stdin: false };
}

async function run(handle: SandboxHandle, script: string): Promise<string> {
  let output = '';
  for await (const event of (await handle.start(programOf(script))).events) if (event.type === 'stdout') output += event.bytes;
  return output;
}

/** Succeeds only where the kernel did not refuse by the filter or by privilege. */
function python(call: string): string {
  return `python3 -c '
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
done = ${call}
raise SystemExit(1 if done < 0 and ctypes.get_errno() in (1, 13, 38) else 0)
'`;
}

async function startProxy(socketPath: string) {
  const [, list = ''] = /```\n(GET [^`]+)```/.exec(readFileSync(new URL('../../docs/providers/docker.md', import.meta.url), 'utf8')) ?? [];
  const rules = list.trim().split('\n');
  const unused = new Set(rules);
  const refused: string[] = [];
  const matches = (rule: string, asked: string): boolean => new RegExp(`^${rule.replaceAll('*', '[^?]+')}$`).test(asked);
  const server = createServer((request, response) => {
    const { method, url = '', headers } = request;
    // The most particular rule: /containers/json is not one container.
    const rule = rules
      .filter((one) => matches(one, `${method} ${url.replace(/\?.*/, '')}`))
      .sort((one, other) => other.length - one.length)[0];
    if (!rule) {
      refused.push(`${method} ${url}`);
      response.writeHead(403).end();
      return;
    }
    unused.delete(rule);
    const upstream = forward({ socketPath, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    upstream.on('error', () => response.destroy());
    request.pipe(upstream);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, refused, unused, close: () => void server.close() };
}
