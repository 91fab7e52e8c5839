import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { throughEveryDoor } from './doors.ts';
import { useInside } from './inside.ts';

const inside = useInside();
let folder: string;
const servers: Server[] = [];
let reached = 0;
const abstractName = `skillbox-threat-${process.pid}`;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-socket-'));
  for (const path of [`\0${abstractName}`, join(folder, 'host.sock')]) {
    const server = createServer((socket) => {
      reached += 1;
      socket.end('host');
    });
    await new Promise<void>((resolve) => server.listen({ path }, resolve));
    servers.push(server);
  }
});
afterAll(async () => {
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true });
});

throughEveryDoor(inside, (door) => {
  it('reaches no abstract socket of the host', async () => {
    const before = reached;
    await new Promise<void>((resolve, reject) =>
      connect({ path: `\0${abstractName}` })
        .resume()
        .on('close', () => resolve())
        .on('error', reject),
    );
    expect(reached).toBe(before + 1);
    const names = [abstractName, 'skillbox-uids-0', '/tmp/.X11-unix/X0', '/tmp/dbus-test'];
    expect(
      new Set(
        await door.python<string[]>(
          `answer([attempt(socket.socket(socket.AF_UNIX).connect, "\\0" + name) for name in ${JSON.stringify(names)}])`,
        ),
      ),
    ).toEqual(new Set(['ECONNREFUSED']));
    expect(
      await door.node(
        `answer(await new Promise((done) => require("net").connect("\\0${abstractName}", () => done("ok")).on("error", (error) => done(error.code))));`,
      ),
    ).toBe('ECONNREFUSED');
    expect(await door.bash(`grep -c ${abstractName} /proc/net/unix || true`)).toBe('0');
    expect(reached).toBe(before + 1);
  });

  it('reaches no socket file of the host', async () => {
    const paths = [
      join(folder, 'host.sock'),
      '/run/docker.sock',
      '/var/run/docker.sock',
      '/run/dbus/system_bus_socket',
      '/run/systemd/notify',
    ];
    expect(
      new Set(
        await door.python<string[]>(`answer([attempt(socket.socket(socket.AF_UNIX).connect, path) for path in ${JSON.stringify(paths)}])`),
      ),
    ).toEqual(new Set(['ENOENT']));
    expect(await door.bash('find / -xdev -type s 2>/dev/null; find /etc /dev /usr/lib -maxdepth 2 -type s 2>/dev/null; true')).toBe('');
  });
});
