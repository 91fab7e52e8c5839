/** `docker run` with the flags that harden a container, on an engine of our own whose image is made of this machine's programs. */

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { baseEnv } from '../../packages/box/src/executions/plan.ts';
import { dockerIsInstalled, startDocker } from '../../tests/support/docker.ts';
import { findProgram } from '../../tests/support/programs.ts';
import { type BenchSkill, checkOutput, inputText } from '../skill.ts';
import { type Contender, runCommand } from './command.ts';
import { dockerFlags } from './docker-flags.ts';

export interface Docker {
  readonly version: string;
  contender(skill: BenchSkill): Contender;
  /** A container for one shell command, from nothing to its end. */
  runShell(command: string): Promise<void>;
  stop(): Promise<void>;
}

/** undefined where no engine can run, with a line that says why. */
export async function openDocker(skills: readonly BenchSkill[]): Promise<Docker | undefined> {
  const client = findProgram('docker');
  if (!client || !dockerIsInstalled()) {
    if (!client) console.warn('docker run is left out: there is no docker program. Run scripts/setup.sh bench as root.');
    return undefined;
  }
  const engine = await startDocker(skills.map(({ interpreter }) => interpreter.path)).catch((error: Error) => {
    console.warn(`docker run is left out: ${error.message}`);
    return undefined;
  });
  if (!engine) return undefined;
  const home = mkdtempSync(join(tmpdir(), 'skillbox-docker-'));
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: home, DOCKER_HOST: `unix://${engine.socket}` };
  const run = (words: readonly string[]): Promise<void> =>
    runCommand({ program: client, args: ['run', ...dockerFlags, ...words], env, cwd: home });

  return {
    version: execFileSync(client, ['version', '--format', '{{.Server.Version}}'], { env, encoding: 'utf8' }).trim(),
    runShell: (command) => run([engine.image, '/usr/bin/bash', '-c', command]),
    contender(skill) {
      const folder = join(home, skill.lang);
      const out = join(folder, 'out');
      mkdirSync(out, { recursive: true });
      chmodSync(out, 0o777);
      skill.copyTo(join(folder, 'scripts'));
      const variables = { ...baseEnv, SANDBOX_INPUT: inputText, SANDBOX_OUTPUT: '/sandbox/out/output.json' };
      const words = [
        ...['--volume', `${join(folder, 'scripts')}:/sandbox/scripts:ro`, '--volume', `${out}:/sandbox/out`, '--workdir', '/sandbox'],
        ...Object.entries(variables).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
        ...[engine.image, skill.interpreter.path, `/sandbox/scripts/${skill.entrypoint}`],
      ];
      return {
        run: () => run(words),
        check: () => checkOutput(JSON.parse(readFileSync(join(out, 'output.json'), 'utf8')), `docker run, ${skill.lang}`),
        close: () => undefined,
      };
    },
    async stop() {
      await engine.stop();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
