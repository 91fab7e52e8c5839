import { statSync } from 'node:fs';
import { expect, it } from 'vitest';
import { throughEveryDoor } from './doors.ts';
import { callNumber, useInside } from './inside.ts';

const inside = useInside();

throughEveryDoor(inside, (door) => {
  it('types into no terminal with TIOCSTI or TIOCLINUX', async () => {
    // Tried on a terminal of its own, where the kernel itself would allow it; also with bits that only the filter could miss.
    expect(
      await door.python(`
import pty
if os.fork() == 0:
    os.setsid()
    controller, terminal = os.openpty()
    import fcntl, termios
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    letter = ctypes.c_char(b"x")
    ioctl = ${callNumber('ioctl')}
    answer([syscall(ioctl, terminal, request, ctypes.byref(letter)) for request in (0x5412, 0x5412 | 1 << 32, 0x541c)] + [syscall(ioctl, terminal, 0x5413, ctypes.byref((ctypes.c_char * 8)()))])
    os._exit(0)
os.wait()`),
    ).toEqual(['EPERM', 'EPERM', 'EPERM', 'ok']);
  });

  it('types nothing into the terminal that it was given', async () => {
    const answers = await door.python<string[]>(`
letter = ctypes.c_char(b"x")
answer([syscall(${callNumber('ioctl')}, fd, request, ctypes.byref(letter)) for fd in (0, 1, 2) for request in (0x5412, 0x5412 | 1 << 32, 0x541c)])`);
    expect(new Set(answers)).toEqual(new Set(['EPERM']));
  });

  it('has no terminal of the host', async () => {
    const { opened, console, terminal, device } = await door.python<{ opened: string; console: string; terminal: boolean; device: number }>(
      'answer({"opened": attempt(os.open, "/dev/tty", os.O_RDWR), "console": attempt(os.open, "/dev/console", os.O_RDWR), "terminal": os.isatty(0), "device": os.stat("/dev/pts").st_dev})',
    );
    expect({ opened, console, terminal }).toEqual({ opened: door.terminal ? 'ok' : 'ENXIO', console: 'ENOENT', terminal: door.terminal });
    // Terminals are files there: another device is another set of them.
    expect(device).not.toBe(statSync('/dev/pts').dev);
  });

  it('is in a session of its own, as pid 1 is', async () => {
    // A session that began outside would be number 0 in here.
    const { sessions, own } = await door.python<{ sessions: number[]; own: number }>(
      'answer({"sessions": [int(open("/proc/%s/stat" % pid).read().rsplit(")", 1)[1].split()[3]) for pid in ("1", "self")], "own": os.getpid()})',
    );
    expect(sessions).toEqual([1, own]);
  });
});
