/** What a sandbox consists of, by the names that doctor and accept_missing use. */
export const sandboxLayers = ['uid', 'user-namespace', 'seccomp', 'cgroup-memory', 'cgroup-pids', 'cgroup-cpu', 'noexec'] as const;
type SandboxLayer = (typeof sandboxLayers)[number];

/** Those an operator can do without on a host that lacks them; the others are the floor. */
export const acceptableLayers = ['uid', 'cgroup-memory', 'cgroup-pids', 'cgroup-cpu', 'noexec'] as const satisfies readonly SandboxLayer[];
