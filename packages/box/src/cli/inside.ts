/** The command line in the workspace: it asks the box through the channel, and does nothing by itself that would make a box of its own. */

import { BoxError } from '@skillbox/protocol';
import { isForInside } from '../commands/inside.ts';
import { commands } from '../commands/registry.ts';
import type { CliContext, Leaf, Outcome } from './leaf.ts';

/** They need no box at all, or are made for this. */
const others: readonly string[] = [
  ...['mcp', 'mcp.install', 'box.version', 'completion', 'config.schema'],
  ...['skill.init', 'skill.lint', 'skill.package', 'template.validate'],
];

const forInside: ReadonlySet<string> = new Set([...others, ...commands.filter(isForInside).map(({ name }) => name)]);

export async function fromInside(context: CliContext, leaf: Leaf, run: () => Promise<Outcome>): Promise<Outcome> {
  if (!asksOwnBox(context)) return run();
  if (leaf.name === 'workspace.shell')
    throw new BoxError('usage', 'This is the workspace already.', { hint: 'Type the command itself, or bash.' });
  if (!forInside.has(leaf.name))
    throw new BoxError('forbidden', `skillbox ${leaf.words} is not for the inside of the workspace.`, {
      hint: `Here there are status, up, down, logs, focus, session and what else the graph has. On the machine of the box: skillbox ${leaf.words}.`,
    });
  try {
    return await run();
  } catch (error) {
    throw isUnreachable(error) ? unreachable(error) : error;
  }
}

/** Not one that was named. A configuration that cannot be read is told by whoever needs it. */
function asksOwnBox({ config }: CliContext): boolean {
  try {
    return config().inside;
  } catch (error) {
    if (error instanceof BoxError) return false;
    throw error;
  }
}

const isUnreachable = (error: unknown): error is BoxError => error instanceof BoxError && error.code === 'unreachable';

function unreachable(cause: BoxError): BoxError {
  return new BoxError('unreachable', 'The box does not answer from inside its workspace.', {
    ...{ cause, details: cause.details },
    hint: 'Its server is down (on its machine: skillbox up), or its operator grants no commands here: workspace.network.internal in skillbox.yaml.',
  });
}
