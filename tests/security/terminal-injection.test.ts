import { afterAll, beforeAll, expect, it } from 'vitest';
import { callNumber, type Inside, openInside } from './inside.ts';

let inside: Inside;
beforeAll(async () => {
  inside = await openInside();
});
afterAll(() => inside.stop());

it('types into no terminal with TIOCSTI or TIOCLINUX', async () => {
  // Tried on a terminal of its own, where the kernel itself would allow it; also with bits that only the filter could miss.
  expect(
    await inside.python(`
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

it('has no terminal of the host', async () => {
  expect(
    await inside.python('answer([attempt(os.open, "/dev/tty", os.O_RDWR), attempt(os.open, "/dev/console", os.O_RDWR), os.isatty(0)])'),
  ).toEqual(['ENXIO', 'ENOENT', false]);
});

it('is in a session of its own, as pid 1 is', async () => {
  // A session that began outside would be number 0 in here.
  const sessions = await inside.python<number[]>(
    'answer([int(open("/proc/%s/stat" % pid).read().rsplit(")", 1)[1].split()[3]) for pid in ("1", "self")])',
  );
  expect(sessions).toEqual([1, 2]);
});
