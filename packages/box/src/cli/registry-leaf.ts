/** A command of the registry as the shell sees it. */

import type { z } from 'zod';
import type { Command } from '../commands/command.ts';
import type { CliContext, Leaf, Outcome } from './leaf.ts';
import { ownCall, plainCall } from './own-call.ts';

/** What the CLI does with a command beyond flags in and a table out. */
export interface Polish {
  /** Where the command's own speaks of HTTP. */
  readonly description?: string;
  readonly input: z.ZodObject;
  run(context: CliContext, input: Record<string, unknown>): Promise<Outcome>;
}

export function leafOf(command: Command, cli: NonNullable<Command['cli']>, polish?: Polish): Leaf {
  const { name, summary } = command;
  const description = polish?.description ?? command.description;
  return {
    ...{ name, summary, words: cli.words, args: cli.args ?? [], examples: cli.examples, remote: true },
    ...(description && { description }),
    input: polish?.input ?? command.input,
    run: polish?.run ?? ((context, input) => (command.own ? ownCall : plainCall)(context, command, input)),
  };
}
