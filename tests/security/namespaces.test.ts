import { hostname } from 'node:os';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Inside, openInside, readNamespaces } from './inside.ts';

let inside: Inside;
let first: Record<string, string>;
let second: Record<string, string>;

beforeAll(async () => {
  inside = await openInside();
  // At once: the kernel may number a new namespace as one that is gone.
  const read =
    'names = {name: os.readlink("/proc/self/ns/" + name) for name in os.listdir("/proc/self/ns")}\ntime.sleep(0.5)\nanswer(names)';
  [first, second] = await Promise.all([inside.python<Record<string, string>>(read), inside.python<Record<string, string>>(read)]);
});
afterAll(() => inside.stop());

it.each(['user', 'pid', 'mnt', 'net', 'ipc', 'uts', 'cgroup'])('has a %s namespace of its own', (name) => {
  const host = readNamespaces('self')[name];
  expect(host).toMatch(/:\[\d+\]$/);
  expect(new Set([host, first[name], second[name]]).size).toBe(3);
});

it('does not know the name of the host', async () => {
  expect(await inside.python('answer(os.uname().nodename)')).toBe('sandbox');
  expect(await inside.bash('cat /proc/sys/kernel/hostname /etc/hostname')).toBe('sandbox\nsandbox');
  expect(hostname()).not.toBe('sandbox');
});

it('sees itself at the top of its cgroups', async () => {
  expect(await inside.bash('cut -d: -f3 /proc/self/cgroup | sort -u')).toBe('/');
});
