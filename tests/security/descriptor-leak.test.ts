import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { throughEveryDoor } from './doors.ts';
import { besideSleeper, guestOf, useInside, useServer } from './inside.ts';

const inside = useInside();
const folder = mkdtempSync(join(tmpdir(), 'skillbox-leak-'));
writeFileSync(join(folder, 'secret'), 'leaked');
// As a shell or an init might: 57 and 230 are beyond those that Node itself takes care of.
const leaky = useServer(() => ({ wrapper: ['/bin/bash', '-c', `exec 57<${folder}/secret 230<${folder}; exec "$0" "$@"`] }));
afterAll(() => rmSync(folder, { recursive: true }));

throughEveryDoor(inside, (door) => {
  it('has three open descriptors: nothing, and two pipes', async () => {
    const { open, input, output } = await door.python<{ open: string[]; input: string; output: string[] }>(`
answer({"open": sorted(name for name in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + name)),
        "input": os.readlink("/proc/self/fd/0"), "output": [os.readlink("/proc/self/fd/%d" % fd)[:5] for fd in (1, 2)]})`);
    // Or its own terminal, three times.
    const streams = door.terminal
      ? { input: '/dev/pts/0', output: ['/dev/', '/dev/'] }
      : { input: '/dev/null', output: ['pipe:', 'pipe:'] };
    expect({ open, input, output }).toEqual({ open: ['0', '1', '2'], ...streams });
    // 255 is where bash keeps the script it reads.
    expect(await door.bash('ls /proc/$$/fd')).toBe(door.terminal ? '0  1  2  255' : '0\n1\n2\n255');
    // Node opens its own; each of them must be of a kind that leads nowhere.
    const kinds = await door.node<string[]>(
      'answer(fs.readdirSync("/proc/self/fd").map((fd) => { try { return fs.readlinkSync("/proc/self/fd/" + fd); } catch { return ""; } }));',
    );
    const known = /^(\/dev\/null|pipe:.*|anon_inode:.*|\/proc\/\d+\/fd|\/sandbox\/.*)$/;
    for (const kind of kinds.filter(Boolean))
      expect(kind).toMatch(door.terminal ? /^(\/dev\/(null|pts\/0|tty)|pipe:.*|anon_inode:.*|\/proc\/\d+\/fd)$/ : known);
  });

  it('finds no descriptor to take from pid 1', async () => {
    expect(await door.bash('ls /proc/1/fd >/dev/null 2>&1 && echo readable; ls /proc/1/fdinfo >/dev/null 2>&1 && echo info; true')).toBe(
      '',
    );
  });
});

throughEveryDoor(leaky, (door) => {
  it('inherits no descriptor that leaked into the server', async () => {
    expect(readlinkSync(`/proc/${leaky.server.pid}/fd/57`)).toBe(join(folder, 'secret'));
    const { logs } = await door.run('bash', 'cat <&57; ls /proc/self/fd/230/; ls -x /proc/self/fd | tr "\\n" " "');
    expect(logs).not.toContain('leaked');
    expect(logs).not.toMatch(/(^| )(57|230) /m);
  });

  it('leaves pid 1 with its channel and nothing of the server', async () => {
    const links = await besideSleeper(
      (code) => door.run('bash', code),
      ({ pid }) => openFiles(guestOf(pid).pid),
    );
    // 0 and 1, the launcher's diagnostics, the channel, its signals, and the pipes of the program.
    // In a nest the diagnostics are its parent's alone, and it hears of ends.
    const more = door.name === 'warm one-shot' ? ['/dev/null', 'anon_inode'] : ['socket'];
    if (!door.living) expect(links.sort()).toEqual(['/dev/null', '/dev/null', 'anon_inode', 'pipe', 'pipe', 'socket', ...more].sort());
    // A living one listens, and holds a connection and pipes or a terminal for each program.
    for (const link of links) expect(['/dev/null', 'anon_inode', 'pipe', 'socket', '/dev/pts/ptmx']).toContain(link);
  });
});

function openFiles(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`).replace(/:.*/, ''));
}
