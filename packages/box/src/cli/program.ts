/** The commands as commander understands them: parsing and help texts. */

import { BoxError } from '@skillbox/protocol';
import { Argument, Command, type CommanderError, Option } from 'commander';
import { z } from 'zod';
import { version } from '../version.ts';
import { familyAliases, familySummaries, groups } from './families.ts';
import { type GlobalFlag, globalFlags } from './globals.ts';
import { examplesText, formatHelp, subcommandTerm } from './help.ts';
import type { Leaf } from './leaf.ts';
import { type Parameter, parametersOf } from './parameters.ts';

/** What was typed, sorted out: which command, its fields, and the flags that every command has. */
export interface Invocation {
  readonly leaf: Leaf;
  readonly given: ReadonlyMap<string, unknown>;
  readonly globals: ReadonlyMap<string, unknown>;
}

/** One of these commands; undefined when help or version was asked for, and written. Throws `usage` for what is wrong. */
export function parseInvocation(argv: readonly string[], leaves: readonly Leaf[], write: (text: string) => void): Invocation | undefined {
  let invocation: Invocation | undefined;
  let said = '';
  const program = createProgram({
    argv,
    leaves,
    write,
    complain(text) {
      said += text;
    },
    found(result) {
      invocation = result;
    },
  });
  try {
    program.parse([...argv], { from: 'user' });
  } catch (error) {
    if (!isCommanderError(error)) throw error;
    // A group without a command: its help is what was missing.
    if (error.code === 'commander.help') write(said);
    else if (error.exitCode !== 0) throw usageError(error, argv, leaves);
  }
  return invocation;
}

interface Making {
  readonly argv: readonly string[];
  readonly leaves: readonly Leaf[];
  write(text: string): void;
  complain(text: string): void;
  found(invocation: Invocation): void;
}

function createProgram(making: Making): Command {
  const program = new Command('skillbox')
    .description('The self-hosted box that AI agents live in: skills run in hardened sandboxes, over one API.')
    .version(`skillbox ${version}`, '-V, --version', 'Print the version')
    .helpOption('-h, --help', 'Show help')
    .helpCommand('help [command]', 'Show help for a command')
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeOut: making.write, writeErr: making.complain, getOutHelpWidth: () => 80, getErrHelpWidth: () => 80 })
    .configureHelp({ formatHelp, subcommandTerm })
    .usage('<command> [flags]')
    .addHelpText('after', examplesText(topExamples));
  addGlobals(program, globalFlags, new Set());
  for (const { title, words } of groups) {
    for (const word of words) addFamily(program, word, making)?.helpGroup(`${title}:`);
  }
  return program;
}

function addFamily(program: Command, word: string, making: Making): Command | undefined {
  const family = making.leaves.filter((leaf) => leaf.words.split(' ')[0] === word);
  if (family.length === 0) return undefined;
  const own = family.find((leaf) => leaf.words === word);
  const group = own ? addLeaf(program, word, own, making).helpCommand(false) : addGroup(program, word);
  for (const leaf of family) if (leaf !== own) addLeaf(group, leaf.words.split(' ')[1] ?? '', leaf, making);
  return group;
}

function addGroup(program: Command, word: string): Command {
  const group = program
    .command(word)
    .summary(familySummaries[word] ?? '')
    .description(`${familySummaries[word] ?? ''}.`)
    .usage('<command> [flags]')
    .helpCommand(false);
  if (familyAliases[word]) group.alias(familyAliases[word]);
  addGlobals(group, globalFlags, new Set());
  return group;
}

function addLeaf(parent: Command, name: string, leaf: Leaf, { argv, found }: Making): Command {
  const args = leaf.args.map((arg) => argumentTerm(arg.replace(/\?$/, ''), !arg.endsWith('?'), isMany(leaf, arg)));
  const command = parent
    .command(name)
    .summary(leaf.summary)
    .description(describe(leaf))
    .usage([...args, '[flags]'].join(' '));
  // Flags of thirty commands take time to make; this call needs those of one.
  if (!leaf.words.split(' ').every((word) => argv.includes(word) || argv.includes(familyAliases[word] ?? word))) {
    for (const arg of args) command.argument(arg);
    return command;
  }
  const parameters = parametersOf(leaf);
  for (const parameter of parameters) {
    if (parameter.positional) command.addArgument(argumentOf(parameter));
    else command.addOption(optionOf(parameter));
  }
  const own = new Set(parameters.filter(({ positional }) => !positional).map((parameter) => parameter.name));
  addGlobals(
    command,
    globalFlags.filter((flag) => leaf.remote || !flag.remote),
    own,
  );
  command.addHelpText('after', examplesText(leaf.examples));
  return command.action(() => found({ leaf, given: fieldsOf(command, parameters), globals: globalsOf(command, own) }));
}

function describe({ summary, description }: Leaf): string {
  return description ? `${summary}.\n\n${description}` : `${summary}.`;
}

const argumentTerm = (name: string, required: boolean, many: boolean): string => {
  const words = many ? `${name}...` : name;
  return required ? `<${words}>` : `[${words}]`;
};

function isMany({ input }: Leaf, arg: string): boolean {
  const field = input.shape[arg.replace(/\?$/, '')];
  return (field instanceof z.ZodOptional ? field.unwrap() : field) instanceof z.ZodArray;
}

function argumentOf({ name, kind, required, description, choices }: Parameter): Argument {
  const text = choices ? `${description}: ${choices.join(', ')}` : description;
  return new Argument(argumentTerm(name, required, kind === 'list'), text);
}

function optionOf({ name, kind, on, placeholder, description, choices, fallback }: Parameter): Option {
  const values = choices && placeholder !== choices.join('|') ? `: ${choices.join(', ')}` : '';
  const text = `${description}${values}${fallback === undefined ? '' : ` (default: ${fallback})`}`;
  if (kind === 'switch') return new Option(on ? `--no-${name}` : `--${name}`, text);
  const option = new Option(`--${name} <${placeholder}>`, text);
  return kind === 'list' || kind === 'pairs'
    ? option.argParser((item: string, before: string[] | undefined) => [...(before ?? []), item])
    : option;
}

/** A command that has a flag of the same name keeps it, and the other is reached by its letter. */
function addGlobals(command: Command, flags: readonly GlobalFlag[], taken: ReadonlySet<string>): void {
  for (const { name, short, placeholder, description } of flags) {
    const value = placeholder === undefined ? '' : ` <${placeholder}>`;
    if (!taken.has(name))
      command.addOption(new Option(`${short ? `-${short}, ` : ''}--${name}${value}`, description).helpGroup(globalTitle));
    else if (short) command.addOption(new Option(`-${short}${value}`, description).helpGroup(globalTitle));
  }
}

const globalTitle = 'Flags of every command:';

function fieldsOf(command: Command, parameters: readonly Parameter[]): Map<string, unknown> {
  const given = new Map<string, unknown>();
  const positional = parameters.filter((parameter) => parameter.positional);
  for (const [at, { field }] of positional.entries())
    if (command.processedArgs[at] !== undefined) given.set(field, command.processedArgs[at]);
  for (const { field, name, positional: isArgument } of parameters) {
    const key = camelCase(name);
    if (!isArgument && command.getOptionValueSource(key) === 'cli') given.set(field, command.getOptionValue(key));
  }
  return given;
}

/** From the top down: what stands nearest to the command wins. */
function globalsOf(command: Command, taken: ReadonlySet<string>): Map<string, unknown> {
  const given = new Map<string, unknown>();
  const line: Command[] = [];
  for (let at: Command | null = command; at; at = at.parent) line.unshift(at);
  for (const at of line) {
    for (const { name, short = '' } of globalFlags) {
      const key = at === command && taken.has(name) ? short : camelCase(name);
      if (key !== '' && at.getOptionValueSource(key) === 'cli') given.set(name, at.getOptionValue(key));
    }
  }
  return given;
}

const camelCase = (name: string): string => name.replace(/-(\w)/g, (_dash, letter: string) => letter.toUpperCase());

const topExamples = [
  'skillbox up',
  'skillbox skill push ./my-skill',
  `skillbox run data-analysis --input '{"data":[1,2,3]}'`,
  'skillbox doctor',
];

const isCommanderError = (error: unknown): error is CommanderError =>
  error instanceof Error && 'exitCode' in error && String((error as CommanderError).code).startsWith('commander.');

/** commander's sentence as ours: what is wrong, then what was probably meant. */
function usageError(error: CommanderError, argv: readonly string[], leaves: readonly Leaf[]): BoxError {
  const [message = '', suggestion] = error.message
    .replace(/^error: /, '')
    .replaceAll(/\boption\b/g, 'flag')
    .split('\n');
  const meant = /Did you mean (?:one of )?(.+)\?/.exec(suggestion ?? '')?.[1];
  const sentence = `${message.charAt(0).toUpperCase()}${message.slice(1).replace(/\.$/, '')}.`;
  const words = argv.filter((word) => !word.startsWith('-')).slice(0, 2);
  const near = leaves.some((leaf) => leaf.words === words.join(' '))
    ? words.join(' ')
    : leaves.some((leaf) => leaf.words === words[0])
      ? words[0]
      : undefined;
  return new BoxError('usage', sentence, {
    hint: meant ? `Did you mean ${meant}?` : `Run skillbox ${near ? `${near} ` : ''}--help for what there is.`,
  });
}
