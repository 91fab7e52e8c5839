import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { throughEveryDoor } from './doors.ts';
import { callNumber, useInside } from './inside.ts';

const inside = useInside();
const servers: Server[] = [];
let reached = 0;

beforeAll(async () => {
  for (const address of ['127.0.0.1', '::1']) {
    const server = createServer((_, response) => response.end('host'));
    server.on('connection', () => {
      reached += 1;
    });
    await new Promise<void>((resolve) => server.listen(0, address, resolve));
    servers.push(server);
  }
});
afterAll(async () => {
  for (const server of servers) server.close();
});

const ports = (): number[] => [...servers.map((server) => (server.address() as AddressInfo).port), Number(new URL(inside.box.url).port)];

throughEveryDoor(inside, (door) => {
  it('reaches no server on the loopback of the host', async () => {
    const before = reached;
    await new Promise<void>((resolve) => connect(ports()[0] as number, '127.0.0.1', resolve).on('connect', () => undefined));
    expect(reached).toBe(before + 1);
    const [four, six, box] = ports();
    const fromPython = await door.python(`
def dial(family, address):
    return attempt(socket.socket(family).connect, address)
answer([dial(socket.AF_INET, ("127.0.0.1", ${four})), dial(socket.AF_INET6, ("::1", ${six})), dial(socket.AF_INET, ("127.0.0.1", ${box}))])`);
    expect(fromPython).toEqual(['ECONNREFUSED', 'ECONNREFUSED', 'ECONNREFUSED']);
    const fromNode = await door.node(`
const dial = (host, port) => new Promise((done) => require("net").connect(port, host, () => done("ok")).on("error", (error) => done(error.code)));
answer([await dial("127.0.0.1", ${four}), await dial("::1", ${six}), await dial("localhost", ${box})]);`);
    expect(fromNode).toEqual(['ECONNREFUSED', 'ECONNREFUSED', 'ECONNREFUSED']);
    const fromBash = await door.bash(
      `for port in ${four} ${box}; do (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null && echo open || echo closed; done`,
    );
    expect(fromBash).toBe('closed\nclosed');
    expect(reached).toBe(before + 1);
  });

  it('has a loopback of its own and no way to anywhere else', async () => {
    const outside = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .filter(({ internal, family }) => !internal && family === 'IPv4')
      .map(({ address }) => address);
    // Connecting a datagram socket only asks for the route: no packet would leave even if there were one.
    const { interfaces, routes } = await door.python<{ interfaces: string[]; routes: string[] }>(`
targets = [(socket.AF_INET, address) for address in ["192.0.2.1", "169.254.169.254", *${JSON.stringify(outside)}]] + [(socket.AF_INET6, "2001:db8::1")]
answer({"interfaces": [name for _, name in socket.if_nameindex()],
        "routes": [attempt(socket.socket(family, socket.SOCK_DGRAM).connect, (address, 53)) for family, address in targets]})`);
    expect(interfaces).toEqual(['lo']);
    expect(new Set(routes)).toEqual(new Set(['ENETUNREACH']));
  });

  it('resolves no name', async () => {
    expect(await door.python('import subprocess\nanswer(subprocess.run(["getent", "hosts", "example.com"]).returncode)')).not.toBe(0);
    expect(
      await door.node(
        'const { lookup } = require("dns").promises; answer(await lookup("example.com").then(() => "found", (error) => error.code));',
      ),
    ).toMatch(/^(ENOTFOUND|EAI_AGAIN)$/);
  });

  it('opens no socket that a network namespace does not bound', async () => {
    // VSOCK leads to the hypervisor, the others to parts of the kernel that have no business here.
    const families = { packet: 17, rds: 21, can: 29, tipc: 30, bluetooth: 31, alg: 38, vsock: 40, xdp: 44, smc: 43 };
    const answers = await door.python<Record<string, string[]>>(`
answer({name: [syscall(${callNumber('socket')}, family, kind, 0) for kind in (1, 2, 3, 5)] for name, family in ${JSON.stringify(families)}.items()})`);
    for (const [name, got] of Object.entries(answers)) expect(new Set(got), name).toEqual(new Set(['EPERM']));
  });

  it('makes no pair of sockets but local ones', async () => {
    expect(
      await door.python(`
pair = (ctypes.c_int * 2)()
answer([syscall(${callNumber('socketpair')}, family, 1, 0, pair) for family in (1, 2, 10, 16, 30, 40)])`),
    ).toEqual(['ok', 'EPERM', 'EPERM', 'EPERM', 'EPERM', 'EPERM']);
  });

  it('opens no raw socket and changes no interface', async () => {
    const answers = await door.python(`
import fcntl, struct
raw = [attempt(socket.socket, family, socket.SOCK_RAW, 1) for family in (socket.AF_INET, socket.AF_INET6)]
control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
down = attempt(fcntl.ioctl, control, 0x8914, struct.pack("16sh14x", b"lo", 0))
link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
# RTM_NEWLINK for a dummy interface: the kernel answers with an error message.
link.send(struct.pack("=IHHIIBxHiII", 32, 16, 0x0605, 1, 0, 0, 0, 0, 0, 0))
made = -struct.unpack("=i", link.recv(4096)[16:20])[0]
answer([*raw, down, errno.errorcode.get(made, made)])`);
    expect(answers).toEqual(['EPERM', 'EPERM', 'EPERM', 'EPERM']);
  });
});
