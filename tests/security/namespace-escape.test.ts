import { expect, it } from 'vitest';
import { throughEveryDoor } from './doors.ts';
import { callNumber, useInside } from './inside.ts';

const inside = useInside();

const flags = {
  time: 0x80,
  mnt: 0x20000,
  cgroup: 0x2000000,
  uts: 0x4000000,
  ipc: 0x8000000,
  user: 0x10000000,
  pid: 0x20000000,
  net: 0x40000000,
};

throughEveryDoor(inside, (door) => {
  it('makes no namespace with unshare', async () => {
    const answers = await door.python<Record<string, string>>(
      `answer({name: syscall(${callNumber('unshare')}, flag) for name, flag in ${JSON.stringify(flags)}.items()})`,
    );
    expect(new Set(Object.values(answers))).toEqual(new Set(['EPERM']));
    expect(
      await door.bash(
        'unshare -Ur true 2>/dev/null && echo made; unshare -n true 2>/dev/null && echo made; bwrap --bind / / true 2>/dev/null && echo made; true',
      ),
    ).toBe('');
  });

  it('makes no namespace with clone', async () => {
    // A child that was made after all ends itself at once. 17 is SIGCHLD; the high bits are a trick that the filter must see through.
    const answers = await door.python<string[]>(`
def clone(flags):
    ctypes.set_errno(0)
    pid = libc.syscall(ctypes.c_long(${callNumber('clone')}), ctypes.c_ulong(flags), None, None, None, None)
    if pid == 0: os._exit(0)
    return "ok" if pid > 0 else errno.errorcode[ctypes.get_errno()]
answer([clone(17)] + [clone(flag | 17 | high) for flag in ${JSON.stringify(Object.values(flags).slice(1))} for high in (0, 1 << 32)])`);
    expect(answers[0]).toBe('ok');
    expect(new Set(answers.slice(1))).toEqual(new Set(['EPERM']));
  });

  it('finds no clone3, whose flags a filter cannot read', async () => {
    expect(await door.python(`answer(syscall(${callNumber('clone3')}, 0, 0))`)).toBe('ENOSYS');
  });

  it('makes no user namespace even where the filter would let it', async () => {
    // Twice guarded: this is what is left when the filter is gone, so its answer is not looked at.
    expect(await door.python(`answer(syscall(${callNumber('unshare')}, ${flags.user}) != "ok" and "refused")`)).toBe('refused');
  });

  it('enters no namespace', async () => {
    const answers = await door.python<string[]>(
      `answer([syscall(${callNumber('setns')}, os.open("/proc/self/ns/" + name, os.O_RDONLY), 0) for name in os.listdir("/proc/self/ns")])`,
    );
    expect(new Set(answers)).toEqual(new Set(['EPERM']));
  });

  it('mounts, unmounts and changes no root', async () => {
    const calls = {
      mount: ['b"none"', 'b"/tmp"', 'b"tmpfs"', '0', '0'],
      umount2: ['b"/proc"', '2'],
      pivot_root: ['b"/tmp"', 'b"/tmp"'],
      chroot: ['b"/tmp"'],
      open_tree: ['-100', 'b"/"', '1'],
      move_mount: ['-100', 'b"/tmp"', '-100', 'b"/tmp"', '0'],
      fsopen: ['b"tmpfs"', '0'],
      fsconfig: ['0', '0', '0', '0', '0'],
      fsmount: ['0', '0', '0'],
      fspick: ['-100', 'b"/tmp"', '0'],
      mount_setattr: ['-100', 'b"/tmp"', '0', '0', '0'],
      name_to_handle_at: ['-100', 'b"/"', '0', '0', '0'],
      open_by_handle_at: ['-100', '0', '0'],
    };
    const entries = Object.entries(calls).map(([name, args]) => `"${name}": syscall(${[callNumber(name), ...args].join(', ')})`);
    const answers = await door.python<Record<string, string>>(`answer({${entries.join(', ')}})`);
    expect(answers).toEqual(Object.fromEntries(Object.keys(calls).map((name) => [name, 'EPERM'])));
  });
});
