import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { probeSkill } from '../support/box.ts';
import { startServerProcess } from '../support/server-process.ts';
import { besideSleeper, describeProcess, guestOf, type HostProcess, type Inside, openInside } from './inside.ts';

let inside: Inside;
beforeAll(async () => {
  inside = await openInside();
});
afterAll(() => inside.stop());

it('is uid and gid 65534 without groups', async () => {
  expect(await inside.python('answer([os.getresuid(), os.getresgid(), os.getgroups()])')).toEqual([
    [65534, 65534, 65534],
    [65534, 65534, 65534],
    [],
  ]);
  expect(await inside.bash('id -u; id -g; id -G')).toBe('65534\n65534\n65534');
});

it('has no capability in any set, in any process', async () => {
  const sets = await inside.python<Record<string, string>[]>(
    'answer([{name: value for name, value in status(pid).items() if name.startswith("Cap")} for pid in ("self", 1)])',
  );
  const none = Object.fromEntries(['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map((name) => [name, '0000000000000000']));
  expect(sets).toEqual([none, none]);
});

it('is, seen from the host, a uid of its own: not root, not the server, not a neighbour', async () => {
  const start = (code: string) => inside.run('bash', code);
  const uids = await besideSleeper(
    start,
    (first) => besideSleeper(start, (second) => [first, second].map(requireOwnIds), 'touch /tmp/mine out/files/mine'),
    'touch /tmp/mine out/files/mine',
  );
  expect(new Set(uids).size).toBe(2);
  expect(readFileSync('/etc/passwd', 'utf8')).not.toMatch(new RegExp(`:(${uids.join('|')}):`));
  const folders = [inside.box.stateRoot, tmpdir(), '/dev/shm', '/var/tmp'];
  const whose = uids.flatMap((uid, index) => [...(index ? ['-o'] : []), '-uid', String(uid)]);
  // Folders of other tests come and go meanwhile, for which find would complain; what it found counts.
  const owned = spawnSync('find', [...folders, '-xdev', ...whose], { encoding: 'utf8' }).stdout;
  expect(owned).toBe('');
});

it('keeps no group of a server that has some', async () => {
  const server = await startServerProcess({ wrapper: ['/usr/bin/setpriv', '--groups', '4,27', '--'] });
  await server.push(probeSkill('bash'));
  expect(describeProcess(server.pid).groups).toBe('4 27');
  const start = (PROBE: string) => server.run('probe-bash', { env: { PROBE } });
  expect(await besideSleeper(start, ({ pid }) => [describeProcess(pid).groups, guestOf(pid).groups])).toEqual(['', '']);
  await server.stop();
  rmSync(server.stateRoot, { recursive: true });
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
