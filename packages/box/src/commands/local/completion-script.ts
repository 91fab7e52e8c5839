/** Completion scripts, written from the list of commands. They hold words only: completing never starts skillbox. */

import { familySummaries } from '../../cli/families.ts';
import { globalFlags } from '../../cli/globals.ts';
import type { Leaf } from '../../cli/leaf.ts';
import { parametersOf } from '../../cli/parameters.ts';

export type Shell = 'bash' | 'zsh' | 'fish';

/** A place in the tree of commands, and what can be typed there. */
interface Place {
  /** Empty at the top. */
  readonly words: string;
  readonly commands: readonly Word[];
  readonly flags: readonly Flag[];
  /** Values of the first argument, when they are a fixed set. */
  readonly values: readonly string[];
}

interface Word {
  readonly word: string;
  readonly description: string;
}

interface Flag extends Word {
  readonly short: string | undefined;
  readonly takesValue: boolean;
  readonly choices: readonly string[];
}

export function completionScript(shell: Shell, leaves: readonly Leaf[]): string {
  const places = placesOf(leaves);
  return { bash, zsh, fish }[shell](places);
}

function placesOf(leaves: readonly Leaf[]): Place[] {
  const groups = new Map<string, Word[]>([['', []]]);
  for (const { words, summary } of leaves) {
    const [first = '', second] = words.split(' ');
    const top = groups.get('') ?? [];
    const isNew = top.every(({ word }) => word !== first);
    if (isNew) top.push({ word: first, description: second === undefined ? summary : (familySummaries[first] ?? '') });
    if (second !== undefined) groups.set(first, [...(groups.get(first) ?? []), { word: second, description: summary }]);
  }
  const branches = [...groups].map(([words, commands]) => ({
    words,
    commands,
    flags: words === '' ? globals(true) : [helpFlag],
    values: [],
  }));
  // A word may be a command and have others below it.
  const places = leaves.map(placeOf).map((place) => ({ ...place, commands: groups.get(place.words) ?? [] }));
  return [...branches.filter(({ words }) => places.every((place) => place.words !== words)), ...places];
}

function placeOf(leaf: Leaf): Place {
  const parameters = parametersOf(leaf);
  const own = parameters
    .filter(({ positional }) => !positional)
    .map(({ name, kind, on, choices, description }) => ({
      word: `--${on ? 'no-' : ''}${name}`,
      description,
      short: undefined,
      takesValue: kind !== 'switch',
      choices: choices ?? [],
    }));
  const taken = new Set(own.map(({ word }) => word));
  const inherited = globals(leaf.remote).filter(({ word }) => !taken.has(word));
  const values = parameters.find(({ positional }) => positional)?.choices ?? [];
  return { words: leaf.words, commands: [], flags: [...own, ...inherited], values };
}

const helpFlag: Flag = { word: '--help', description: 'Show help', short: '-h', takesValue: false, choices: [] };

function globals(remote: boolean): Flag[] {
  const flags = globalFlags
    .filter((flag) => remote || !flag.remote)
    .map(({ name, short, placeholder, choices, description }) => ({
      word: `--${name}`,
      description,
      short: short && `-${short}`,
      takesValue: placeholder !== undefined,
      choices: choices ?? [],
    }));
  return [...flags, helpFlag];
}

const named = ({ words }: Place): boolean => words !== '';
/** Flags whose value is the next word, wherever they stand. */
const valued = (places: readonly Place[]): string[] => [
  ...new Set(
    places.flatMap(({ flags }) =>
      flags.filter(({ takesValue }) => takesValue).flatMap(({ word, short }) => (short ? [word, short] : [word])),
    ),
  ),
];
const spellings = ({ word, short }: Flag): string[] => (short ? [word, short] : [word]);
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

function bash(places: readonly Place[]): string {
  const choices = places.flatMap(({ words, flags }) =>
    flags
      .filter((flag) => flag.choices.length > 0)
      .map(
        (flag) =>
          `    ${spellings(flag)
            .map((name) => quoted(`${words} ${name}`))
            .join('|')}) choices=${quoted(flag.choices.join(' '))} ;;`,
      ),
  );
  const offers = places.map(
    ({ words, commands, flags, values }) =>
      `    ${quoted(words)}) names=${quoted([...commands.map(({ word }) => word), ...values].join(' '))} flags=${quoted(flags.flatMap(spellings).join(' '))} ;;`,
  );
  return `# Completion of skillbox for bash. Use: source <(skillbox completion bash)
_skillbox() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} at= word i names= flags= choices=
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case $word in
      ${valued(places).join('|')}) ((i++)) ;;
      -*) ;;
      *) case "\${at:+$at }$word" in
        ${places
          .filter(named)
          .map(({ words }) => quoted(words))
          .join('|')}) at="\${at:+$at }$word" ;;
      esac ;;
    esac
  done
  case "$at $previous" in
${choices.join('\n')}
  esac
  if [ -n "$choices" ]; then
    COMPREPLY=($(compgen -W "$choices" -- "$current"))
    return
  fi
  case $previous in
    ${valued(places).join('|')}) return ;;
  esac
  case $at in
${offers.join('\n')}
  esac
  if [ "\${current:0:1}" = - ]; then names=$flags; fi
  COMPREPLY=($(compgen -W "$names" -- "$current"))
}
complete -o bashdefault -o default -F _skillbox skillbox
`;
}

function zsh(places: readonly Place[]): string {
  const described = ({ word, description }: Word): string => quoted(`${word.replaceAll(':', '\\:')}:${description.replaceAll(':', '\\:')}`);
  const choices = places.flatMap(({ words, flags }) =>
    flags
      .filter((flag) => flag.choices.length > 0)
      .map(
        (flag) =>
          `    ${spellings(flag)
            .map((name) => quoted(`${words} ${name}`))
            .join('|')}) compadd -- ${flag.choices.map(quoted).join(' ')}; return ;;`,
      ),
  );
  const offers = places.map(({ words, commands, flags, values }) => {
    const names = [...commands, ...values.map((word) => ({ word, description: '' }))];
    return `    ${quoted(words)})\n      names=(${names.map(described).join(' ')})\n      flags=(${flags.map(described).join(' ')}) ;;`;
  });
  return `#compdef skillbox
# Completion of skillbox for zsh. Use: skillbox completion zsh > a folder of $fpath, as _skillbox
_skillbox() {
  local at= word
  local -a names flags
  integer i
  for ((i = 2; i < CURRENT; i++)); do
    word=$words[i]
    case $word in
      ${valued(places).join('|')}) ((i++)) ;;
      -*) ;;
      *) case "\${at:+$at }$word" in
        ${places
          .filter(named)
          .map(({ words }) => quoted(words))
          .join('|')}) at="\${at:+$at }$word" ;;
      esac ;;
    esac
  done
  case "$at $words[CURRENT-1]" in
${choices.join('\n')}
  esac
  case $words[CURRENT-1] in
    ${valued(places).join('|')}) _files; return ;;
  esac
  case $at in
${offers.join('\n')}
  esac
  if [[ $words[CURRENT] == -* ]]; then
    _describe flag flags
  elif (( $#names )); then
    _describe command names
  else
    _files
  fi
}
if [ "$funcstack[1]" = _skillbox ]; then
  _skillbox "$@"
else
  compdef _skillbox skillbox
fi
`;
}

function fish(places: readonly Place[]): string {
  const at = (words: string): string => `-n ${quoted(`__skillbox_at ${words === '' ? "''" : `'${words}'`}`).replaceAll("'\\''", '"')}`;
  const lines = places.flatMap(({ words, commands, flags, values }) => [
    ...commands.map(({ word, description }) => `complete -c skillbox ${at(words)} -f -a ${quoted(word)} -d ${fishQuoted(description)}`),
    ...values.map((value) => `complete -c skillbox ${at(words)} -f -a ${quoted(value)}`),
    ...flags.map(({ word, short, takesValue, choices, description }) => {
      const names = `${short ? `-s ${short.slice(1)} ` : ''}-l ${word.slice(2)}`;
      const value = choices.length > 0 ? ` -x -a ${fishQuoted(choices.join(' '))}` : takesValue ? ' -r' : '';
      return `complete -c skillbox ${at(words)} ${names}${value} -d ${fishQuoted(description)}`;
    }),
  ]);
  return `# Completion of skillbox for fish. Use: skillbox completion fish > ~/.config/fish/completions/skillbox.fish
function __skillbox_at
  set -l known ${places
    .filter(named)
    .map(({ words }) => quoted(words))
    .join(' ')}
  set -l valued ${valued(places).join(' ')}
  set -l at ''
  set -l skip 0
  for word in (commandline -opc)[2..-1]
    if test $skip = 1
      set skip 0
    else if contains -- $word $valued
      set skip 1
    else if not string match -q -- '-*' $word
      set -l next (string trim -- "$at $word")
      contains -- $next $known; and set at $next
    end
  end
  test "$at" = "$argv[1]"
end
${lines.join('\n')}
`;
}

/** In fish a backslash escapes inside single quotes. */
const fishQuoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
