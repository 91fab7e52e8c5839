/** skillbox skill push: lints here first, so that most faults show before anything is sent. */

import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { BoxError, type LintFinding, type SkillDetail } from '@skillbox/protocol';
import { z } from 'zod';
import { formatSize } from '../units.ts';
import { followBuild, installedText } from './build.ts';
import { commandNamed } from './call.ts';
import { findingsText, lintFailure } from './findings.ts';
import type { CliContext, Outcome } from './leaf.ts';

const input = z.object({ path: z.string().describe('Folder of the skill, or a zip of it') });

interface Pushed extends SkillDetail {
  readonly created: boolean;
}

export const pushPolish = {
  description:
    'Takes the folder with SKILL.md, or a zip of it, and lints it first. The skill is there whole or not at all. The same content again changes nothing; other content under a version that exists is refused. Waits until the dependencies that it declares are installed; interrupting only ends the waiting.',
  input,
  async run({ client, config, io }: CliContext, given: Record<string, unknown>): Promise<Outcome> {
    const { path } = input.parse(given);
    io.progress.show(`Packing ${path}`);
    const { archive, findings } = await packSkill(path, config().maxSkillSize);
    const failure = lintFailure(path, findings);
    if (findings.length > 0 && !io.json) io.note(findingsText(findings, path, io.paint));
    if (failure) throw failure;
    const box = await client();
    const { body, text } = await box.call(
      commandNamed('skill.push'),
      { archive },
      {
        onUpload: (sent, total) => io.progress.show(`Uploading ${formatSize(total)}, ${Math.floor((sent / total) * 100)}%`),
      },
    );
    io.progress.clear();
    const pushed = body as Pushed;
    if (pushed.dependencies === null) return { value: body, raw: text, text: pushedText(pushed, io.paint) };
    if (!io.json) io.note(pushedText(pushed, io.paint));
    const { dependencies } = await followBuild(box, pushed.name, pushed.version, io);
    const whole = { ...pushed, dependencies };
    return { value: whole, text: `${io.paint('green', '✓')} ${installedText(whole)}` };
  },
};

function pushedText({ created, name, version, lang, mode, files, size }: Pushed, paint: CliContext['io']['paint']): string {
  if (!created) return `${paint('green', '✓')} ${paint('bold', name)} ${version} is there already, with exactly this content.`;
  const next = mode === 'executable' ? `Run it:  skillbox run ${name} --input '{}'` : `Read it: skillbox skill show ${name}`;
  const facts = `${lang ?? 'instructions'}, ${files.length} file${files.length === 1 ? '' : 's'}, ${formatSize(size)}`;
  return `${paint('green', '✓')} Added ${paint('bold', name)} ${version} ${paint('dim', `(${facts})`)}\n${paint('dim', next)}`;
}

async function packSkill(path: string, maxBytes: number): Promise<{ archive: Buffer; findings: readonly LintFinding[] }> {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats)
    throw new BoxError('usage', `There is nothing at ${path}.`, { hint: 'Name the folder that has SKILL.md in it, or a zip of it.' });
  const [{ packArchive, readArchive, readFolder }, { lintFiles, lintFolder }] = await Promise.all([
    import('../skills/archive.ts'),
    import('../skills/lint.ts'),
  ]);
  if (!stats.isDirectory()) {
    const archive = await readFile(path);
    return { archive, findings: (await lintFiles(await readArchive(archive, { maxBytes }))).findings };
  }
  const { findings } = await lintFolder(path, { maxBytes });
  if (findings.some(({ severity }) => severity === 'error')) return { archive: Buffer.alloc(0), findings };
  return { archive: await packArchive(await readFolder(path, { maxBytes })), findings };
}
