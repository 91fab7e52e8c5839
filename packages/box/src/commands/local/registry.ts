/** Every command that needs no running box, once. */

import { boxCommands } from './box.ts';
import type { LocalCommand } from './command.ts';
import { completionCommands } from './completion.ts';
import { configCommands } from './config.ts';
import { pulseProcessCommands } from './pulse.ts';
import { skillAuthorCommands } from './skills.ts';
import { templateAuthorCommands } from './templates.ts';

export const localCommands: readonly LocalCommand[] = [
  ...boxCommands,
  ...pulseProcessCommands,
  ...skillAuthorCommands,
  ...templateAuthorCommands,
  ...configCommands,
  ...completionCommands,
];
