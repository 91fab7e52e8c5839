/** One call of the CLI, from words to exit code. */

import { exitCodes } from '@skillbox/protocol';
import { loadConfig, wantsColour } from '../config.ts';
import { createClient } from './client.ts';
import { findConnection } from './connection.ts';
import { exitCodeOf, failureBody, failureText } from './failure.ts';
import { settingsOf, wantsJson } from './globals.ts';
import { createIo, type Io } from './io.ts';
import type { CliContext, Outcome } from './leaf.ts';
import { leaves } from './leaves.ts';
import { createPaint } from './paint.ts';
import { decode } from './parameters.ts';
import { type Invocation, parseInvocation } from './program.ts';

export async function execute(argv: readonly string[]): Promise<number> {
  const colour = wantsColour();
  let json = asksForJson(argv);
  try {
    const invocation = parseInvocation(argv, {
      colour: colour && process.stdout.isTTY === true,
      write: (text) => void process.stdout.write(text),
    });
    if (!invocation) return exitCodes.ok;
    json = wantsJson(invocation.globals);
    const io = createIo({ json, colour });
    const outcome = await invocation.leaf.run(contextOf(invocation, io), decode(invocation.leaf, invocation.given));
    io.progress.clear();
    print(outcome, io);
    return outcome.exit ?? exitCodes.ok;
  } catch (error) {
    if (json) process.stdout.write(`${JSON.stringify(failureBody(error))}\n`);
    else
      process.stderr.write(
        `${process.stderr.isTTY ? '\r\x1b[K' : ''}${failureText(error, createPaint(colour && process.stderr.isTTY === true))}\n`,
      );
    return exitCodeOf(error);
  }
}

function contextOf({ globals }: Invocation, io: Io): CliContext {
  const flags = settingsOf(globals);
  const config: CliContext['config'] = (more = {}) => loadConfig({ flags: { ...flags, ...more } });
  return { io, flags, config, leaves, client: () => createClient(findConnection(config())) };
}

function print({ value, raw, text }: Outcome, io: Io): void {
  if (!io.json) {
    if (text !== undefined && text !== '') io.print(text);
    return;
  }
  if (raw !== undefined) io.print(raw);
  else if (value !== undefined) io.print(JSON.stringify(value));
}

/** For faults that are found before the flags are understood. */
function asksForJson(argv: readonly string[]): boolean {
  return argv.some(
    (word, at) =>
      word === '--json' || word === '--output=json' || word === '-ojson' || (word === 'json' && /^(-o|--output)$/.test(argv[at - 1] ?? '')),
  );
}
