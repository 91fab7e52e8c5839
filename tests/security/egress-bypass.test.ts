/** The proxy is the only way out of a sandbox with network allow: everything that does not go through its channel goes nowhere. */

import { createSocket } from 'node:dgram';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Sandbox } from '@skillbox/protocol';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type EgressBox, startEgressBox, startTarget, type Target } from '../support/egress.ts';
import { callNumber } from './inside.ts';

let egress: EgressBox;
let four: Target;
let six: Target;
let one: Sandbox;
let other: Sandbox;

beforeAll(async () => {
  four = await startTarget();
  six = await startTarget(undefined, '::1');
  egress = await startEgressBox('ok.test');
  egress.dns.set('ok.test', ['127.0.0.1']);
  one = await egress.sandbox([`ok.test:${four.port}`]);
  other = await egress.sandbox(['else.test']);
});
afterAll(async () => {
  await egress.stop();
  await four.stop();
  await six.stop();
});

it('has a loopback of its own and no route to anywhere', async () => {
  const outside = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(({ internal }) => !internal)
    .map(({ address, family }) => [family === 'IPv4' ? 4 : 6, address]);
  const targets = [[4, '192.0.2.1'], [4, '198.51.100.1'], [4, '169.254.169.254'], [4, '10.0.0.1'], [6, '2001:db8::1'], ...outside];
  // Connecting a datagram socket only asks for the route: no packet would leave even if there were one.
  const seen = await egress.python<{ interfaces: string[]; udp: string[]; tcp: string[] }>(
    one.id,
    `
targets = [(socket.AF_INET if kind == 4 else socket.AF_INET6, address) for kind, address in ${JSON.stringify(targets)}]
answer({"interfaces": [name for _, name in socket.if_nameindex()],
        "udp": [attempt(socket.socket(family, socket.SOCK_DGRAM).connect, (address, 53)) for family, address in targets],
        "tcp": [attempt(socket.socket(family).connect, (address, 443)) for family, address in targets]})`,
  );
  expect(seen.interfaces).toEqual(['lo']);
  for (const way of ['udp', 'tcp'] as const) for (const result of seen[way]) expect(result).toMatch(/ENETUNREACH|EINVAL/);
});

it('reaches no server on the loopback of the host, by TCP or UDP', async () => {
  const got: string[] = [];
  const udp = createSocket('udp4').on('message', (text) => got.push(text.toString()));
  await new Promise<void>((resolve) => udp.bind(0, '127.0.0.1', resolve));
  const before = [four.reached, six.reached];
  const tried = await egress.python(
    one.id,
    `
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"out", ("127.0.0.1", ${udp.address().port}))
answer([attempt(socket.socket().connect, ("127.0.0.1", ${four.port})), attempt(socket.socket(socket.AF_INET6).connect, ("::1", ${six.port})),
        attempt(socket.socket().connect, ("127.0.0.1", ${new URL(egress.box.url).port}))])`,
  );
  expect(tried).toEqual(['ECONNREFUSED', 'ECONNREFUSED', 'ECONNREFUSED']);
  await new Promise((resolve) => setTimeout(resolve, 100));
  udp.close();
  expect(got).toEqual([]);
  expect([four.reached, six.reached]).toEqual(before);
});

it('asks no name server, not even that of the box', async () => {
  const before = egress.dns.asked.length;
  const [host = '', port = ''] = egress.dns.address.split(':');
  const tried = await egress.python<unknown[]>(
    one.id,
    `
import subprocess
query = b"\\x12\\x34\\x01\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x02ok\\x04test\\x00\\x00\\x01\\x00\\x01"
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(0.5); s.sendto(query, (${JSON.stringify(host)}, ${port}))
answer([subprocess.run(["getent", "hosts", "ok.test"]).returncode != 0, attempt(s.recv, 512), attempt(socket.gethostbyname, "ok.test") != "ok"])`,
  );
  expect(tried[0]).toBe(true);
  expect(tried[1]).not.toBe('ok');
  expect(tried[2]).toBe(true);
  expect(egress.dns.asked.length).toBe(before);
});

it('opens no raw socket, and none of a family that a network namespace does not bound', async () => {
  const tried = await egress.python(
    one.id,
    `
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def family(number): return "ok" if libc.syscall(${callNumber('socket')}, number, 1, 0) >= 0 else errno.errorcode[ctypes.get_errno()]
answer([attempt(socket.socket, f, socket.SOCK_RAW, 1) for f in (socket.AF_INET, socket.AF_INET6)] + [family(n) for n in (17, 40, 38, 44)])`,
  );
  expect(tried).toEqual(Array(6).fill('EPERM'));
});

it('reaches no unix or abstract socket of the host', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skillbox-egress-'));
  let reached = 0;
  const listen = (path: string): Promise<Server> =>
    new Promise((resolve) => {
      const server = createServer((socket) => {
        reached += 1;
        socket.destroy();
      }).listen(path, () => resolve(server));
    });
  const servers = await Promise.all([listen(join(folder, 'host.sock')), listen(`\0skillbox-egress-${process.pid}`)]);
  const tried = await egress.python(
    one.id,
    `
def dial(path): return attempt(socket.socket(socket.AF_UNIX).connect, path)
answer([dial(${JSON.stringify(join(folder, 'host.sock'))}), dial("\\0skillbox-egress-${process.pid}"), dial(b"\\0skillbox-egress-${process.pid}".ljust(108, b"\\0"))])`,
  );
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true });
  expect(tried).toEqual(['ENOENT', 'ECONNREFUSED', 'ECONNREFUSED']);
  expect(reached).toBe(0);
});

it('comes through its own channel only, and cannot change it', async () => {
  const channels = join(egress.box.stateRoot, 'run', 'channels');
  const before = four.seen.length;
  const look = (id: string) =>
    egress.python(
      id,
      `
path = "/.skillbox/box/box.sock"
seen = [os.path.exists(${JSON.stringify(join(channels, one.id))}), os.path.exists(${JSON.stringify(join(channels, other.id))})]
changes = [attempt(os.unlink, path), attempt(os.rename, path, path + "2"), attempt(os.symlink, "/tmp/x", "/.skillbox/box/new"), attempt(os.chmod, path, 0o600),
           attempt(socket.socket(socket.AF_UNIX).bind, "/.skillbox/box/mine"), attempt(os.listdir, "/.skillbox/box")]
answer([seen, changes, status(get("http://ok.test:${four.port}/", "ok.test:${four.port}"))])`,
    );
  const changes = ['EROFS', 'EROFS', 'EROFS', 'EROFS', 'EROFS', 'EACCES'];
  expect(await look(one.id)).toEqual([[false, false], changes, 200]);
  expect(await look(other.id)).toEqual([[false, false], changes, 403]);
  expect(four.seen.length).toBe(before + 1);
});

it('gains nothing by ending the relay, and cannot take its place', async () => {
  const tried = await egress.python(
    one.id,
    `
import signal, subprocess
first = status(get("http://ok.test:${four.port}/", "ok.test:${four.port}"))
me = os.getpid()
killed = 0
for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()]:
    if pid in (1, me, os.getppid()): continue
    try: os.kill(pid, signal.SIGKILL); killed += 1
    except OSError: pass
taken = attempt(socket.socket().bind, ("127.0.0.1", 3128))
answer([first, killed > 0, taken, status(get("http://ok.test:${four.port}/", "ok.test:${four.port}")), status(get("http://else.test/", "else.test"))])`,
  );
  expect(tried).toEqual([200, true, 'EADDRINUSE', 200, 403]);
});

it('is not there for a sandbox without a network', async () => {
  const { body } = await egress.box.json<Sandbox>('/v1/sandboxes', { body: { template: 'base' } });
  const tried = await egress.python(
    body.id,
    `answer([attempt(socket.socket().connect, ("127.0.0.1", 3128)), os.path.exists("/.skillbox/box"), [n for n in os.environ if "PROXY" in n.upper()], os.path.exists("/etc/ssl/certs/ca-certificates.crt")])`,
  );
  expect(tried).toEqual(['ECONNREFUSED', false, [], false]);
});
