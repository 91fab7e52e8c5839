/** Commands that have their place in the shell of the dashboard rather than on a page. */
export const inShell: readonly string[] = ['signin.exchange', 'signin.end', 'signin.link', 'key.self', 'event.follow', 'box.health'];

/** Commands of the registry that the dashboard has no place for, and why. */
export const leftOut: Readonly<Record<string, string>> = {
  'execution.logs': 'the page of an execution reads the same log as it comes, with which stream said what',
  'execution.files': 'the record of an execution has the list already',
  'sandbox.resize': 'a terminal tells its size over its own connection',
  'session.heartbeat': 'who works on a session tells so; looking at its page is no work on it',
  'box.ready': 'for balancers and probes; the dashboard shows what is wrong from health and host',
};
