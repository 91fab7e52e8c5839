/**
 * Commands of the graph that need no other: who asks for one of them by its first word does not wait until the hundred others are loaded.
 */

import { graphCommands } from '../commands/graph.ts';
import type { Leaf } from './leaf.ts';
import { leafOf } from './registry-leaf.ts';

export const graphLeaves: readonly Leaf[] = graphCommands.flatMap((command) =>
  command.cli && !command.cli.polished ? [leafOf(command, command.cli)] : [],
);
