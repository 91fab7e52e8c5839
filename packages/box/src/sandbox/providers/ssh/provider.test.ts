import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sshdIsInstalled, startSshd, type TestSshd } from '../../../../../../tests/support/sshd.ts';
import type { LivingProvider, SandboxSpec } from '../../living.ts';
import { nativeProgram } from '../bubblewrap/files.ts';
import { createConnection } from '../machines/connection.ts';
import { loadSshHosts, type SshHost } from '../machines/hosts.ts';
import { createSsh } from './provider.ts';

const spec: SandboxSpec = {
  ...{ id: 'test1', tenant: 'default', network: 'full', env: {}, options: {} },
  limits: { memoryBytes: 2 ** 29, cpu: 1, processes: 64, openFiles: 1024, diskBytes: 2 ** 28, tmpBytes: 2 ** 20 },
};

describe.skipIf(!sshdIsInstalled())('a machine over SSH', () => {
  let machine: TestSshd;
  const opened: LivingProvider[] = [];
  beforeAll(async () => {
    machine = await startSshd();
  });
  afterAll(async () => {
    for (const provider of opened) await provider.close();
    await machine.stop();
  });
  const open = (owner: string, more: Partial<SshHost> = {}): LivingProvider => {
    const provider = createSsh({ hosts: [{ ...machine.host, ...more }], owner, guestProgram: nativeProgram('guest') });
    opened.push(provider);
    return provider;
  };

  it('is refused when it shows another key than the pinned one', async () => {
    const provider = open('box-a', { fingerprint: `SHA256:${'A'.repeat(43)}` });
    expect(await provider.health()).toMatchObject({ healthy: false, detail: expect.stringContaining(machine.host.fingerprint) });
    await expect(provider.provision(spec)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('keeps boxes apart, and a teardown removes the folder of its sandbox alone', async () => {
    const [a, b] = [open('box-a'), open('box-b')];
    const inA = a.open(await a.provision(spec), spec);
    const inB = b.open(await b.provision(spec), spec);
    await inB.files.write('/home/user/kept', Buffer.from('x'));
    await expect(a.provision(spec)).rejects.toMatchObject({ code: 'already_exists' });
    await inA.teardown();
    expect(await a.list()).toEqual([]);
    expect((await b.list()).map(({ sandbox }) => sandbox)).toEqual(['test1']);
    expect(await inB.files.stat('/home/user/kept')).toMatchObject({ size: 1 });
    await inB.teardown();
  });

  it('never takes the folder of a record for a path to remove', async () => {
    const provider = open('box-a');
    const handle = provider.open({ host: 'machine', folder: '/home/builder' }, { ...spec, id: 'test2' });
    await expect(handle.teardown()).rejects.toMatchObject({ code: 'sandbox_failed' });
  });

  it('ends what left its session, and nothing else of the user', async () => {
    const provider = open('box-a');
    const connection = createConnection(machine.host);
    await connection.run('setsid sleep 300 >/dev/null 2>&1 </dev/null & echo $! > "$HOME/bystander"');
    const handle = provider.open(await provider.provision(spec), spec);
    const script = 'setsid sleep 301 >/dev/null 2>&1 & exit 0';
    const program = await handle.start({
      id: 1,
      argv: ['/bin/bash', '-c', script],
      env: { PATH: '/usr/bin:/bin' },
      cwd: '/home/user',
      stdin: false,
    });
    for await (const event of program.events) if (event.type === 'end') expect(event.exitCode).toBe(0);
    await expect(handle.signal(0, 9)).rejects.toMatchObject({ code: 'bad_request' });
    await handle.endAll();
    await handle.teardown();
    expect(await connection.run('cat /proc/[0-9]*/cmdline | tr "\\000" " "')).not.toContain('sleep 301');
    await connection.run('kill "$(cat "$HOME/bystander")"');
    connection.close();
  });
});

describe('the file of hosts', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sb-hosts-'));
  const path = join(folder, 'hosts.yaml');
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('is read with paths from where it is', () => {
    const fingerprint = `SHA256:${'b'.repeat(43)}`;
    writeFileSync(path, `build-1: {address: 10.0.0.5, user: builder, key_file: id, fingerprint: '${fingerprint}'}\n`);
    expect(loadSshHosts(path)).toEqual([
      {
        name: 'build-1',
        address: '10.0.0.5',
        port: 22,
        user: 'builder',
        keyFile: join(folder, 'id'),
        fingerprint,
        dockerSocket: '/var/run/docker.sock',
      },
    ]);
  });

  it('is refused without a fingerprint', () => {
    writeFileSync(path, 'build-1: {address: 10.0.0.5, user: builder, key_file: id}\n');
    expect(() => loadSshHosts(path)).toThrow('fingerprint');
  });
});
