/** A command of the graph: the server answers it, and the CLI does the same work by itself, since it must work before there is a server. */

import { exitCodes, type Scope } from '@skillbox/protocol';
import type { z } from 'zod';
import type { Runtime } from '../graph/runtime.ts';
import { type CliFace, type Command, type CommandContext, command, type FollowFace, type HttpFace } from './command.ts';

export interface GraphCommand<I extends z.ZodObject, O extends z.ZodType> {
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  readonly effect: 'read' | 'change';
  /** Default: graph:read or graph:use, by its effect. */
  readonly scope?: Scope;
  readonly input: I;
  readonly output: O;
  readonly http: HttpFace;
  readonly cli: CliFace;
  operate(runtime: Runtime, input: z.output<I>): Promise<z.output<O>>;
  readonly tellsProgress?: boolean;
  readonly follow?: FollowFace<I>;
  /** 1: an error, 2: drift, 3: a person must give something. Default: 0. */
  exit?(result: z.output<O>): number;
}

/** How the CLI does it without a server. */
export interface OwnWork {
  operate(runtime: Runtime, input: unknown): Promise<unknown>;
  exit(result: unknown): number;
}

export function graphCommand<I extends z.ZodObject, O extends z.ZodType>(definition: GraphCommand<I, O>): Command {
  const { effect, input, output, operate, exit = () => exitCodes.ok, ...rest } = definition;
  return {
    ...command({
      ...rest,
      effect,
      scope: definition.scope ?? (effect === 'read' ? 'graph:read' : 'graph:use'),
      ...(effect === 'change' && { audited: true }),
      input,
      output: { kind: 'json', schema: output },
      run: async (context, given) => operate(await serverRuntime(context), given),
    }),
    own: { operate: operate as OwnWork['operate'], exit: exit as OwnWork['exit'] },
  };
}

/** The server at work for a caller. */
export async function serverRuntime({ box, caller, signal, progress }: CommandContext): Promise<Runtime> {
  const tell = progress && (await import('../graph/masked-progress.ts')).maskedProgress(progress);
  return { config: box.config, signal, server: true, inside: caller.inside, progress: tell ?? (() => undefined) };
}

/** Of an input that names several with commas between them. */
export const listed = (text: string | undefined): string[] => text?.split(',') ?? [];
