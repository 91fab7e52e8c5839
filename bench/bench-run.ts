/** What the parts of one run share: the skill, the sizes, and contenders that take long to start. */

import type { Language } from '@skillbox/protocol';
import { type Docker, openDocker } from './contenders/docker.ts';
import { openSandboxRuntime, type SandboxRuntime } from './contenders/sandbox-runtime.ts';
import { stopAllBoxes } from './contenders/skillbox.ts';
import { type BenchSkill, loadSkills } from './skill.ts';

export interface BenchRun {
  readonly skills: Readonly<Record<Language, BenchSkill>>;
  /** So many times this run's size; never less than `least`. */
  count(full: number, least?: number): number;
  /** Where a run is, for whoever waits. */
  say(text: string): void;
  /** Started when first asked for; undefined where it cannot run, which was said then. */
  docker(): Promise<Docker | undefined>;
  sandboxRuntime(): Promise<SandboxRuntime | undefined>;
  close(): Promise<void>;
}

export async function openRun(size: number): Promise<BenchRun> {
  let docker: Promise<Docker | undefined> | undefined;
  let runtime: Promise<SandboxRuntime | undefined> | undefined;
  const skills = await loadSkills();
  const run: BenchRun = {
    skills,
    count: (full, least = 2) => Math.max(least, Math.round(full * size)),
    say: (text) => console.error(`· ${text}`),
    docker() {
      docker ??= openDocker(Object.values(skills));
      return docker;
    },
    sandboxRuntime() {
      runtime ??= openSandboxRuntime();
      return runtime;
    },
    async close() {
      await stopAllBoxes();
      await (await docker)?.stop();
      await (await runtime)?.stop();
    },
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      run.say('stopping, and removing what was made for the measurement');
      void run.close().finally(() => process.exit(130));
    });
  }
  return run;
}
