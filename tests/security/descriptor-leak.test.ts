import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { probeSkill } from '../support/box.ts';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { besideSleeper, guestOf, type Inside, openInside } from './inside.ts';

let inside: Inside;
let folder: string;
let server: ServerProcess;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-leak-'));
  writeFileSync(join(folder, 'secret'), 'leaked');
  // As a shell or an init might: 57 and 230 are beyond those that Node itself takes care of.
  [inside, server] = await Promise.all([
    openInside(),
    startServerProcess({ wrapper: ['/bin/bash', '-c', `exec 57<${folder}/secret 230<${folder}; exec "$0" "$@"`] }),
  ]);
  await server.push(probeSkill('bash'));
});
afterAll(async () => {
  await Promise.all([inside.stop(), server.stop()]);
  rmSync(server.stateRoot, { recursive: true });
  rmSync(folder, { recursive: true });
});

it('has three open descriptors: nothing, and two pipes', async () => {
  const { open, input, output } = await inside.python<{ open: string[]; input: string; output: string[] }>(`
answer({"open": sorted(name for name in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + name)),
        "input": os.readlink("/proc/self/fd/0"), "output": [os.readlink("/proc/self/fd/%d" % fd)[:5] for fd in (1, 2)]})`);
  expect({ open, input, output }).toEqual({ open: ['0', '1', '2'], input: '/dev/null', output: ['pipe:', 'pipe:'] });
  // 255 is where bash keeps the script it reads.
  expect(await inside.bash('ls /proc/$$/fd')).toBe('0\n1\n2\n255');
  // Node opens its own; each of them must be of a kind that leads nowhere.
  const kinds = await inside.node<string[]>(
    'answer(fs.readdirSync("/proc/self/fd").map((fd) => { try { return fs.readlinkSync("/proc/self/fd/" + fd); } catch { return ""; } }));',
  );
  for (const kind of kinds.filter(Boolean)) expect(kind).toMatch(/^(\/dev\/null|pipe:.*|anon_inode:.*|\/proc\/\d+\/fd|\/sandbox\/.*)$/);
});

it('inherits no descriptor that leaked into the server', async () => {
  expect(readlinkSync(`/proc/${server.pid}/fd/57`)).toBe(join(folder, 'secret'));
  const { logs } = await server.run('probe-bash', { env: { PROBE: 'cat <&57; ls /proc/self/fd/230/; ls /proc/self/fd | tr "\\n" " "' } });
  expect(logs).not.toContain('leaked');
  expect(logs).not.toMatch(/\b(57|230) /);
});

it('leaves pid 1 with its channel and nothing of the server', async () => {
  const start = (PROBE: string) => server.run('probe-bash', { env: { PROBE } });
  const links = await besideSleeper(start, ({ pid }) => openFiles(guestOf(pid).pid));
  // 0 and 1, the launcher's diagnostics, the channel, its signals, and the pipes of the program.
  expect(links.sort()).toEqual(['/dev/null', '/dev/null', 'anon_inode', 'pipe', 'pipe', 'socket', 'socket']);
});

it('finds no descriptor to take from pid 1', async () => {
  expect(await inside.bash('ls /proc/1/fd >/dev/null 2>&1 && echo readable; ls /proc/1/fdinfo >/dev/null 2>&1 && echo info; true')).toBe(
    '',
  );
});

function openFiles(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`).replace(/:.*/, ''));
}
