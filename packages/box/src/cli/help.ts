/** Help texts: what a command does, what it takes, how it looks in use. Commands come before flags. */

import type { Command, Help } from 'commander';

export function formatHelp(command: Command, helper: Help): string {
  const width = helper.padWidth(command, helper);
  const row = (term: string, text: string): string => helper.formatItem(term, width, text, helper);
  const groupsOf = <T>(items: readonly T[], titleOf: (item: T) => string): Map<string, T[]> => {
    const groups = new Map<string, T[]>();
    for (const item of items) groups.set(titleOf(item), [...(groups.get(titleOf(item)) ?? []), item]);
    return groups;
  };
  const section = (title: string, rows: readonly string[]): string[] => (rows.length > 0 ? [title, ...rows, ''] : []);
  const lines = [`Usage: ${helper.commandUsage(command)}`, ''];
  const description = helper.commandDescription(command);
  if (description) lines.push(helper.boxWrap(description, helper.helpWidth ?? 80), '');
  lines.push(
    ...section(
      'Arguments:',
      helper.visibleArguments(command).map((argument) => row(helper.argumentTerm(argument), helper.argumentDescription(argument))),
    ),
  );
  for (const [title, commands] of groupsOf(
    helper.visibleCommands(command),
    (item) => item.helpGroup() || (command.parent ? 'Commands:' : 'More:'),
  )) {
    lines.push(
      ...section(
        title,
        commands.map((item) => row(subcommandTerm(item), helper.subcommandDescription(item))),
      ),
    );
  }
  const [own, shared] = [true, false].map((mine) =>
    helper.visibleOptions(command).filter((item) => (item.helpGroupHeading === undefined) === mine),
  );
  for (const [title, options] of groupsOf([...(own ?? []), ...(shared ?? [])], (item) => item.helpGroupHeading ?? 'Flags:')) {
    lines.push(
      ...section(
        title,
        options.map((item) => row(helper.optionTerm(item), helper.optionDescription(item))),
      ),
    );
  }
  return lines.join('\n');
}

export function subcommandTerm(command: Command): string {
  const args = command.registeredArguments.map((argument) => (argument.required ? `<${argument.name()}>` : `[${argument.name()}]`));
  return [command.name(), ...args].join(' ');
}

export function examplesText(examples: readonly string[]): string {
  return `\nExamples:\n${examples.map((example) => `  ${example}`).join('\n')}`;
}
