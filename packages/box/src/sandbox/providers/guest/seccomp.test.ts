import { describe, expect, it } from 'vitest';
import { filterProgram, type Instruction, seccompFilter } from './seccomp.ts';
import { type Architecture, syscalls } from './syscalls.ts';

const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;
const arch = { x64: 0xc000003e, arm64: 0xc00000b7 };

/** Calls that Docker's default profile refuses to a container without capabilities. */
const dockerRefuses = `acct add_key bpf clock_adjtime clock_settime delete_module finit_module get_mempolicy init_module
  io_uring_setup io_uring_enter io_uring_register ioperm iopl kcmp kexec_file_load kexec_load keyctl lookup_dcookie mbind
  mount move_mount move_pages nfsservctl open_by_handle_at open_tree perf_event_open pivot_root fsopen fsconfig fsmount fspick
  mount_setattr process_vm_readv process_vm_writev quotactl quotactl_fd reboot request_key set_mempolicy setns settimeofday
  sethostname setdomainname stime swapon swapoff syslog umount2 unshare userfaultfd uselib ustat vhangup chroot _sysctl
  fanotify_init migrate_pages statmount listmount`;
/** What we refuse beyond that. */
const oursToo = 'ptrace pidfd_getfd name_to_handle_at memfd_secret vmsplice modify_ldt adjtimex process_madvise';

describe.each(['x64', 'arm64'] as const)('seccomp filter on %s', (architecture) => {
  const program = filterProgram(architecture);
  const call = (name: string, ...args: number[]) => {
    const number = syscalls[architecture].get(name);
    return number === undefined ? undefined : evaluate(program, number, arch[architecture], args);
  };

  it('refuses at least what Docker refuses, and our own list', () => {
    for (const name of `${dockerRefuses} ${oursToo}`.split(/\s+/)) {
      expect([undefined, EPERM, ENOSYS], name).toContain(call(name));
    }
  });

  it('allows what interpreters live on', () => {
    for (const name of ['read', 'write', 'openat', 'mmap', 'execve', 'futex', 'epoll_pwait', 'getrandom', 'rseq', 'memfd_create']) {
      expect(call(name), name).toBe(ALLOW);
    }
  });

  it('answers ENOSYS where a library then falls back', () => {
    expect(call('clone3')).toBe(ENOSYS);
    expect(call('io_uring_setup')).toBe(ENOSYS);
    expect(evaluate(program, 9999, arch[architecture], [])).toBe(ENOSYS);
  });

  it('lets clone make threads and processes but no namespace, whatever the high bits say', () => {
    expect(call('clone', 0x3d0f00)).toBe(ALLOW);
    for (const flag of [0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]) {
      expect(call('clone', flag | 17), flag.toString(16)).toBe(EPERM);
    }
  });

  it('refuses TIOCSTI and TIOCLINUX', () => {
    expect(call('ioctl', 1, 0x5412)).toBe(EPERM);
    expect(call('ioctl', 1, 0x541c)).toBe(EPERM);
    expect(call('ioctl', 1, 0x5413)).toBe(ALLOW);
  });

  it('allows four socket families only', () => {
    const families = Array.from({ length: 64 }, (_, family) => family).filter((family) => call('socket', family) === ALLOW);
    expect(families).toEqual([1, 2, 10, 16]);
  });

  it('allows pairs of local sockets only', () => {
    const families = Array.from({ length: 64 }, (_, family) => family).filter((family) => call('socketpair', family) === ALLOW);
    expect(families).toEqual([1]);
  });

  it('kills a call made through another architecture', () => {
    expect(evaluate(program, 0, 0x40000003, [])).toBe(KILL);
  });

  it('is a whole number of instructions, short enough for the kernel', () => {
    expect(seccompFilter(architecture).length).toBe(program.length * 8);
    expect(program.length).toBeLessThan(4096);
  });
});

it('refuses the x32 table on x64', () => {
  expect(evaluate(filterProgram('x64'), 0x40000000 + 1, arch.x64, [])).toBe(ENOSYS);
});

/** A little interpreter of classic BPF, as the kernel would run it. */
function evaluate(program: Instruction[], number: number, architecture: Architecture | number, args: number[]): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(Number(architecture) >>> 0, 4);
  args.forEach((value, index) => {
    data.writeUInt32LE(value >>> 0, 16 + 8 * index);
  });
  let accumulator = 0;
  for (let at = 0; at < program.length; at += 1) {
    const { code, jt, jf, k } = program[at] as Instruction;
    const value = k >>> 0;
    if (code === 0x20) accumulator = data.readUInt32LE(value);
    else if (code === 0x06) return value;
    else {
      const taken =
        code === 0x15
          ? accumulator === value
          : code === 0x25
            ? accumulator > value
            : code === 0x35
              ? accumulator >= value
              : (accumulator & value) !== 0;
      at += taken ? jt : jf;
    }
  }
  throw new Error('the program fell off its end');
}
