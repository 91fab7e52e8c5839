/** The bubblewrap command that Skillbox runs, started by hand: the same flags, the same filter, no server, no launcher, no guest. */

import { chmodSync, chownSync, closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { baseEnv } from '../../packages/box/src/executions/plan.ts';
import { bubblewrapArguments } from '../../packages/box/src/sandbox/providers/bubblewrap/command.ts';
import { writeProviderFiles } from '../../packages/box/src/sandbox/providers/bubblewrap/files.ts';
import type { Architecture } from '../../packages/box/src/sandbox/providers/guest/syscalls.ts';
import { type BenchSkill, checkOutput, inputText } from '../skill.ts';
import { type Command, type Contender, runCommand } from './command.ts';

export interface ByHand extends Contender {
  /** With the filter opened by a shell, for whoever cannot hand over a descriptor. */
  readonly command: Command;
}

const bwrap = '/usr/bin/bwrap';
/** As root, a uid that owns nothing, as the box would do it. */
const uid = process.getuid?.() === 0 ? 1_999_999_999 : undefined;
const theirs = ['tmp', 'shm', 'work', 'work/out', 'work/out/files'];

export function prepareByHand(skill: BenchSkill): ByHand {
  const stage = mkdtempSync(join(tmpdir(), 'skillbox-by-hand-'));
  const { filter } = writeProviderFiles(stage, process.arch as Architecture);
  for (const name of [...theirs, 'work/scripts', 'work/input', 'guest']) mkdirSync(join(stage, name), { recursive: true });
  skill.copyTo(join(stage, 'skill'));
  writeFileSync(join(stage, 'work', 'input.json'), inputText);
  // Its shell opens it as that uid.
  chmodSync(filter, 0o644);
  if (uid !== undefined) for (const name of ['', ...theirs]) chownSync(join(stage, name), uid, uid);

  const base = { env: {}, cwd: '/', ...(uid !== undefined && { uid }) };
  const args = bubblewrapWords(stage, [skill.interpreter.path, `/sandbox/scripts/${skill.entrypoint}`]);
  return {
    command: { ...base, program: '/bin/sh', args: ['-c', 'exec 3<"$0"; exec "$@"', filter, bwrap, ...args] },
    async run() {
      // Anew each time: bubblewrap reads it to its end.
      const descriptor = openSync(filter, 'r');
      try {
        await runCommand({ ...base, program: bwrap, args }, descriptor);
      } finally {
        closeSync(descriptor);
      }
    },
    check: () => checkOutput(JSON.parse(readFileSync(join(stage, 'work/out/output.json'), 'utf8')), `bubblewrap by hand, ${skill.lang}`),
    close: () => rmSync(stage, { recursive: true, force: true }),
  };
}

/** The box's own words with its paths moved to `stage`, and the program in the guest's place. */
function bubblewrapWords(stage: string, program: readonly string[]): string[] {
  const real = bubblewrapArguments({ bwrap, extra: [] }).map((word) =>
    word.startsWith('/tmp/') ? join(stage, word.slice('/tmp/'.length)) : word,
  );
  // The folder it starts in is named below; bubblewrap complains when it is told twice.
  const flags = real.slice(1, real.lastIndexOf('--chdir')).filter((word) => word !== '--as-pid-1');
  const env = {
    ...baseEnv,
    SANDBOX_INPUT: inputText,
    SANDBOX_OUTPUT: '/sandbox/out/output.json',
    SANDBOX_FILES_DIR: '/sandbox/out/files/',
  };
  return [
    ...flags.map((word, index) => (flags[index - 1] === '--seccomp' ? '3' : word)),
    ...Object.entries(env).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--chdir', '/sandbox', '--', ...program],
  ];
}
