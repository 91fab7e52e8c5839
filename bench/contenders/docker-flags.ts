/** What hardens a container, as far as flags of `docker run` can. */
export const dockerFlags = [
  ...['--rm', '--network', 'none', '--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
  ...['--user', '65534:65534', '--pids-limit', '128', '--memory', '256m', '--cpus', '2', '--tmpfs', '/tmp:size=64m'],
];
