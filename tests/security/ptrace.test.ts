import { expect, it } from 'vitest';
import { throughEveryDoor } from './doors.ts';
import { callNumber, useInside } from './inside.ts';

const inside = useInside();

throughEveryDoor(inside, (door) => {
  it('traces nobody: not pid 1, not a child, not by being traced', async () => {
    expect(
      await door.python(`
child = os.fork()
if child == 0:
    signal.pause(); os._exit(0)
ptrace = ${callNumber('ptrace')}
answer([syscall(ptrace, 16, 1, 0, 0), syscall(ptrace, 16, child, 0, 0), syscall(ptrace, 0x4206, child, 0, 0), syscall(ptrace, 0, 0, 0, 0)])
os.kill(child, 9)`),
    ).toEqual(['EPERM', 'EPERM', 'EPERM', 'EPERM']);
  });

  it('reads and takes nothing from another process', async () => {
    expect(
      await door.python(`
child = os.fork()
if child == 0:
    signal.pause(); os._exit(0)
vector = (ctypes.c_ulong * 2)(0, 0)
found = [syscall(${callNumber('process_vm_readv')}, child, vector, 1, vector, 1, 0), syscall(${callNumber('process_vm_writev')}, child, vector, 1, vector, 1, 0)]
found += [syscall(${callNumber('pidfd_getfd')}, os.pidfd_open(pid), 0, 0) for pid in (child, 1)]
found += [syscall(${callNumber('kcmp')}, os.getpid(), 1, 0, 0, 0)]
answer(found)
os.kill(child, 9)`),
    ).toEqual(['EPERM', 'EPERM', 'EPERM', 'EPERM', 'EPERM']);
  });

  it('opens nothing of pid 1 that would show or change it', async () => {
    const files = [
      'mem',
      'environ',
      'auxv',
      'maps',
      'smaps',
      'pagemap',
      'syscall',
      'stack',
      'fd',
      'map_files',
      'root',
      'cwd',
      'exe',
      'ns/user',
      'ns/mnt',
      'ns/net',
      'ns/pid',
      'io',
    ];
    const opened = await door.python<string[]>(`
answer([file for file in ${JSON.stringify(files)} if attempt(lambda: os.read(os.open("/proc/1/" + file, os.O_RDONLY), 16)) not in ("EACCES", "EPERM")])`);
    expect(opened).toEqual([]);
    expect(await door.node(`answer(attempt(() => fs.openSync("/proc/1/mem", "r+")));`)).toMatch(/^(EACCES|EROFS)$/);
  });
});
