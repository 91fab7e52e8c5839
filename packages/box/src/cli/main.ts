/** The entry of the CLI. What a call does not need is not loaded: each command imports its own work. */

import { version } from '../version.ts';

const argv = process.argv.slice(2);

// `skillbox run … | head` is no fault of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

if (argv.length === 1 && /^(version|--version|-V)$/.test(argv[0] ?? '')) process.stdout.write(`skillbox ${version}\n`);
else process.exit(await (await import('./execute.ts')).execute(argv));
