import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { throughEveryDoor } from './doors.ts';
import { besideSleeper, describeProcess, guestOf, type HostProcess, useInside, useServer } from './inside.ts';

const inside = useInside();

const grouped = useServer(() => ({ wrapper: ['/usr/bin/setpriv', '--groups', '4,27', '--'] }));

throughEveryDoor(inside, (door) => {
  it('is uid and gid 65534 without groups', async () => {
    expect(await door.python('answer([os.getresuid(), os.getresgid(), os.getgroups()])')).toEqual([
      [65534, 65534, 65534],
      [65534, 65534, 65534],
      [],
    ]);
    expect(await door.bash('id -u; id -g; id -G')).toBe('65534\n65534\n65534');
  });

  it('has no capability in any set, in any process', async () => {
    const sets = await door.python<Record<string, string>[]>(
      'answer([{name: value for name, value in status(pid).items() if name.startswith("Cap")} for pid in ("self", 1)])',
    );
    const none = Object.fromEntries(['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map((name) => [name, '0000000000000000']));
    expect(sets).toEqual([none, none]);
  });

  it('is, seen from the host, a uid of its own: not root, not the server, not a neighbour', async () => {
    const first = `touch ${door.folders.map((folder) => `${folder}/mine`).join(' ')}`;
    const uids = await besideSleeper(
      (code) => door.run('bash', code),
      (own) =>
        besideSleeper(
          (code) => door.neighbour.run('bash', code),
          (neighbour) => [own, neighbour].map(requireOwnIds),
          first,
        ),
      first,
    );
    expect(new Set(uids).size).toBe(2);
    expect(readFileSync('/etc/passwd', 'utf8')).not.toMatch(new RegExp(`:(${uids.join('|')}):`));
    const folders = [inside.box.stateRoot, tmpdir(), '/dev/shm', '/var/tmp'];
    const whose = uids.flatMap((uid, index) => [...(index ? ['-o'] : []), '-uid', String(uid)]);
    // Folders of other tests come and go meanwhile, for which find would complain; what it found counts.
    const owned = spawnSync('find', [...folders, '-xdev', ...whose], { encoding: 'utf8' }).stdout;
    expect(owned).toBe('');
  });
});

throughEveryDoor(grouped, (door) => {
  it('keeps no group of a server that has some', async () => {
    expect(describeProcess(grouped.server.pid).groups).toBe('4 27');
    const start = (code: string) => door.run('bash', code);
    expect(await besideSleeper(start, ({ pid }) => [describeProcess(pid).groups, guestOf(pid).groups])).toEqual(['', '']);
  });
});

/** Of the program, of pid 1, and of bubblewrap, which waits outside. */
function requireOwnIds(sleeper: HostProcess): number {
  const guest = guestOf(sleeper.pid);
  for (const { uids, gids, groups, noNewPrivileges } of [sleeper, guest, describeProcess(guest.parent)]) {
    expect(new Set([...uids, ...gids]).size).toBe(1);
    expect(uids[0]).toBeGreaterThan(100_000);
    expect(uids[0]).not.toBe(process.getuid?.());
    expect({ groups, noNewPrivileges }).toEqual({ groups: '', noNewPrivileges: '1' });
  }
  return sleeper.uids[0] as number;
}
