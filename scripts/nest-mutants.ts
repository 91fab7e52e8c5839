/** What a nest gives to each run that it clones, taken away in turn. */

import type { Edit, Mutant } from './mutants.ts';

const nest = (find: string, replace: string): Edit => ({ file: 'packages/box/native/guest-nest.c', find, replace });

const mutant = (layer: string, file: string, title: string, ...edits: Edit[]): Mutant => ({
  layer: `nest: ${layer}`,
  edits,
  test: { file: `${file}.test.ts`, title },
});

const without = (flag: string): Edit => nest(` | ${flag}`, '');
const noFilter = [
  nest('  if (nest.telling.length) ends = (int)syscall(SYS_seccomp, SET_MODE_FILTER, NEW_LISTENER, &nest.telling);\n', ''),
  nest('  if (ends < 0) must((int)syscall(SYS_seccomp, SET_MODE_FILTER, 0, &nest.filter), "cannot set the filter");\n', ''),
];

export const nestMutants: readonly Mutant[] = [
  {
    ...mutant('filter, what both have', 'syscalls', 'refuses what only kernels, debuggers and escapes need', ...noFilter),
    held: 'the filter of the nest, which every run inherits',
  },
  mutant('filter: mounts', 'namespace-escape', 'makes no namespace with clone', ...noFilter),
  mutant(
    'capabilities',
    'identity',
    'has no capability in any set, in any process',
    nest('  must((int)syscall(SYS_capset, &header, none), "cannot drop the capabilities");\n', '  (void)header, (void)none;\n'),
  ),
  mutant(
    'bounding set',
    'identity',
    'has no capability in any set, in any process',
    nest('  for (int capability = 0; prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0; capability++) ;\n', ''),
  ),
  mutant('the turn of a run', 'hostile-guest', 'is not taken for the next run, whatever it says', {
    file: 'packages/box/src/sandbox/providers/guest/run-once.ts',
    find: "value?.type === type && value.payload.toString('latin1') === payload",
    replace: 'value?.type === type && payload !== undefined',
  }),
  mutant('network namespace', 'warm', 'no two runs share a namespace or a process', without('CLONE_NEWNET')),
  mutant('ipc namespace', 'warm', 'what one run leaves the next does not find', without('CLONE_NEWIPC')),
  mutant(
    'hidden files of /proc',
    'proc-tricks',
    'reads nothing of what tells about the kernel and its hardware',
    nest('  for (char **path = nest.files; *path; path++) must(mount(COVER_FILE, *path, NULL, MS_BIND, NULL), *path);\n', ''),
  ),
  mutant(
    'read-only /proc',
    'writable-paths',
    'has only these mounts writable',
    nest('  must(mount(NULL, "/proc", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, NULL), "cannot make /proc read-only");\n', ''),
  ),
  mutant(
    'programs in the work area',
    'executable-files',
    'has work areas without programs, devices and setuid',
    nest('MS_NOSUID | MS_NODEV | MS_NOEXEC, options)', 'MS_NOSUID | MS_NODEV, options)'),
  ),
  mutant(
    'a session of its own',
    'terminal-injection',
    'is in a session of its own, as pid 1 is',
    nest('  must(setsid(), "cannot leave the session of the nest");\n', ''),
  ),
  mutant(
    'descriptors of the nest, in a copy',
    'warm',
    'a run sees its own processes and descriptors, and no others',
    nest('  close_from(CHANNEL + 1);\n', ''),
  ),
  mutant(
    'pid 1 that nobody reads',
    'warm',
    'the line by which its job came is closed before it begins',
    nest('  must(prctl(PR_SET_DUMPABLE, 0), "cannot hide");\n', ''),
  ),
];
