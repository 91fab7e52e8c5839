import type { Command } from '../commands/command.ts';
import { commands } from '../commands/registry.ts';

/** For what the CLI calls by itself. */
export function commandNamed(name: string): Command {
  const command = commands.find((candidate) => candidate.name === name);
  if (command) return command;
  throw new Error(`There is no command ${name}.`);
}
