/** What an author does with a skill before any box sees it. */

import { createHash } from 'node:crypto';
import { existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BoxError, exitCodes, type LintFinding } from '@skillbox/protocol';
import { findingsText, lintFailure } from '../../cli/findings.ts';
import type { CliContext, Outcome } from '../../cli/leaf.ts';
import { packArchive, readArchive, readFolder, unpackTo } from '../../skills/archive.ts';
import { type LintedSkill, lintFiles, lintFolder } from '../../skills/lint.ts';
import { type ScaffoldOptions, scaffoldSkill } from '../../skills/scaffold.ts';
import { formatSize } from '../../units.ts';

export async function init({ io }: CliContext, options: ScaffoldOptions): Promise<Outcome> {
  const { name } = options;
  const files = scaffoldSkill(options);
  if (existsSync(name))
    throw new BoxError('already_exists', `There is something at ${name} already.`, { hint: 'Choose another name, or remove it.' });
  await unpackTo(files, name);
  const paths = files.map((file) => join(name, file.path));
  const next = options.mode === 'cognitive' ? [] : [`skillbox run ${name} --input '{"name":"Ada"}'`];
  const steps = [`skillbox skill lint ${name}`, `skillbox skill push ${name}`, ...next];
  return {
    value: { name, files: paths },
    text: `${io.paint('green', '✓')} Made ${paths.join(', ')}\n${io.paint('dim', `Next:\n${steps.map((step) => `  ${step}`).join('\n')}`)}`,
  };
}

export async function lint({ config, io }: CliContext, path: string): Promise<Outcome> {
  const { findings } = await linted(path, config().maxSkillSize);
  const failure = lintFailure(path, findings);
  const warnings = findings.filter(({ severity }) => severity === 'warning').length;
  const verdict = failure ? summary(findings) : warnings > 0 ? `Good to push, with ${count(warnings, 'warning')}.` : 'Nothing to mend.';
  const mark = failure ? io.paint('red', '✗') : io.paint('green', '✓');
  const listed = findings.length > 0 ? `${findingsText(findings, path, io.paint)}\n\n` : '';
  return {
    value: { path, valid: failure === undefined, findings },
    text: `${listed}${mark} ${verdict}`,
    exit: failure ? exitCodes.usage : exitCodes.ok,
  };
}

export async function pack({ config, io }: CliContext, path: string, out: string | undefined): Promise<Outcome> {
  requireFolder(path);
  const maxBytes = config().maxSkillSize;
  const { definition, findings } = await lintFolder(path, { maxBytes });
  if (findings.length > 0 && !io.json) io.note(findingsText(findings, path, io.paint));
  const failure = lintFailure(path, findings);
  if (failure || !definition) throw failure ?? new BoxError('lint_failed', `${path} cannot be packed.`);
  const archive = await packArchive(await readFolder(path, { maxBytes }));
  const file = out ?? `${definition.name}-${definition.version}.zip`;
  writeWhole(file, archive);
  const sha256 = createHash('sha256').update(archive).digest('hex');
  return {
    value: { file, name: definition.name, version: definition.version, size: archive.length, sha256 },
    text: `${io.paint('green', '✓')} Wrote ${file} (${formatSize(archive.length)})`,
  };
}

async function linted(path: string, maxBytes: number): Promise<LintedSkill> {
  const stats = requireThere(path);
  if (stats.isDirectory()) return lintFolder(path, { maxBytes });
  return lintFiles(await readArchive(await readFile(path), { maxBytes }));
}

function requireThere(path: string): ReturnType<typeof statSync> & object {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats) return stats;
  throw new BoxError('usage', `There is nothing at ${path}.`, { hint: 'Name the folder that has SKILL.md in it.' });
}

function requireFolder(path: string): void {
  if (requireThere(path).isDirectory()) return;
  throw new BoxError('usage', `${path} is not a folder.`, { hint: 'Name the folder that has SKILL.md in it.' });
}

/** A half-written zip never stands under the name. */
function writeWhole(file: string, data: Buffer): void {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    writeFileSync(temporary, data);
    renameSync(temporary, file);
  } catch (cause) {
    rmSync(temporary, { force: true });
    throw new BoxError('usage', `${file} cannot be written: ${(cause as Error).message}`, {
      cause,
      hint: 'Choose another place with --out.',
    });
  }
}

function summary(findings: readonly LintFinding[]): string {
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const warnings = findings.length - errors;
  return `${count(errors, 'error')}${warnings > 0 ? `, ${count(warnings, 'warning')}` : ''}.`;
}

const count = (number: number, word: string): string => `${number} ${word}${number === 1 ? '' : 's'}`;
