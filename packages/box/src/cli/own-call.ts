/** A command of the graph, done by this process: it must work before there is a server. */

import { BoxError } from '@skillbox/protocol';
import type { Command } from '../commands/command.ts';
import type { Config } from '../config.ts';
import type { Runtime } from '../graph/runtime.ts';
import { onInterrupt } from '../process/interrupts.ts';
import type { CliContext, Flags, Outcome } from './leaf.ts';
import { callWithProgress } from './progress-call.ts';
import { viewOf } from './views.ts';

export interface OwnCallOptions {
  /** Flags of this command that are settings. */
  readonly flags?: Flags;
  /** In the place of the view that the command has. */
  view?(result: unknown, config: Config): string | Promise<string>;
}

/** In this process, unless the flags or the environment name a box to ask. */
export async function ownCall(
  context: CliContext,
  command: Command,
  input: Record<string, unknown>,
  { flags = {}, view }: OwnCallOptions = {},
): Promise<Outcome> {
  const { io } = context;
  const { own } = command;
  const config = context.config(flags);
  if (!own || config.serverUrl !== undefined) {
    const outcome = await plainCall(context, command, input);
    return own ? { ...outcome, exit: own.exit(outcome.value) } : outcome;
  }
  return withRuntime(context, config, async (runtime) => {
    const result = await own.operate(runtime, command.input.parse(input));
    return { value: result, text: view ? await view(result, config) : viewOf(command.name, result, io, input), exit: own.exit(result) };
  });
}

/** Ctrl-C ends the work in order. */
export async function withRuntime<T>({ io }: CliContext, config: Config, work: (runtime: Runtime) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  const interrupts = onInterrupt(() => abort.abort(new BoxError('cancelled', 'Interrupted.')));
  try {
    // One line: what goes on is in it, what has ended is in the report.
    const progress: Runtime['progress'] = (text, step) => {
      if (!step || step.state === 'running') io.progress.show(text);
    };
    return await work({ config, server: false, signal: abort.signal, progress });
  } finally {
    io.progress.clear();
    interrupts.stop();
  }
}

export async function plainCall({ client, io }: CliContext, command: Command, input: Record<string, unknown>): Promise<Outcome> {
  const box = await client();
  const { body, text } = command.tellsProgress ? await callWithProgress(box, io, command, input) : await box.call(command, input);
  return { value: body ?? {}, ...(command.output.kind === 'json' && { raw: text }), text: viewOf(command.name, body, io, input) };
}
