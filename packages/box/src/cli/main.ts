/** The entry of the CLI. What a call does not need is not loaded: each command imports its own work. */

import { existsSync, readFileSync } from 'node:fs';
import { version } from '../version.ts';

const argv = process.argv.slice(2);

// `skillbox run … | head` is no fault of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

const page = helpPage();
if (argv.length === 1 && /^(version|--version|-V)$/.test(argv[0] ?? '')) process.stdout.write(`skillbox ${version}\n`);
else if (page !== undefined) process.stdout.write(page);
else process.exit(await (await import('./execute.ts')).execute(argv));

/** Written by the build; without it help is made from the commands, which takes longer. */
function helpPage(): string | undefined {
  const words = helpWords();
  const pages = new URL('./help.json', import.meta.url);
  if (words === undefined || !existsSync(pages)) return undefined;
  return (JSON.parse(readFileSync(pages, 'utf8')) as Record<string, string>)[words.join(' ')];
}

/** The command that help is asked for: `skill show --help`, `help skill show`, or nothing at all. */
function helpWords(): string[] | undefined {
  if (argv.length === 0) return [];
  if (argv[0] === 'help') return argv.slice(1);
  return /^(--help|-h)$/.test(argv.at(-1) ?? '') ? argv.slice(0, -1) : undefined;
}
