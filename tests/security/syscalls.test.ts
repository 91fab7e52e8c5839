import { expect, it } from 'vitest';
import { type Architecture, syscalls } from '../../packages/box/src/sandbox/providers/guest/syscalls.ts';
import { throughEveryDoor } from './doors.ts';
import { callNumber, useInside } from './inside.ts';

const inside = useInside();

const refused = `acct add_key adjtimex bpf clock_adjtime clock_settime delete_module fanotify_init finit_module get_mempolicy init_module
  ioperm iopl kexec_file_load kexec_load keyctl lookup_dcookie mbind memfd_secret migrate_pages modify_ldt move_pages
  perf_event_open process_madvise quotactl reboot request_key set_mempolicy setdomainname sethostname settimeofday swapoff swapon
  syslog userfaultfd vhangup vmsplice`;

throughEveryDoor(inside, (door) => {
  it('refuses what only kernels, debuggers and escapes need', async () => {
    const known = refused.split(/\s+/).filter((name) => syscalls[process.arch as Architecture].has(name));
    // With arguments that mean nothing: where the filter does not answer first, it is EFAULT, EINVAL or worse.
    const calls = known.map((name) => `"${name}": syscall(${callNumber(name)}, -1, -1, -1, -1, -1)`);
    const answers = await door.python<Record<string, string>>(`answer({${calls.join(', ')}})`);
    expect(answers).toEqual(Object.fromEntries(known.map((name) => [name, 'EPERM'])));
  });

  it('has no io_uring', async () => {
    const calls = ['io_uring_setup', 'io_uring_enter', 'io_uring_register'].map((name) => `syscall(${callNumber(name)}, 1, 0, 0, 0)`);
    expect(await door.python(`answer([${calls.join(', ')}])`)).toEqual(['ENOSYS', 'ENOSYS', 'ENOSYS']);
  });

  it('finds no call that is newer than the filter', async () => {
    expect(await door.python('answer([syscall(number, 0) for number in (468, 600, 4095)])')).toEqual(['ENOSYS', 'ENOSYS', 'ENOSYS']);
  });

  it('keeps its personality', async () => {
    const call = callNumber('personality');
    // Query, Linux, then ADDR_NO_RANDOMIZE and READ_IMPLIES_EXEC.
    expect(await door.python(`answer([syscall(${call}, value) for value in (0xffffffff, 0, 0x40000, 0x400000)])`)).toEqual([
      'ok',
      'ok',
      'EPERM',
      'EPERM',
    ]);
  });

  it('is under the filter in every process, pid 1 included', async () => {
    expect(
      await door.python(
        'import subprocess\nanswer([status()["Seccomp"], status(1)["Seccomp"], subprocess.check_output(["grep", "^Seccomp:", "/proc/self/status"], text=True).split()[1]])',
      ),
    ).toEqual(['2', '2', '2']);
    expect(await door.node('answer(/Seccomp:\\t(\\d)/.exec(fs.readFileSync("/proc/self/status", "utf8"))[1])')).toBe('2');
  });

  it.runIf(process.arch === 'x64')('has no second table of calls to go around the filter', async () => {
    // int 0x80 with getpid of the 32-bit table; x32 is the 64-bit table with one more bit.
    const outcome = await door.python<{ old: number; x32: string }>(`
import mmap
code = bytes([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3])
child = os.fork()
if child == 0:
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
    os._exit(0)
answer({"old": os.waitpid(child, 0)[1] & 127, "x32": syscall(0x40000000 | ${callNumber('getpid')})})`);
    // SIGSYS from the filter; SIGSEGV where the kernel has no 32-bit calls at all.
    expect([31, 11]).toContain(outcome.old);
    expect(outcome.x32).toBe('ENOSYS');
  });
});
