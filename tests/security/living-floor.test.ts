/** The floor of a living sandbox: whatever is started later, through exec or a terminal, or done through files, has every restriction. */

import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';

let box: TestBox;
let one: string;
let other: string;

beforeAll(async () => {
  process.env.SKILLBOX_TEST_SECRET = 'not-for-sandboxes';
  box = await startTestBox();
  const create = async () => (await box.json<{ id: string }>('/v1/sandboxes', { body: { template: 'base', ttl: '10m' } })).body.id;
  one = await create();
  other = await create();
});
afterAll(async () => {
  for (const id of [one, other]) await box.request(`/v1/sandboxes/${id}`, { method: 'DELETE' });
  await box.stop();
});

interface Result {
  readonly stdout: string;
  readonly stderr: string;
  readonly exit_code: number | null;
}

const exec = async (cmd: string, more: Record<string, unknown> = {}, id = one): Promise<Result> =>
  (await box.json<Result>(`/v1/sandboxes/${id}/programs`, { body: { cmd, timeout: '20s', ...more } })).body;

const ways: [string, Record<string, unknown>][] = [
  ['exec', {}],
  ['a terminal', { pty: { cols: 200, rows: 50 } }],
];

describe.each(ways)('through %s', (_way, more) => {
  const look = async (cmd: string) => {
    const { stdout, stderr } = await exec(cmd, more);
    return stdout + stderr;
  };

  it('has no capability, no new privileges and the filter', async () => {
    const status = await look('grep -E "^(Uid|Gid|Groups|Cap...|NoNewPrivs|Seccomp):" /proc/self/status /proc/1/status 2>/dev/null | cat');
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
      expect(status).toMatch(new RegExp(`self/status:${set}:\\s+0{16}`));
    expect(status).toMatch(/self\/status:NoNewPrivs:\s+1/);
    expect(status).toMatch(/self\/status:Seccomp:\s+2/);
    expect(status).toMatch(/1\/status:Seccomp:\s+2/);
    expect(status).toMatch(/self\/status:Uid:\s+65534\s+65534\s+65534/);
  });

  it('makes no namespace, mounts nothing, traces nobody and changes no setting of the kernel', async () => {
    const tried = await look(
      'unshare -U true && echo MADE; unshare -m true && echo MADE; mount -t tmpfs x /tmp && echo MOUNTED; (echo x > /proc/sys/kernel/core_pattern) && echo SET; cat /proc/1/environ && echo READ; ls /proc/1/fd && echo READ; true',
    );
    expect(tried).not.toMatch(/MADE|MOUNTED|SET|READ/);
  });

  it('sees no file of the host, no secret of the server, no other process', async () => {
    const seen = await look(
      'cat /etc/shadow; ls /root /home /var /sys /run; env; cat /proc/*/environ | tr "\\0" "\\n"; echo COUNT=$(ls -d /proc/[0-9]* | wc -l)',
    );
    expect(seen).not.toContain('not-for-sandboxes');
    expect(seen).not.toContain('root:');
    expect(seen).not.toMatch(/sk-[0-9a-f]{48}/);
    expect(Number(/COUNT=(\d+)/.exec(seen)?.[1])).toBeLessThan(20);
  });

  it('writes only its home, /tmp and /dev/shm', async () => {
    const written = await look(
      'for d in / /usr /usr/bin /etc /home /dev /proc /.skillbox /opt /var; do touch $d/x 2>/dev/null && echo WROTE $d; done; true',
    );
    expect(written).not.toContain('WROTE');
    expect(await look('touch ~/x /tmp/x /dev/shm/x && echo FINE')).toContain('FINE');
  });
});

it('reaches no server of the host and resolves no name', async () => {
  const server = createServer((_request, response) => response.end('the host'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const { stdout } = await exec(`(exec 3<>/dev/tcp/127.0.0.1/${port}) && echo REACHED; getent hosts example.org && echo RESOLVED; true`);
  server.close();
  expect(stdout).not.toMatch(/REACHED|RESOLVED/);
});

it('is, seen from the host, a uid of its own that owns nothing else, and shares no namespace with a neighbour', async () => {
  await Promise.all([exec('sleep 20', { wait: false }), exec('sleep 20', { wait: false }, other)]);
  const processes = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const uid = Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return [{ pid, uid, command }];
      } catch {
        // It ended while we looked.
        return [];
      }
    });
  const disks = [one, other].map(
    (id) => JSON.parse(readFileSync(join(box.stateRoot, 'sandboxes/living', id, 'disk.json'), 'utf8')) as { uid: number },
  );
  const uids = disks.map(({ uid }) => uid);
  expect(new Set(uids).size).toBe(2);
  for (const uid of uids) {
    expect(uid).toBeGreaterThan(1_000_000_000);
    expect(processes.filter((entry) => entry.uid === uid && entry.command.includes('sleep 20')).length).toBeGreaterThan(0);
  }
  expect(processes.filter(({ uid, command }) => uid === 0 && command.startsWith('sleep 20'))).toEqual([]);
  const namespaces = async (id: string) =>
    (await exec('readlink /proc/self/ns/{user,mnt,pid,net,ipc,uts,cgroup}', {}, id)).stdout.trim().split('\n');
  const [mine, neighbours] = await Promise.all([namespaces(one), namespaces(other)]);
  expect(mine.filter((link) => neighbours.includes(link))).toEqual([]);
});

it('is held to its processes and its memory', async () => {
  const forks =
    'import os, signal\nmade = []\ntry:\n  while len(made) < 2000:\n    child = os.fork()\n    if child == 0: signal.pause()\n    made.append(child)\nexcept OSError: pass\nprint(len(made))\nfor child in made: os.kill(child, 9)\n';
  const { stdout } = await exec(`python3 -c '${forks}'`);
  // 512 by the template, less the shell and the interpreter.
  expect(Number(stdout)).toBeGreaterThan(100);
  expect(Number(stdout)).toBeLessThanOrEqual(512);
  const { body: small } = await box.json('/v1/templates/small', { method: 'PUT', body: { resources: { memory: '64Mi', tmp: '16Mi' } } });
  expect(small).toMatchObject({ name: 'small' });
  const { body: sandbox } = await box.json<{ id: string }>('/v1/sandboxes', { body: { template: 'small', ttl: '5m' } });
  const { exit_code: code } = await exec('python3 -c "x = bytearray(300_000_000)"', {}, sandbox.id);
  expect(code).not.toBe(0);
  await box.request(`/v1/sandboxes/${sandbox.id}`, { method: 'DELETE' });
});

describe('through files', () => {
  const files = (query: string, options = {}) => box.request(`/v1/sandboxes/${one}/files${query}`, options);

  it('a link leads where it leads inside, never to the host', async () => {
    await exec(`ln -sf ${join(box.stateRoot, 'admin.key')} key; ln -sf /etc/passwd passwd; ln -sf / root`);
    expect((await files('?path=key')).status).toBe(404);
    expect(await (await files('?path=passwd')).text()).toContain('65534');
    expect((await files(`?path=root${join(box.stateRoot, 'admin.key')}`)).status).toBe(404);
    expect((await files('?path=root/etc/planted', { method: 'PUT', body: 'x' })).status).toBeGreaterThanOrEqual(400);
    expect((await files('?path=../../../../etc/planted', { method: 'PUT', body: 'x' })).status).toBeGreaterThanOrEqual(400);
  });

  it('a fifo or a device does not make the host wait', async () => {
    await exec('mkfifo pipe');
    const started = Date.now();
    expect((await files('?path=pipe')).status).toBe(400);
    expect((await files('?path=/dev/zero')).status).toBe(400);
    expect(Date.now() - started).toBeLessThan(5000);
  });
});
