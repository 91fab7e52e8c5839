/** Every command of the shell: those a box answers, and those that need none. */

import { localCommands } from '../commands/local/registry.ts';
import type { Leaf } from './leaf.ts';
import { remoteLeaves } from './remote.ts';

const localLeaves: readonly Leaf[] = localCommands.map(({ name, summary, description, input, cli, run }) => ({
  ...{ name, summary, input, words: cli.words, args: cli.args ?? [], examples: cli.examples, remote: false },
  ...(description && { description }),
  run: (context, given) => run(context, input.parse(given)),
}));

/** By group, in the order of the help text. */
export const groups: readonly { readonly title: string; readonly words: readonly string[] }[] = [
  { title: 'The box', words: ['up', 'down', 'serve', 'health', 'doctor'] },
  { title: 'Skills', words: ['skill', 'run', 'exec'] },
  { title: 'Access', words: ['key', 'tenant', 'events'] },
  { title: 'More', words: ['config', 'completion', 'version'] },
];

/** First words that stand for several commands. */
export const familySummaries: Readonly<Record<string, string>> = {
  skill: 'Write, add, find and read skills',
  exec: 'Look at executions and stop them',
  key: 'API keys',
  tenant: 'Tenants and their limits',
  config: 'Settings and the manifest',
};

const rank = (leaf: Leaf): number => {
  const all = groups.flatMap(({ words }) => words);
  return all.indexOf(leaf.words.split(' ')[0] ?? '');
};

export const leaves: readonly Leaf[] = [...localLeaves, ...remoteLeaves].sort((one, other) => rank(one) - rank(other));
