import { hostname } from 'node:os';
import { beforeAll, expect, it } from 'vitest';
import { throughEveryDoor } from './doors.ts';
import { readNamespaces, useInside } from './inside.ts';

const inside = useInside();

throughEveryDoor(inside, (door) => {
  let first: Record<string, string>;
  let second: Record<string, string>;

  beforeAll(async () => {
    // At once: the kernel may number a new namespace as one that is gone.
    const read =
      'names = {name: os.readlink("/proc/self/ns/" + name) for name in os.listdir("/proc/self/ns")}\ntime.sleep(0.5)\nanswer(names)';
    const [own, neighbour] = await Promise.all([door.run('python', read), door.neighbour.run('python', read)]);
    first = own.output as Record<string, string>;
    second = neighbour.output as Record<string, string>;
  });

  it.each(['user', 'pid', 'mnt', 'net', 'ipc', 'uts', 'cgroup'])('has a %s namespace of its own', (name) => {
    const host = readNamespaces('self')[name];
    expect(host).toMatch(/:\[\d+\]$/);
    expect(new Set([host, first[name], second[name]]).size).toBe(3);
  });

  it('does not know the name of the host', async () => {
    expect(await door.python('answer(os.uname().nodename)')).toBe('sandbox');
    expect(await door.bash('cat /proc/sys/kernel/hostname /etc/hostname')).toBe('sandbox\nsandbox');
    expect(hostname()).not.toBe('sandbox');
  });

  it('sees itself at the top of its cgroups', async () => {
    expect(await door.bash('cut -d: -f3 /proc/self/cgroup | sort -u')).toBe('/');
  });
});
