/** Every command of the shell: those a box answers, and those that need none. */

import { localCommands } from '../commands/local/registry.ts';
import { groups } from './families.ts';
import type { Leaf } from './leaf.ts';
import { mcpLeaf } from './mcp.ts';
import { mcpInstallLeaf } from './mcp-install.ts';
import { remoteLeaves } from './remote.ts';
import { cpLeaf } from './sandbox-cp.ts';
import { shellLeaf } from './sandbox-shell.ts';
import { exportLeaf } from './skill-export.ts';
import { workspaceShellLeaf } from './workspace-shell.ts';

const localLeaves: readonly Leaf[] = localCommands.map(({ name, summary, description, input, cli, run }) => ({
  ...{ name, summary, input, words: cli.words, args: cli.args ?? [], examples: cli.examples, remote: false },
  ...(description && { description }),
  run: (context, given) => run(context, input.parse(given)),
}));

const order = new Map(groups.flatMap(({ words }) => words).map((word, at) => [word, at]));
const rank = ({ words }: Leaf): number => order.get(words.split(' ')[0] ?? '') ?? -1;

export const leaves: readonly Leaf[] = [
  ...localLeaves,
  ...remoteLeaves,
  shellLeaf,
  workspaceShellLeaf,
  cpLeaf,
  exportLeaf,
  mcpLeaf,
  mcpInstallLeaf,
].sort((one, other) => rank(one) - rank(other));
