/**
 * The system call filter of every sandbox: an allow list no wider than Docker's default, less what
 * only debuggers, kernels and escapes need. Written as raw classic BPF, the form that bubblewrap takes.
 */

import { type Architecture, syscalls } from './syscalls.ts';

const allowed = `
  access alarm arch_prctl accept accept4 bind brk cachestat capget capset chdir chmod chown clock_getres clock_gettime
  clock_nanosleep close close_range connect copy_file_range creat dup dup2 dup3 epoll_create epoll_create1 epoll_ctl
  epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 execve execveat exit exit_group faccessat faccessat2 fadvise64
  fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr flistxattr flock fork
  fremovexattr fsetxattr fstat fstatfs fsync ftruncate futex futex_requeue futex_wait futex_waitv futex_wake futimesat
  getcpu getcwd getdents getdents64 getegid geteuid getgid getgroups getitimer getpeername getpgid getpgrp getpid getppid
  getpriority getrandom getresgid getresuid getrlimit get_robust_list getrusage getsid getsockname getsockopt
  gettid gettimeofday getuid getxattr inotify_add_watch inotify_init inotify_init1 inotify_rm_watch io_cancel io_destroy
  io_getevents io_pgetevents io_setup io_submit ioprio_get ioprio_set kill landlock_add_rule landlock_create_ruleset
  landlock_restrict_self lchown lgetxattr link linkat listen listxattr llistxattr lremovexattr lseek lsetxattr lstat
  madvise map_shadow_stack membarrier memfd_create mincore mkdir mkdirat mknod mknodat mlock mlock2 mlockall mmap mprotect
  mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink mremap mseal msgctl msgget msgrcv msgsnd msync
  munlock munlockall munmap nanosleep newfstatat open openat openat2 pause pidfd_open pidfd_send_signal pipe pipe2
  pkey_alloc pkey_free pkey_mprotect poll ppoll prctl pread64 preadv preadv2 prlimit64 process_mrelease pselect6 pwrite64
  pwritev pwritev2 read readahead readlink readlinkat readv recvfrom recvmmsg recvmsg remap_file_pages removexattr rename
  renameat renameat2 restart_syscall rmdir rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn
  rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min sched_getaffinity
  sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam
  sched_setscheduler sched_yield seccomp select semctl semget semop semtimedop sendfile sendmmsg sendmsg sendto
  setfsgid setfsuid setgid setgroups setitimer setpgid setpriority setregid setresgid setresuid setreuid setrlimit
  set_robust_list setsid setsockopt set_tid_address setuid setxattr shmat shmctl shmdt shmget shutdown sigaltstack
  signalfd signalfd4 splice stat statfs statx symlink symlinkat sync sync_file_range syncfs sysinfo tee tgkill
  time timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime
  timerfd_settime times tkill truncate umask uname unlink unlinkat utime utimensat utimes vfork wait4 waitid write writev
`;

/** ENOSYS, not EPERM: with it glibc, Node and Python fall back to what is allowed; with EPERM they abort. */
const absent = ['clone3', 'io_uring_setup', 'io_uring_enter', 'io_uring_register'];

const EPERM = 1;
const ENOSYS = 38;

/** Allowed or not by the low half of one argument, which is what the kernel uses for these calls. */
export type ArgumentRule = { readonly name: string; readonly argument: number } & (
  | { readonly refuseBits: number }
  | { readonly refuse: readonly number[] }
  | { readonly allow: readonly number[] }
);

const byArgument: readonly ArgumentRule[] = [
  { name: 'clone', argument: 0, refuseBits: 0x7e020080 }, // NEWTIME NEWNS NEWCGROUP NEWUTS NEWIPC NEWUSER NEWPID NEWNET
  { name: 'ioctl', argument: 1, refuse: [0x5412, 0x541c] }, // TIOCSTI TIOCLINUX: typing into the terminal of somebody else
  { name: 'socket', argument: 0, allow: [1, 2, 10, 16] }, // UNIX INET INET6 NETLINK; VSOCK is not bound by a network namespace
  { name: 'socketpair', argument: 0, allow: [1] }, // UNIX; a pair of another family would be made, and its module loaded, before it is refused
  { name: 'personality', argument: 0, allow: [0, 0xffffffff] },
];

/** What the filter says, for those who write it in another form. What it does not name is EPERM. */
export const filterRules = { allowed: allowed.trim().split(/\s+/), absent, absentErrno: ENOSYS, byArgument } as const;

const auditArch: Record<Architecture, number> = { x64: 0xc000003e, arm64: 0xc00000b7 };
const x32Bit = 0x40000000;

/** What the parent of runs that are cloned needs beyond that, to make their namespaces. It runs no code of theirs. */
const nestAllowed = ['clone', 'mount', 'move_mount', 'open_tree', 'umount2'];
export type FilterKind = 'run' | 'nest';

/** Raw `struct sock_filter`s for this architecture. */
export function seccompFilter(architecture: Architecture, kind: FilterKind = 'run'): Buffer {
  return assemble(filterProgram(architecture, kind));
}

export interface Instruction {
  readonly code: number;
  readonly jt: number;
  readonly jf: number;
  readonly k: number;
}

export function filterProgram(architecture: Architecture, kind: FilterKind = 'run'): Instruction[] {
  const more = kind === 'nest' ? nestAllowed : [];
  const numbers = syscalls[architecture];
  const numberOf = (name: string): number[] => {
    const number = numbers.get(name);
    return number === undefined ? [] : [number];
  };
  const program = [load(offsets.arch), ...unless(auditArch[architecture], returns.kill), load(offsets.number)];
  if (architecture === 'x64') program.push(jump(op.jge, x32Bit, 0, 1), returnErrno(ENOSYS));
  for (const number of absent.flatMap(numberOf)) program.push(...when(number, [returnErrno(ENOSYS)]));
  for (const rule of byArgument.filter(({ name }) => !more.includes(name)))
    for (const number of numberOf(rule.name)) program.push(...when(number, decide(rule)));
  for (const [low, high] of ranges([...filterRules.allowed, ...more].flatMap(numberOf))) {
    program.push(jump(op.jge, low, 0, 2), jump(op.jgt, high, 1, 0), returns.allow);
  }
  const newestKnown = Math.max(...numbers.values());
  program.push(jump(op.jgt, newestKnown, 0, 1), returnErrno(ENOSYS), returnErrno(EPERM));
  return program;
}

const op = { load: 0x20, jeq: 0x15, jgt: 0x25, jge: 0x35, jset: 0x45, ret: 0x06 };
/** Into struct seccomp_data; of an argument the low half. */
const offsets = { number: 0, arch: 4, argument: (index: number) => 16 + 8 * index };
const returns = {
  allow: { code: op.ret, jt: 0, jf: 0, k: 0x7fff0000 },
  kill: { code: op.ret, jt: 0, jf: 0, k: 0x80000000 },
};

const load = (offset: number): Instruction => ({ code: op.load, jt: 0, jf: 0, k: offset });
const jump = (code: number, k: number, jt: number, jf: number): Instruction => ({ code, jt, jf, k });
const returnErrno = (errno: number): Instruction => ({ code: op.ret, jt: 0, jf: 0, k: 0x00050000 | errno });
const unless = (value: number, action: Instruction): Instruction[] => [jump(op.jeq, value, 1, 0), action];
const when = (value: number, body: Instruction[]): Instruction[] => [jump(op.jeq, value, 0, body.length), ...body];
const refuseValues = (values: readonly number[]): Instruction[] =>
  values.flatMap((value) => [jump(op.jeq, value, 0, 1), returnErrno(EPERM)]);
const allowValues = (values: readonly number[]): Instruction[] => [
  ...values.flatMap((value) => [jump(op.jeq, value, 0, 1), returns.allow]),
  returnErrno(EPERM),
];

function decide(rule: ArgumentRule): Instruction[] {
  const value = load(offsets.argument(rule.argument));
  if ('allow' in rule) return [value, ...allowValues(rule.allow)];
  if ('refuse' in rule) return [value, ...refuseValues(rule.refuse), returns.allow];
  return [value, jump(op.jset, rule.refuseBits, 0, 1), returnErrno(EPERM), returns.allow];
}

/** Sorted runs of consecutive numbers: three instructions each instead of two for every call. */
function ranges(numbers: number[]): [number, number][] {
  const runs: [number, number][] = [];
  for (const number of [...new Set(numbers)].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last && last[1] === number - 1) last[1] = number;
    else runs.push([number, number]);
  }
  return runs;
}

function assemble(program: Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(({ code, jt, jf, k }, index) => {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(jt, index * 8 + 2);
    bytes.writeUInt8(jf, index * 8 + 3);
    bytes.writeUInt32LE(k >>> 0, index * 8 + 4);
  });
  return bytes;
}
