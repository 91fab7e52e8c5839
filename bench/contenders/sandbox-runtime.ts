/** `@anthropic-ai/sandbox-runtime`, in both of its ways: as a library in this process, and its command `srt`. */

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { baseEnv } from '../../packages/box/src/executions/plan.ts';
import { type BenchSkill, checkOutput, inputText } from '../skill.ts';
import { type Contender, runCommand } from './command.ts';

export interface SandboxRuntime {
  readonly version: string;
  library(skill: BenchSkill): Contender;
  command(skill: BenchSkill): Contender;
  stop(): Promise<void>;
}

/** The part of its API that is used. */
interface Manager {
  initialize(config: object): Promise<void>;
  wrapWithSandboxArgv(
    command: string,
    shell: undefined,
    config: undefined,
    signal: undefined,
    cwd: string,
  ): Promise<{ argv: [string, ...string[]] }>;
  cleanupAfterCommand(): void;
  reset(): Promise<void>;
}

const peers = join(import.meta.dirname, '../peers');

/** undefined where it is not installed, with a line that says so. */
export async function openSandboxRuntime(): Promise<SandboxRuntime | undefined> {
  const manifest = join(peers, 'node_modules/@anthropic-ai/sandbox-runtime/package.json');
  if (!existsSync(manifest)) {
    console.warn('sandbox-runtime is left out: it is not installed. Run scripts/setup.sh bench.');
    return undefined;
  }
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
  const entry = createRequire(join(peers, 'package.json')).resolve('@anthropic-ai/sandbox-runtime');
  const { SandboxManager: manager } = (await import(pathToFileURL(entry).href)) as { SandboxManager: Manager };
  const folder = mkdtempSync(join(tmpdir(), 'skillbox-srt-'));
  // No network, one folder that can be written to, homes unreadable: the nearest to what the others have.
  const config = {
    network: { allowedDomains: [], deniedDomains: [] },
    filesystem: { denyRead: ['/root', '/home'], allowRead: [], allowWrite: [folder], denyWrite: [] },
  };
  const settings = join(folder, 'settings.json');
  writeFileSync(settings, JSON.stringify(config));
  await manager.initialize(config);

  /** One folder for each contender; the shell line that runs the skill there. */
  const stage = (skill: BenchSkill, name: string) => {
    const cwd = join(folder, `${name}-${skill.lang}`);
    mkdirSync(cwd);
    skill.copyTo(join(cwd, 'scripts'));
    const output = join(cwd, 'output.json');
    return {
      cwd,
      env: { ...baseEnv, HOME: folder, SANDBOX_INPUT: inputText, SANDBOX_OUTPUT: output },
      line: `${skill.interpreter.path} ${join(cwd, 'scripts', skill.entrypoint)}`,
      check: () => checkOutput(JSON.parse(readFileSync(output, 'utf8')), `sandbox-runtime ${name}, ${skill.lang}`),
    };
  };

  return {
    version,
    library(skill) {
      const { check, cwd, env, line } = stage(skill, 'library');
      return {
        check,
        async run() {
          const { argv } = await manager.wrapWithSandboxArgv(line, undefined, undefined, undefined, cwd);
          const [program, ...args] = argv;
          await runCommand({ program, args, env, cwd });
          manager.cleanupAfterCommand();
        },
        close: () => undefined,
      };
    },
    command(skill) {
      const { check, cwd, env, line } = stage(skill, 'command');
      const args = [join(dirname(entry), 'cli.js'), '--settings', settings, '-c', line];
      return { check, run: () => runCommand({ program: process.execPath, args, env, cwd }), close: () => undefined };
    },
    async stop() {
      await manager.reset();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
