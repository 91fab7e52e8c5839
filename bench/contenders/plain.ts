/** No sandbox: the interpreter on the entrypoint, in a folder of its own, with the environment that a sandbox would give it. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { baseEnv } from '../../packages/box/src/executions/plan.ts';
import { type BenchSkill, checkOutput, inputText } from '../skill.ts';
import { type Command, type Contender, runCommand } from './command.ts';

export interface Plain extends Contender {
  readonly command: Command;
}

export function preparePlain(skill: BenchSkill): Plain {
  const folder = mkdtempSync(join(tmpdir(), 'skillbox-plain-'));
  const output = join(folder, 'output.json');
  const scripts = join(folder, 'scripts');
  mkdirSync(join(folder, 'files'));
  skill.copyTo(scripts);
  const command: Command = {
    program: skill.interpreter.path,
    args: [join(scripts, skill.entrypoint)],
    env: { ...baseEnv, SANDBOX_INPUT: inputText, SANDBOX_OUTPUT: output, SANDBOX_FILES_DIR: join(folder, 'files/') },
    cwd: folder,
  };
  return {
    command,
    run: () => runCommand(command),
    check: () => checkOutput(JSON.parse(readFileSync(output, 'utf8')), `plain ${skill.lang}`),
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** What starting anything costs here: the smallest program there is. */
export const startNothing = (): Promise<void> => runCommand({ program: '/usr/bin/true', args: [], env: {}, cwd: '/' });
