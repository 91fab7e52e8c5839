/** docs/cli.md, from the commands themselves. */

import { exitCodes } from '@skillbox/protocol';
import { groups } from '../../packages/box/src/cli/families.ts';
import { globalFlags } from '../../packages/box/src/cli/globals.ts';
import type { Leaf } from '../../packages/box/src/cli/leaf.ts';
import { leaves } from '../../packages/box/src/cli/leaves.ts';
import { type Parameter, parametersOf } from '../../packages/box/src/cli/parameters.ts';
import { code, generatedNote, table } from './markdown.ts';

export function renderCli(): string {
  return `${generatedNote}

# Command line

In the checkout the command is \`npx skillbox\`; this page leaves \`npx\` out. \`skillbox COMMAND --help\` shows what is here.

Without further words the CLI talks to the box of this folder: it finds the address in the state root and the key in \`admin.key\` there. That key never goes to a server that was named with \`--server\` or \`SKILLBOX_SERVER_URL\`, unless it is this very box: give such a server its own key.

Results go to stdout, everything else to stderr. With \`--json\` stdout has exactly one JSON value, also for an error: \`{error, message, hint, details?, request_id?}\`, as the API answers. Only \`exec logs --follow --json\` writes a line for each event, as they come. Colours appear on a terminal only, and not with \`NO_COLOR\`.

Completion: \`source <(skillbox completion bash)\`; for zsh and fish see [completion](#completion).

## Flags of every command

${table(['flag', 'what'], globalFlags.map(globalRow))}

Those of address, key and tenant belong to commands that talk to a box. Where a command has a \`--tenant\` of its own, the one here is \`-t\`.

## Exit codes

${table(
  ['code', 'meaning'],
  Object.entries(exitMeanings).map(([name, meaning]) => [String(exitCodes[name as keyof typeof exitCodes]), meaning]),
)}

\`skillbox run\` ends with 1 when the skill did not succeed; its record is printed all the same.

${groups.map(({ title, words }) => `## ${title}\n\n${words.map(family).join('\n')}`).join('\n')}`;
}

const exitMeanings: Record<keyof typeof exitCodes, string> = {
  ok: 'fine',
  failed: 'the work failed',
  usage: 'wrong usage or input',
  denied: 'not allowed',
  notFound: 'not found',
  conflict: 'conflict with what is there',
  busy: 'try again later',
  unreachable: 'no box answers',
  internal: 'a fault of the box or of the CLI',
};

function globalRow({ name, short, placeholder, description }: (typeof globalFlags)[number]): string[] {
  return [code(`${short ? `-${short}, ` : ''}--${name}${placeholder ? ` ${placeholder}` : ''}`), `${description}.`];
}

function family(word: string): string {
  return leaves
    .filter((leaf) => leaf.words.split(' ')[0] === word)
    .map(section)
    .join('\n');
}

function section(leaf: Leaf): string {
  const parameters = parametersOf(leaf);
  const usage = ['skillbox', leaf.words, ...parameters.filter(({ positional }) => positional).map(argument), '[flags]'].join(' ');
  const rows = parameters.map((parameter) => [code(spelling(parameter)), sentence(parameter)]);
  const parts = [
    `### ${leaf.words}`,
    `${leaf.summary}.${leaf.description ? ` ${leaf.description}` : ''}`,
    code(usage),
    ...(rows.length > 0 ? [table(['flag or argument', 'what'], rows)] : []),
    `\`\`\`sh\n${leaf.examples.join('\n')}\n\`\`\``,
  ];
  return `${parts.join('\n\n')}\n`;
}

const argument = ({ name, required }: Parameter): string => (required ? `<${name}>` : `[${name}]`);

function spelling(parameter: Parameter): string {
  const { positional, kind, on, name, placeholder } = parameter;
  if (positional) return argument(parameter);
  return kind === 'switch' ? `--${on ? 'no-' : ''}${name}` : `--${name} ${placeholder}`;
}

function sentence({ description, choices, fallback, required, positional }: Parameter): string {
  const parts = [
    description.replace(/\.?$/, '.'),
    ...(choices ? [`One of ${choices.map(code).join(', ')}.`] : []),
    ...(fallback === undefined ? [] : [`Default ${code(fallback)}.`]),
    ...(required && !positional ? ['Required.'] : []),
  ];
  return parts.join(' ');
}
