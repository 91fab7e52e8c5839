/** Whether the program that a shell command begins with is there; said before anything starts, rather than by a shell in a log. */

import { accessSync, constants, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** What the shell does itself, or what only it can resolve. */
const shellWords = new Set(
  '! . : [ { alias bg break case cd command continue do done elif else esac eval exec exit export false fg fi for getopts hash if jobs kill local printf pwd read readonly return set shift test then time times trap true type ulimit umask unalias unset until wait while echo function'.split(
    ' ',
  ),
);

/** The word that was not found; undefined when it was, or when only the shell can tell. */
export function missingProgram(command: string, cwd: string, path: string): string | undefined {
  const word = firstWord(command);
  if (word === undefined || shellWords.has(word)) return undefined;
  if (word.includes('/')) return isProgram(resolve(cwd, word)) ? undefined : word;
  return path.split(':').some((folder) => isProgram(join(folder || cwd, word))) ? undefined : word;
}

/** Behind assignments and `exec`; undefined for what is not a plain word. */
function firstWord(command: string): string | undefined {
  const words =
    /^\s*(?:[A-Za-z_]\w*=(?:"[^"$`\\]*"|'[^']*'|[^\s"'$`\\;&|<>()]*)\s+)*(?:exec\s+)?(?:"([^"$`\\]+)"|'([^']+)'|([^\s"'$`\\;&|<>()*?#~{}[\]=-][^\s"'$`\\;&|<>()*?#~{}=]*))(?=[\s;&|<>)]|$)/.exec(
      command,
    );
  return words?.[1] ?? words?.[2] ?? words?.[3];
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    // Not there, or not to be run: the caller says which word it was.
    return false;
  }
}
