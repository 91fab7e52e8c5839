/** How the first words of commands are grouped and described. */

/** By group, in the order of the help text. */
export const groups: readonly { readonly title: string; readonly words: readonly string[] }[] = [
  { title: 'The box', words: ['up', 'open', 'down', 'restart', 'serve', 'health', 'doctor'] },
  {
    title: 'The environment',
    words: ['describe', 'render', 'sync', 'bootstrap', 'status', 'logs', 'focus', 'context', 'shell', 'pulse', 'session'],
  },
  { title: 'Skills', words: ['skill', 'run', 'exec'] },
  { title: 'Sandboxes', words: ['sandbox', 'template', 'route', 'credits', 'inspect', 'reap'] },
  { title: 'Access', words: ['key', 'tenant', 'secret', 'events', 'webhook'] },
  { title: 'Agents', words: ['mcp'] },
  { title: 'More', words: ['config', 'completion', 'version'] },
];

export const firstWords: ReadonlySet<string> = new Set(groups.flatMap(({ words }) => words));

/** First words that stand for several commands. */
export const familySummaries: Readonly<Record<string, string>> = {
  skill: 'Write, add, find and read skills',
  exec: 'Look at executions and stop them',
  sandbox: 'Make sandboxes that live, use them, end them',
  template: 'What sandboxes are made from',
  route: 'Where a sandbox would be made',
  inspect: 'The machine, its sandboxes and providers, and what is left over',
  credits: 'What a tenant can pay for sandboxes with, and what it paid',
  key: 'API keys',
  tenant: 'Tenants and their limits',
  secret: 'Secrets that the box sends on for sandboxes',
  webhook: 'Tell a hub what happens in the box',
  config: 'Settings and the manifest',
  pulse: 'The supervisor that keeps the environment healthy',
  session: 'Durable timelines of work notes',
};

/** Shorter words for the same. */
export const familyAliases: Readonly<Record<string, string>> = { sandbox: 'sb' };
