/** What mutate-boundary.ts takes away, and the test that must notice. Where two layers hold the same thing, both go, and the name says so. */

import { composeMutants } from './compose-mutants.ts';
import { credentialMutants } from './credential-mutants.ts';
import { egressMutants } from './egress-mutants.ts';
import { nestMutants } from './nest-mutants.ts';
import { workspaceMutants } from './workspace-mutants.ts';

export interface Edit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface Mutant {
  readonly layer: string;
  readonly edits: readonly Edit[];
  /** File in tests/security, and the title as its source has it. */
  readonly test: { readonly file: string; readonly title: string };
  /** The test notices by never ending; for all others running out of time proves nothing. */
  readonly hangs?: boolean;
  /** Set where the test must still pass, because of what it names: a second line that holds by itself. */
  readonly held?: string;
}

const provider = 'packages/box/src/sandbox/providers/bubblewrap';
const edit =
  (file: string) =>
  (find: string, replace: string): Edit => ({ file, find, replace });
const command = edit(`${provider}/command.ts`);
const shared = 'packages/box/src/sandbox/providers/guest';
const seccomp = edit(`${shared}/seccomp.ts`);
const runOnce = edit(`${shared}/run-once.ts`);
const channel = edit(`${shared}/channel.ts`);
const cgroup = edit(`${provider}/cgroup.ts`);
const launcher = edit(`${provider}/launcher.ts`);
const uids = edit(`${provider}/uids.ts`);
const launch = edit('packages/box/native/launch.c');
const guest = edit('packages/box/native/guest-once.c');
const guestPrograms = edit('packages/box/native/guest-programs.c');
const guestMain = edit('packages/box/native/guest.c');
const guestFrames = edit('packages/box/native/guest-frames.c');
const imageRuns = edit('packages/box/src/sandbox/providers/docker/image-runs.ts');
const heldFolder = edit('packages/box/src/cli/held-folder.ts');
const living = edit(`${provider}/living.ts`);
const env = edit('packages/box/src/env-names.ts');
const records = edit('packages/box/src/executions/records.ts');
const destination = edit('packages/box/src/events/webhooks/destination.ts');
const warmPython = edit('packages/box/native/warm/python/sitecustomize.py');
const warmNode = edit('packages/box/native/warm/node.cjs');
const warmth = edit('packages/box/src/executions/warmth.ts');
const bubblewrap = edit(`${provider}/provider.ts`);
const stock = edit('packages/box/src/sandbox/stock.ts');
const ahead = edit('packages/box/src/sandbox/ahead.ts');
const recovery = edit('packages/box/src/sandbox/recovery.ts');
const dependencyTree = edit('packages/box/src/skills/dependencies/tree.ts');
const buildRecords = edit('packages/box/src/skills/dependencies/records.ts');

const mutant = (layer: string, file: string, title: string, ...edits: Edit[]): Mutant => ({
  layer,
  edits,
  test: { file: `${file}.test.ts`, title },
});
const hanging = (...args: Parameters<typeof mutant>): Mutant => ({ ...mutant(...args), hangs: true });
const secondLine = (layer: string, held: string, file: string, title: string, ...edits: Edit[]): Mutant => ({
  ...mutant(layer, file, title, ...edits),
  held,
});
const allow = (...calls: string[]): Edit => seccomp('vfork wait4', `vfork ${calls.join(' ')} wait4`);
const noDrop = command("...(ids.kind === 'self' ? [] : ['ids', String(uid), String(uid)]),", '');
const immortal = [launch('if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)', 'if (0)'), command("      '--die-with-parent',\n", '')];
const noProcessLimit = command(
  "    ...(ids.kind === 'self' ? {} : { nproc: limits.processes + 4 }),\n    ...(cgroup.memory",
  '    ...(cgroup.memory',
);
const noDisable = command("...(isRun ? ['--disable-userns'] : []),", '');

const warm: Mutant[] = [
  mutant(
    'line of a job, Python',
    'warm',
    'the line by which its job came is closed before it begins',
    warmPython('    os.close(line)\n', ''),
  ),
  mutant('line of a job, Node', 'warm', 'the line by which its job came is closed before it begins', warmNode('fs.closeSync(line);\n', '')),
  mutant(
    'pools by tenant',
    'warm',
    'nobody is served by what stands ready for another tenant',
    warmth('const shape = [skill.tenant, ', 'const shape = ['),
  ),
  mutant(
    'nothing of a job in what stands ready',
    'warm',
    'what stands ready holds nothing of a job that was before it',
    bubblewrap('nests.make(shape, warm, copies)', 'nests.make(shape, { ...warm, env: { ...warm.env, ...request.env } }, copies)'),
  ),
];

const pools: Mutant[] = [
  mutant(
    'one hand-over for each that stands ready',
    'pools',
    'no two creates get the same one, whoever asks and however many at once',
    stock('const entry = pool.ready.shift();\n      if (entry) served', 'const entry = pool.ready[0];\n      if (entry) served'),
  ),
  mutant(
    'pools by the version of a template',
    'pools',
    'serves only creates of the very version of its template',
    ahead('return `${template.name}@${template.version} ${createHash', 'return `${template.name} ` || `${createHash'),
  ),
  mutant(
    'nothing of a create in what stands ready',
    'pools',
    'what stands ready holds nothing of whoever came before',
    ahead(
      '() => make(provider, makeAhead, template)',
      '() => make(provider, makeAhead, { ...template, setup: Object.entries(env).map(([name, value]) => `echo ${value} > ${name}`) })',
    ),
  ),
  mutant(
    'what no record owns is removed at start',
    'pools',
    'what a killed server left of them is gone after the next start',
    recovery('if (row && (isLiving(row.state) || row.host !== host)) return;', 'return;'),
  ),
];

const namespaces: Mutant[] = [
  mutant(
    'user namespace (and the drop of the uid, which forces one)',
    'namespaces',
    'has a %s namespace of its own',
    noDrop,
    noDisable,
    command("'--unshare-user', ", ''),
    command("'--uid',\n      '65534',\n      '--gid',\n      '65534',\n", ''),
  ),
  mutant(
    'pid namespace',
    'proc-tricks',
    'sees only its own processes',
    command("'--unshare-pid', ", ''),
    command("      '--as-pid-1',\n", ''),
    command("'--proc', '/proc'", "'--bind', '/proc', '/proc'"),
  ),
  mutant('network namespace', 'network', 'reaches no server on the loopback of the host', command("'--unshare-net', ", '')),
  mutant('network namespace: abstract sockets', 'host-sockets', 'reaches no abstract socket of the host', command("'--unshare-net', ", '')),
  mutant(
    'network namespace: interfaces and routes',
    'network',
    'has a loopback of its own and no way to anywhere else',
    command("'--unshare-net', ", ''),
  ),
  mutant('ipc namespace', 'other-tenants', 'sees nothing of a sandbox that runs beside it', command("'--unshare-ipc', ", '')),
  mutant(
    'uts namespace',
    'namespaces',
    'does not know the name of the host',
    command("'--unshare-uts', ", ''),
    command("      '--hostname',\n      'sandbox',\n", ''),
  ),
  mutant('cgroup namespace', 'namespaces', 'sees itself at the top of its cgroups', command(", '--unshare-cgroup'", '')),
  mutant(
    '--disable-userns (and the filter)',
    'namespace-escape',
    'makes no user namespace even where the filter would let it',
    noDisable,
    allow('unshare'),
  ),
  secondLine(
    'the filter on unshare',
    '--disable-userns',
    'namespace-escape',
    'makes no user namespace even where the filter would let it',
    allow('unshare'),
  ),
];

const identity: Mutant[] = [
  mutant('drop of the uid', 'identity', 'is, seen from the host, a uid of its own: not root, not the server, not a neighbour', noDrop),
  mutant(
    'one uid for each sandbox',
    'identity',
    'is, seen from the host, a uid of its own: not root, not the server, not a neighbour',
    uids('const uid = free.pop();', 'const uid = free.at(-1);'),
  ),
  mutant('leaving the groups', 'identity', 'keeps no group of a server that has some', launch('if (setgroups(0, NULL) != 0)', 'if (0)')),
  mutant('--uid, --gid', 'identity', 'is uid and gid 65534 without groups', command("'65534'", "'1000'")),
  mutant('--cap-drop ALL', 'identity', 'has no capability in any set, in any process', command("'--cap-drop'", "'--cap-add'")),
  mutant('--new-session', 'terminal-injection', 'is in a session of its own, as pid 1 is', command("      '--new-session',\n", '')),
  mutant('--as-pid-1', 'proc-tricks', 'sees only its own processes', command("      '--as-pid-1',\n", '')),
];

const files: Mutant[] = [
  mutant(
    'read-only /usr',
    'writable-paths',
    'has only these mounts writable',
    command("'--ro-bind', '/usr', '/usr'", "'--bind', '/usr', '/usr'"),
  ),
  mutant(
    'read-only /etc',
    'writable-paths',
    'has only these mounts writable',
    command(`'--ro-bind', \`\${stage}/etc\``, `'--bind', \`\${stage}/etc\``),
  ),
  mutant(
    'read-only guest',
    'writable-paths',
    'has only these mounts writable',
    command(`'--ro-bind', \`\${stage}/guest\``, `'--bind', \`\${stage}/guest\``),
  ),
  mutant(
    'read-only scripts',
    'code-injection',
    'cannot change the files of its skill',
    command(`'--ro-bind',\n  \`\${stage}/skill\``, `'--bind',\n  \`\${stage}/skill\``),
  ),
  mutant(
    'read-only dependencies',
    'dependencies',
    'cannot change the dependencies it runs with',
    command("dependencies ? ['--ro-bind', ", "dependencies ? ['--bind', "),
  ),
  mutant(
    'dependencies without setuid',
    'dependencies',
    'loads native code of its dependencies, and still none that it wrote',
    dependencyTree('mode: mode & 0o111 ? 0o755 : 0o644', 'mode'),
  ),
  mutant(
    'dependencies of one tenant (in the key, and in the query)',
    'dependencies',
    'gets nothing that was installed for another tenant',
    edit('packages/box/src/skills/dependencies/toolchain.ts')('[builderVersion, tenant, lock,', '[builderVersion, lock,'),
    buildRecords(
      '.where((eb) => eb.and({ tenant, key }))\n        .executeTakeFirst(),',
      '.where((eb) => eb.and({ key }))\n        .executeTakeFirst(),',
    ),
    buildRecords("selectAll().where('tenant', '=', tenant).where('key', 'in', keys)", "selectAll().where('key', 'in', keys)"),
  ),
  mutant(
    'links in installed dependencies',
    'dependencies',
    'is not started with a tree that leads elsewhere, whoever stored it',
    dependencyTree("if (!plain || posix.join(dirname(path), target).split('/')[0] === '..')", 'if (!plain && plain)'),
  ),
  mutant(
    'read-only root',
    'writable-paths',
    'writes nowhere but in the work area and to the standard devices',
    command("'--remount-ro', '/', ", ''),
  ),
  mutant(
    'read-only /dev',
    'writable-paths',
    'writes nowhere but in the work area and to the standard devices',
    command(", '--remount-ro', '/dev'", ''),
  ),
  mutant('read-only /proc', 'proc-tricks', 'has a /proc in which nothing opens for writing', command(", '--remount-ro', '/proc'", '')),
  mutant(
    'masks in /proc',
    'proc-tricks',
    'reads nothing of what tells about the kernel and its hardware',
    command('...maskedProc(), ', ''),
  ),
  mutant(
    'no /sys',
    'proc-tricks',
    'has no /sys and no cgroup file system',
    command("'--proc', '/proc'", "'--ro-bind', '/sys', '/sys', '--proc', '/proc'"),
  ),
  mutant(
    'an /etc of its own',
    'host-files',
    'has a root and an /etc of exactly these names',
    command(`'--ro-bind', \`\${stage}/etc\`, '/etc', ...alternatives()`, "'--ro-bind', '/etc', '/etc'"),
  ),
  mutant(
    'no folder of the host in the root',
    'host-files',
    'sees nothing of homes, state, secrets or the repository',
    command("'--proc', '/proc'", "'--ro-bind', '/var', '/var', '--proc', '/proc'"),
  ),
  mutant(
    'no home in the root',
    'host-files',
    'sees nothing of homes, state, secrets or the repository',
    command("'--proc', '/proc'", "'--ro-bind', '/root', '/root', '--proc', '/proc'"),
  ),
  mutant(
    '/usr/local and /usr/src hidden',
    'host-files',
    'sees nothing of what operators put into /usr by hand',
    command('    ...hiddenFolders(extra),\n', ''),
  ),
  mutant('noexec', 'executable-files', 'executes no program that it wrote', launch('next_number(), MS_NOEXEC)', 'next_number(), 0)')),
  mutant(
    'noexec: libraries',
    'executable-files',
    'loads no library that it wrote',
    launch('next_number(), MS_NOEXEC)', 'next_number(), 0)'),
  ),
];

const environment: Mutant[] = [
  mutant(
    'empty environment: server, launcher, --clearenv',
    'environment',
    'gives pid 1 an environment without anything of the server',
    launcher('env: {},', 'env: process.env,'),
    launch('char *empty[] = {NULL};', 'extern char **environ; char **empty = environ;'),
    command("    '--clearenv',\n", ''),
  ),
  mutant(
    'the environment of the program',
    'environment',
    'has only the variables of the contract and those of the caller',
    guestFrames(
      "if (strchr(argv[0], '/')) execve(argv[0], argv, env);",
      'if (strchr(argv[0], \'/\')) { static char *more[200]; int n = 0; while (env[n] && n < 190) { more[n] = env[n]; n++; } more[n] = "SKILLBOX_EXTRA=1"; execve(argv[0], argv, more); }',
    ),
  ),
  mutant(
    'blocked prefixes',
    'environment',
    'refuses a caller that sets %j',
    env("const blockedPrefixes = ['LD_', 'SANDBOX_', 'SKILL_'];", 'const blockedPrefixes: string[] = [];'),
  ),
  mutant(
    'blocked names',
    'environment',
    'refuses a caller that sets %j',
    env('if (blockedNames.has(name))', "if (blockedNames.has(name + '?'))"),
  ),
  mutant(
    'blocked names in skills',
    'code-injection',
    'refuses a skill whose own env changes how the interpreter starts',
    env('if (blockedNames.has(name))', "if (blockedNames.has(name + '?'))"),
  ),
];

const descriptors: Mutant[] = [
  mutant(
    'descriptors closed by the launcher',
    'descriptor-leak',
    'leaves pid 1 with its channel and nothing of the server',
    launch('  close_from(CHANNEL + 1);\n', '  if (0) close_from(CHANNEL + 1);\n'),
  ),
  mutant(
    'descriptors closed (by launcher and guest)',
    'descriptor-leak',
    'inherits no descriptor that leaked into the server',
    launch('  close_from(CHANNEL + 1);\n', '  if (0) close_from(CHANNEL + 1);\n'),
    guestFrames('  close_from(line < 0 ? 3 : 4);\n', ''),
  ),
  secondLine(
    'descriptors closed by the launcher only',
    'the guest closes them too',
    'descriptor-leak',
    'inherits no descriptor that leaked into the server',
    launch('  close_from(CHANNEL + 1);\n', '  if (0) close_from(CHANNEL + 1);\n'),
  ),
  mutant(
    'channel closed for programs (twice)',
    'descriptor-leak',
    'has three open descriptors: nothing, and two pipes',
    guestFrames('  close_from(line < 0 ? 3 : 4);\n', ''),
    guestMain('  fcntl(CHANNEL, F_SETFD, FD_CLOEXEC);\n', ''),
  ),
  mutant(
    'guest not dumpable',
    'ptrace',
    'opens nothing of pid 1 that would show or change it',
    guestMain('  prctl(PR_SET_DUMPABLE, 0);\n', ''),
  ),
  mutant(
    'guest not dumpable: its descriptors',
    'descriptor-leak',
    'finds no descriptor to take from pid 1',
    guestMain('  prctl(PR_SET_DUMPABLE, 0);\n', ''),
  ),
];

const filter: Mutant[] = [
  mutant('--seccomp', 'syscalls', 'is under the filter in every process, pid 1 included', command("'--seccomp', seccompFd, ", '')),
  mutant(
    'filter: deny by default',
    'syscalls',
    'refuses what only kernels, debuggers and escapes need',
    seccomp('returnErrno(ENOSYS), returnErrno(EPERM));', 'returnErrno(ENOSYS), returns.allow);'),
  ),
  mutant(
    'filter: calls newer than it',
    'syscalls',
    'finds no call that is newer than the filter',
    seccomp('jump(op.jgt, newestKnown, 0, 1), returnErrno(ENOSYS), ', ''),
  ),
  mutant('filter: mounts and handles', 'namespace-escape', 'mounts, unmounts and changes no root', allow('name_to_handle_at', 'fsconfig')),
  mutant('filter: unshare', 'namespace-escape', 'makes no namespace with unshare', allow('unshare')),
  mutant('filter: setns', 'namespace-escape', 'enters no namespace', allow('setns')),
  mutant(
    'filter: flags of clone (and --disable-userns)',
    'namespace-escape',
    'makes no namespace with clone',
    noDisable,
    seccomp('refuseBits: 0x7e020080', 'refuseBits: 0'),
  ),
  mutant(
    'filter: clone3',
    'namespace-escape',
    'finds no clone3, whose flags a filter cannot read',
    seccomp("'clone3', ", ''),
    allow('clone3'),
  ),
  mutant('filter: io_uring', 'syscalls', 'has no io_uring', seccomp("'io_uring_setup', ", ''), allow('io_uring_setup')),
  mutant('filter: ptrace', 'ptrace', 'traces nobody: not pid 1, not a child, not by being traced', allow('ptrace')),
  mutant(
    'filter: memory and descriptors of others',
    'ptrace',
    'reads and takes nothing from another process',
    allow('process_vm_readv', 'process_vm_writev', 'pidfd_getfd', 'kcmp'),
  ),
  mutant(
    'filter: TIOCSTI, TIOCLINUX',
    'terminal-injection',
    'types into no terminal with TIOCSTI or TIOCLINUX',
    seccomp('refuse: [0x5412, 0x541c]', 'refuse: []'),
  ),
  mutant(
    'filter: families of sockets',
    'network',
    'opens no socket that a network namespace does not bound',
    seccomp('allow: [1, 2, 10, 16]', 'allow: [1, 2, 10, 16, 17, 40]'),
  ),
  mutant(
    'filter: families of pairs',
    'network',
    'makes no pair of sockets but local ones',
    seccomp("'socketpair', argument: 0, allow: [1]", "'socketpair', argument: 0, allow: [1, 2, 10, 30, 40]"),
  ),
  mutant('filter: personality', 'syscalls', 'keeps its personality', seccomp('allow: [0, 0xffffffff]', 'allow: [0, 0xffffffff, 0x40000]')),
  mutant(
    'filter: architecture',
    'syscalls',
    'has no second table of calls to go around the filter',
    seccomp(', ...unless(auditArch[architecture], returns.kill)', ''),
  ),
  mutant('filter: clocks', 'signals-and-clocks', 'sets no clock', allow('adjtimex', 'clock_adjtime')),
];

const limits: Mutant[] = [
  mutant(
    'cgroup memory',
    'memory-bomb',
    'ends %s when it takes more memory than it has',
    cgroup("writeFileSync(join(memory, 'memory.limit_in_bytes'), String(limits.memoryBytes));", ''),
    cgroup("writeIfPresent(join(memory, 'memory.memsw.limit_in_bytes'), String(limits.memoryBytes));", ''),
  ),
  mutant(
    'cgroup memory: children together',
    'memory-bomb',
    'counts children together',
    cgroup("writeFileSync(join(memory, 'memory.limit_in_bytes'), String(limits.memoryBytes));", ''),
    cgroup("writeIfPresent(join(memory, 'memory.memsw.limit_in_bytes'), String(limits.memoryBytes));", ''),
  ),
  mutant(
    'cgroup memory: files in memory',
    'memory-bomb',
    'counts files in the work area, shared memory and memory files',
    cgroup("writeFileSync(join(memory, 'memory.limit_in_bytes'), String(limits.memoryBytes));", ''),
    cgroup("writeIfPresent(join(memory, 'memory.memsw.limit_in_bytes'), String(limits.memoryBytes));", ''),
  ),
  mutant(
    'cgroup swap',
    'memory-bomb',
    'has no swap beyond its memory',
    cgroup("writeIfPresent(join(memory, 'memory.memsw.limit_in_bytes'), String(limits.memoryBytes));", ''),
  ),
  mutant(
    'cgroup pids (and rlimit nproc, which holds the same number)',
    'fork-bomb',
    'gets at most 128 processes',
    cgroup("if (pids) writeFileSync(join(pids, 'pids.max'), String(limits.processes));", ''),
    noProcessLimit,
  ),
  mutant(
    'cgroup pids: threads (and rlimit nproc, which holds the same number)',
    'fork-bomb',
    'gets at most 128 threads',
    cgroup("if (pids) writeFileSync(join(pids, 'pids.max'), String(limits.processes));", ''),
    noProcessLimit,
  ),
  mutant(
    'cgroup cpu',
    'cpu-hog',
    'has a share that the kernel enforces',
    cgroup("if (cpu) writeFileSync(join(cpu, 'cpu.cfs_quota_us'), String(Math.round(limits.cpu * 100_000)));", ''),
  ),
  mutant(
    'rlimit nproc',
    'fork-bomb',
    'cannot raise its limit of processes',
    command("    ...(ids.kind === 'self' ? {} : { nproc: limits.processes + 4 }),\n    ...(cgroup.memory", '    ...(cgroup.memory'),
  ),
  ...['core: 0', 'nofile: openFiles', 'fsize: limits.diskBytes', 'memlock: 64 * 1024', 'msgqueue: 64 * 1024', 'sigpending: 1024'].map(
    (line) => mutant(`rlimit ${line.split(':')[0]}`, 'rlimits', 'has limits of its own, soft and hard alike', command(`  ${line},\n`, '')),
  ),
  mutant('size of the work area', 'disk-bomb', 'writes at most its bytes, wherever it writes', launch('size=%llu,', 'size=%llu0,')),
  mutant('inodes of the work area', 'disk-bomb', 'makes at most its number of files', launch('nr_inodes=%llu,', 'nr_inodes=%llu0,')),
  mutant(
    'size of one file',
    'disk-bomb',
    'makes no file larger than its disk, not even a hollow one',
    command('    fsize: limits.diskBytes,\n', ''),
  ),
  mutant(
    'log cap in the guest',
    'log-bomb',
    'cuts a gigabyte of output, with a mark, while the box answers',
    guest('uint64_t take = (uint64_t)n < room ? (uint64_t)n : room;', 'uint64_t take = (uint64_t)n; (void)room;'),
  ),
  mutant(
    'time limit',
    'signals-and-clocks',
    'cannot outlast its time by ignoring or stopping',
    runOnce('after(limits.timeoutMs,', 'after(limits.timeoutMs + 4000,'),
  ),
];

const ends: Mutant[] = [
  mutant(
    'dying with the server: launcher, its child, --die-with-parent',
    'server-death',
    'dies with the server even when pid 1 does not notice',
    ...immortal,
  ),
  secondLine(
    '--die-with-parent',
    'the launcher and the namespace it makes',
    'server-death',
    'dies with the server even when pid 1 does not notice',
    command("      '--die-with-parent',\n", ''),
  ),
  mutant(
    'end with the channel (and all of that)',
    'server-death',
    'dies with the server, also what has detached itself',
    ...immortal,
    guest('if (fds[0].revents && read_requests() < 0) leave(0);', 'if (fds[0].revents && read_requests() < 0) pause();'),
  ),
  secondLine(
    'dying with the server',
    'pid 1 ends with its channel',
    'server-death',
    'dies with the server, also what has detached itself',
    ...immortal,
  ),
  mutant(
    'pid namespace of the launcher',
    'daemons',
    'ends at a cancel at any moment of its start',
    launch('if (unshare(CLONE_NEWPID) != 0)', 'if (0)'),
  ),
  mutant(
    'end of all processes before collecting',
    'swapped-links',
    'has ended every process before the first file is read',
    guest('static void end_everything(void) {\n', 'static void end_everything(void) {\n  return;\n'),
  ),
  hanging(
    'end of all processes with the program',
    'daemons',
    'answers at the end of the program, not of its children, and leaves none of them',
    guest('static void end_everything(void) {\n', 'static void end_everything(void) {\n  while (waitpid(-1, NULL, 0) > 0) ;\n  return;\n'),
  ),
  hanging(
    'kill at the time limit',
    'daemons',
    'kills the whole tree at %s',
    guest('if (signal == SIGKILL) kill(-1, SIGKILL);', 'if (signal == SIGKILL) ;'),
    runOnce('    after(killGraceMs, killAll);\n', ''),
  ),
  secondLine(
    'kill by the guest only',
    'the host kills it a second later',
    'daemons',
    'kills the whole tree at %s',
    guest('if (signal == SIGKILL) kill(-1, SIGKILL);', 'if (signal == SIGKILL) ;'),
  ),
  hanging(
    'kill from outside when the guest does not answer',
    'hostile-guest',
    'is ended when it never says that it has ended',
    runOnce('    after(killGraceMs, killAll);\n', ''),
  ),
  mutant(
    'zombies collected',
    'daemons',
    'collects zombies of parents that do not',
    guest('    pid_t pid = waitpid(-1, &status, WNOHANG);', '    pid_t pid = waitpid(program.pid, &status, WNOHANG);'),
  ),
];

const collection: Mutant[] = [
  mutant(
    'links not followed (look and open)',
    'planted-files',
    'does not follow, open or wait for a %s as output.json',
    guest('&info, AT_SYMLINK_NOFOLLOW)', '&info, 0)'),
    guest('openat(dir, name, O_RDONLY | O_NOFOLLOW |', 'openat(dir, name, O_RDONLY |'),
  ),
  mutant(
    'links seen for what they are',
    'planted-files',
    'leaves a %s behind as an artifact, and says so',
    guest('&info, AT_SYMLINK_NOFOLLOW)', '&info, 0)'),
  ),
  mutant(
    'links swapped in (kill, look and open)',
    'swapped-links',
    'follows no link that a daemon swaps in while files are collected',
    guest('static void end_everything(void) {\n', 'static void end_everything(void) {\n  return;\n'),
    guest('&info, AT_SYMLINK_NOFOLLOW)', '&info, 0)'),
    guest('openat(dir, name, O_RDONLY | O_NOFOLLOW |', 'openat(dir, name, O_RDONLY |'),
  ),
  mutant(
    'folder of files not a link',
    'planted-files',
    'takes nothing when the folders themselves are links',
    guest('open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)', 'open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)'),
  ),
  hanging(
    'fifos not waited for (kind and O_NONBLOCK)',
    'planted-files',
    'does not follow, open or wait for a %s as output.json',
    guest('else if (S_ISREG(info.st_mode)) send_file', 'else if (S_ISREG(info.st_mode) || S_ISFIFO(info.st_mode)) send_file'),
    guest(' | O_NONBLOCK | O_CLOEXEC);\n  if (fd < 0 || fstat', ' | O_CLOEXEC);\n  if (fd < 0 || fstat'),
  ),
  mutant(
    'depth of a tree',
    'artifact-names',
    'survives a tree deeper than any path',
    guest('#define MAX_DEPTH 32', '#define MAX_DEPTH 100000'),
  ),
  mutant(
    'number of names, in the guest',
    'artifact-names',
    'sends no more names than it may have files, readable or not',
    guest('  else { b->files--; announce(b, kind, 0, path); }', '  announce(b, kind, 0, path);'),
  ),
  mutant(
    'names that are not text',
    'artifact-names',
    'skips names that are not text, and keeps odd ones that are',
    runOnce('return !/[\\p{Cc}\\ufffd]/u.test(path);', 'return true || path;'),
  ),
  mutant(
    'hollow files',
    'planted-files',
    'refuses a hollow file that claims more than it may leave',
    command('fsize: limits.diskBytes', 'fsize: 2 ** 40'),
    guest('else if (size > b->bytes || size > b->per_file)', 'else if (0)'),
    runOnce("else if (bytes > limits.artifactBytes) problem ??= 'artifact_too_large';", ''),
  ),
];

const host: Mutant[] = [
  mutant(
    'host: paths of entries',
    'hostile-guest',
    'is ended for the path %j',
    runOnce('if (!isPlainPath(next.path)) throw', 'if (!isPlainPath(next.path) && false) throw'),
  ),
  mutant(
    'host: length of frames',
    'hostile-guest',
    'is ended for %s',
    channel('if (length > maxIncoming)', 'if (length > maxIncoming * 2 ** 20)'),
  ),
  mutant(
    'host: amount of output',
    'hostile-guest',
    'is ended for %s',
    runOnce('if (logBytes > limits.logBytes)', 'if (logBytes > limits.logBytes * 100)'),
  ),
  mutant(
    'host: order of frames',
    'hostile-guest',
    'is ended for %s',
    runOnce("if (started === (frame.type === 'R'))", "if (!started && frame.type !== 'R')"),
  ),
  mutant(
    'host: files only after the end',
    'hostile-guest',
    'is ended for %s',
    runOnce("else if (!exit) throw new ProtocolViolation('files before the end of the program');\n      else if", 'else if'),
  ),
  hanging(
    'host: number of entries',
    'hostile-guest',
    'is ended for %s',
    runOnce('if (entries > limits.artifacts + 2)', 'if (entries > limits.artifacts + 2000)'),
  ),
  hanging('host: sizes that are announced', 'hostile-guest', 'is ended for %s', runOnce('!entry || chunk.length > left ||', '!entry ||')),
  mutant(
    'host: number and size of files',
    'hostile-guest',
    'gets no file beyond the limits, whatever size it names',
    runOnce("if (artifacts > limits.artifacts) problem ??= 'too_many_artifacts';", 'if (false) problem = null;'),
  ),
  mutant(
    'host: size of output.json',
    'hostile-guest',
    'gets no output beyond the limit',
    runOnce('isOutput && next.size > limits.outputBytes', 'isOutput && next.size > limits.outputBytes * 100'),
  ),
  mutant('host: one file for one name', 'hostile-guest', 'gets one file for one name', runOnce('seen.has(next.path) || ', '')),
  mutant(
    'host: numbers of the guest',
    'hostile-guest',
    'gets only numbers that a record can hold',
    channel('Math.min(Number(value), Number.MAX_SAFE_INTEGER)', 'Number(value)'),
  ),
  hanging(
    'host: a closed channel',
    'hostile-guest',
    'is ended when it closes the channel and lives on',
    runOnce('    killAll();\n    const { said, killed }', '    const { said, killed }'),
  ),
  mutant(
    'host: a file that breaks off',
    'hostile-guest',
    'leaves no consumer of a large file waiting',
    runOnce("      stream?.through.destroy(new Error('the sandbox ended'));\n", ''),
  ),
  mutant(
    'cp: a folder on the way that is a link',
    'link-race',
    'the caller’s side swaps while folders are copied in and out',
    heldFolder(' | constants.O_NOFOLLOW', ''),
  ),
  mutant('living: largest file', 'rlimits', 'has limits of its own, soft and hard alike', command('      fsize: limits.diskBytes,\n', '')),
  mutant(
    'living: what outgrows its disk is ended',
    'disk-bomb',
    'is ended when it outgrows its disk with %s',
    edit(`${provider}/disk-limits.ts`)('use.bytes > limitBytes || ', 'use.bytes > limitBytes * 100 || '),
  ),
  mutant(
    'living: one uid for each sandbox',
    'identity',
    'is, seen from the host, a uid of its own: not root, not the server, not a neighbour',
    living('if (!taken.has(uid)) return uid;', 'return uid;'),
  ),
  mutant(
    'living: what pid 1 holds',
    'descriptor-leak',
    'leaves pid 1 with its channel and nothing of the server',
    guestPrograms('dup2(nothing, 2) < 0', '0'),
  ),
  mutant(
    'host: rows of one tenant',
    'other-tenants',
    'answers another tenant as if nothing were there',
    records(
      "if (tenant !== undefined) query = query.where('tenant', '=', tenant);\n      return query.executeTakeFirst();",
      'return query.executeTakeFirst();',
    ),
  ),
];

const images: readonly Mutant[] = [
  mutant(
    'images: scripts that cannot be written',
    'docker-runs',
    'is to the engine exactly this',
    imageRuns("Target: '/sandbox/scripts', ReadOnly: true", "Target: '/sandbox/scripts'"),
  ),
  mutant(
    'images: nothing is executed from the work area',
    'docker-runs',
    'cannot write its scripts or its root, run what it wrote, reach a network or the way to its guest',
    imageRuns('`rw,noexec,nosuid,nodev,size=', '`rw,exec,nosuid,nodev,size='),
  ),
  mutant(
    'images: the folder of the socket is shut',
    'docker-runs',
    'cannot write its scripts or its root, run what it wrote, reach a network or the way to its guest',
    imageRuns('      chmodSync(folder, 0o700);\n    }\n    const', '    }\n    const'),
  ),
];

const webhooks: Mutant[] = [
  mutant(
    'webhooks: the address that is written',
    'webhook-addresses',
    'reaches no address that is not on the internet, however it is spelled',
    destination('return isIP(host) === 0 ? undefined : closed(host, host);', 'return undefined;'),
  ),
  mutant(
    'webhooks: the address that a name means',
    'webhook-addresses',
    'reaches none by a name either, and none by a name that means another address from one moment to the next',
    destination('lookup: lookupBy(resolve, closed)', 'lookup: lookupBy(resolve, () => undefined)'),
  ),
];

/**
 * Not here, because no line of ours could be taken away: no-new-privileges, nosuid and nodev (bubblewrap sets them on
 * every mount whatever it is told), and the x32 table (unknown numbers answer ENOSYS anyway). Their tests are in the table of docs/security.md all the same.
 */
export const mutants: readonly Mutant[] = [
  ...warm,
  ...pools,
  ...nestMutants,
  ...workspaceMutants,
  ...namespaces,
  ...identity,
  ...files,
  ...environment,
  ...descriptors,
  ...filter,
  ...limits,
  ...ends,
  ...collection,
  ...host,
  ...egressMutants,
  ...images,
  ...credentialMutants,
  ...webhooks,
  ...composeMutants,
];
