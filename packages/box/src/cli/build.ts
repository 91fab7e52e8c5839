/** skillbox skill build, and what a push shows meanwhile: how the installing of dependencies goes and ends. */

import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError, type SkillDependencies, type SkillDetail } from '@skillbox/protocol';
import { formatSize } from '../units.ts';
import { commandNamed } from './call.ts';
import type { Client } from './client.ts';
import type { Io } from './io.ts';
import type { CliContext, Outcome } from './leaf.ts';
import { oneLine, printable } from './paint.ts';

const pollMs = 300;
const shownLines = 15;
const { input } = commandNamed('skill.build');

export const buildPolish = {
  description:
    'A push starts it by itself. What is installed already is left alone. Waits for the end; interrupting only ends the waiting.',
  input,
  async run({ client, io }: CliContext, given: Record<string, unknown>): Promise<Outcome> {
    const { name, version } = input.parse(given) as { name: string; version: string };
    const box = await client();
    await box.call(commandNamed('skill.build'), { name, version });
    const skill = await followBuild(box, name, version, io);
    return { value: skill.dependencies, text: `${io.paint('green', '✓')} ${installedText(skill)}` };
  },
};

/** Resolves when they are there; throws dependencies_failed with the last lines of the log noted when they cannot be. */
export async function followBuild(client: Client, name: string, version: string, io: Io): Promise<SkillDetail> {
  const show = commandNamed('skill.show');
  const readLog = async (): Promise<string> => (await client.call(commandNamed('skill.build-log'), { name, version })).text;
  for (;;) {
    const skill = (await client.call(show, { name, version })).body as SkillDetail;
    if (skill.dependencies?.state !== 'building') {
      io.progress.clear();
      if (skill.dependencies?.state === 'available') return skill;
      throw await failure(skill, skill.dependencies, readLog, io);
    }
    const last = (await readLog()).trimEnd().split('\n').at(-1) ?? '';
    io.progress.show(`Installing dependencies  ${oneLine(last).slice(0, Math.max(20, (io.width ?? 100) - 30))}`);
    await sleep(pollMs);
  }
}

export function installedText({ name, version, dependencies }: SkillDetail): string {
  const { files, size_bytes } = dependencies as SkillDependencies;
  return `Dependencies of ${name} ${version} are installed (${files ?? 0} files, ${formatSize(size_bytes ?? 0)}).`;
}

async function failure(
  { name, version }: SkillDetail,
  dependencies: SkillDependencies | null,
  readLog: () => Promise<string>,
  io: Io,
): Promise<BoxError> {
  const lines = dependencies?.state === 'failed' ? (await readLog()).trimEnd().split('\n').slice(-shownLines) : [];
  if (lines.length > 0 && !io.json) io.note(`${lines.map((line) => `  ${printable(line)}`).join('\n')}\n`);
  const why = dependencies?.error ?? 'nothing was installed';
  return new BoxError('dependencies_failed', `The dependencies of ${name} ${version} could not be installed: ${oneLine(why)}`, {
    hint: `The whole log: skillbox skill build-log ${name}. Mend it and push a new version, or try again: skillbox skill build ${name}.`,
  });
}
