/** One call of the CLI, from words to exit code. */

import { BoxError, exitCodes } from '@skillbox/protocol';
import type { loadConfig } from '../config.ts';
import { exitCodeOf, failureBody, failureText } from './failure.ts';
import { firstWords } from './families.ts';
import { settingsOf, wantsJson } from './globals.ts';
import { createIo, type Io } from './io.ts';
import type { CliContext, Leaf, Outcome } from './leaf.ts';
import { createPaint } from './paint.ts';
import { decode } from './parameters.ts';
import { type Invocation, parseInvocation } from './program.ts';

export async function execute(argv: readonly string[]): Promise<number> {
  const colour = (process.stdout.isTTY || process.stderr.isTTY) === true && (await import('../config.ts')).wantsColour();
  let json = asksForJson(argv);
  try {
    const { invocation, leaves } = await understand(argv);
    if (!invocation) return exitCodes.ok;
    json = wantsJson(invocation.globals);
    const io = createIo({ json, colour });
    const input = decode(invocation.leaf, invocation.given);
    const { isInside, loadConfig } = await import('../config.ts');
    const context = contextOf(invocation, leaves, io, loadConfig);
    const run = (): Promise<Outcome> => invocation.leaf.run(context, input);
    const outcome = isInside() ? await (await import('./inside.ts')).fromInside(context, invocation.leaf, run) : await run();
    io.progress.clear();
    print(outcome, io);
    return outcome.exit ?? exitCodes.ok;
  } catch (error) {
    if (json) process.stdout.write(`${JSON.stringify(failureBody(error))}\n`);
    else
      process.stderr.write(
        `${process.stderr.isTTY ? '\r\x1b[K' : ''}${failureText(error, createPaint(colour && process.stderr.isTTY === true))}\n`,
      );
    const exit = exitCodeOf(error);
    return exit === exitCodes.usage && (await isOfGraph(argv)) ? exitCodes.failed : exit;
  }
}

/** Commands of the graph end with 2 for drift: a wrong flag or a manifest that cannot be read must not look like it. */
async function isOfGraph(argv: readonly string[]): Promise<boolean> {
  const first = argv.find((word) => firstWords.has(word));
  const { commands } = await import('../commands/registry.ts');
  return commands.some(({ own, cli }) => own !== undefined && cli?.words.split(' ')[0] === first);
}

/** First words of commands that are loaded without all the others: what people and agents ask for all day. */
const quickWords = ['describe', 'render', 'sync', 'bootstrap', 'status', 'context', 'focus'];

async function understand(argv: readonly string[]): Promise<{ invocation: Invocation | undefined; leaves: readonly Leaf[] }> {
  const write = (text: string): void => void process.stdout.write(text);
  if (quickWords.includes(argv[0] ?? '')) {
    const { graphLeaves } = await import('./graph-leaves.ts');
    try {
      return { invocation: parseInvocation(argv, graphLeaves, write), leaves: graphLeaves };
    } catch (error) {
      // What was probably meant only they all together know: they say it below.
      if (!(error instanceof BoxError)) throw error;
    }
  }
  const { leaves } = await import('./leaves.ts');
  return { invocation: parseInvocation(argv, leaves, write), leaves };
}

function contextOf({ globals }: Invocation, leaves: readonly Leaf[], io: Io, load: typeof loadConfig): CliContext {
  const flags = settingsOf(globals);
  const config: CliContext['config'] = (more = {}) => load({ flags: { ...flags, ...more } });
  return {
    ...{ io, flags, config, leaves },
    async client() {
      const [{ createClient }, { findConnection }] = await Promise.all([import('./client.ts'), import('./connection.ts')]);
      return createClient(findConnection(config()));
    },
  };
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
