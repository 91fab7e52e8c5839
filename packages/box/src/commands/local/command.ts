/** What a command is that needs no running box: declared once, like the others, and run by this process. */

import type { z } from 'zod';
import type { CliContext, Outcome } from '../../cli/leaf.ts';
import type { CliFace } from '../command.ts';

export interface LocalCommand<I extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  readonly input: I;
  readonly cli: CliFace;
  run(context: CliContext, input: z.output<I>): Promise<Outcome>;
}

/** Keeps the input's type for `run`, then forgets it so that all commands fit one list. */
export function localCommand<I extends z.ZodObject>(definition: LocalCommand<I>): LocalCommand {
  return definition as unknown as LocalCommand;
}
