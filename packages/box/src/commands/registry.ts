/** Every command of a running box, once. Routes, OpenAPI and the CLI are made from this list. */

import { accessCommands } from './access.ts';
import type { Command } from './command.ts';
import { eventCommands } from './events.ts';
import { executionCommands } from './executions.ts';
import { skillCommands } from './skills.ts';
import { statusCommands } from './status.ts';

export const commands: readonly Command[] = [
  ...skillCommands,
  ...executionCommands,
  ...accessCommands,
  ...eventCommands,
  ...statusCommands,
];
