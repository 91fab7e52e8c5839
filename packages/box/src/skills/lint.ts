/** Everything that can be said about a skill before it runs: SKILL.md, its schemas, its files. */

import { basename, resolve } from 'node:path';
import { BoxError, type LintFinding } from '@skillbox/protocol';
import { schemaProblem } from '../json-schema/schema.ts';
import { inspectSchema } from '../json-schema/schema-shape.ts';
import { type ArchiveLimits, readFolder, type SkillFiles } from './archive.ts';
import { declaredDependencies, lintDependencies } from './dependencies/declared.ts';
import { Findings } from './findings.ts';
import { type ParsedSkill, parseSkillMd, type SkillDefinition, usesHostInterpreter } from './format.ts';

export interface LintedSkill {
  /** Null when there is an error among the findings. */
  readonly definition: SkillDefinition | null;
  readonly instructions: string;
  /** By file and line, errors and warnings together. */
  readonly findings: LintFinding[];
}

/** `folderName` is compared with the skill's name, when it is known. */
export async function lintFiles(files: SkillFiles, folderName?: string): Promise<LintedSkill> {
  const findings = new Findings();
  const skillMd = files.find(({ path }) => path === 'SKILL.md');
  if (!skillMd) {
    const near = files.find(({ path }) => path.toLowerCase() === 'skill.md');
    const fix = near ? `Rename ${near.path} to SKILL.md.` : 'Add SKILL.md, or start with skillbox skill init.';
    findings.error('skill-md-missing', 1, 'There is no SKILL.md.', fix);
    return { definition: null, instructions: '', findings: findings.list };
  }
  const parsed = parseSkillMd(
    skillMd.data,
    files.map(({ path }) => path),
  );
  findings.list.push(...parsed.findings);
  if (parsed.definition) {
    await checkSchemas(parsed, parsed.definition, findings);
    checkFiles(parsed, parsed.definition, files, folderName, findings);
  }
  findings.list.sort((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1));
  return { definition: findings.failed ? null : parsed.definition, instructions: parsed.instructions, findings: findings.list };
}

/** The folder as it would be pushed; what the scan refuses is a finding too. */
export async function lintFolder(dir: string, limits: ArchiveLimits): Promise<LintedSkill> {
  try {
    return await lintFiles(await readFolder(dir, limits), basename(resolve(dir)));
  } catch (error) {
    if (!(error instanceof BoxError) || error.code !== 'security_scan_failed') throw error;
    const { entry } = error.details as { entry: string | null };
    const findings = new Findings();
    findings.error('scan-failed', 1, error.message, 'Remove it from the folder: a push would be refused.', entry ?? '.');
    return { definition: null, instructions: '', findings: findings.list };
  }
}

async function checkSchemas(parsed: ParsedSkill, definition: SkillDefinition, findings: Findings): Promise<void> {
  for (const [key, schema] of [
    ['input_schema', definition.inputSchema],
    ['output_schema', definition.outputSchema],
  ] as const) {
    if (!schema) continue;
    const problem = await schemaProblem(schema);
    if (problem) {
      const fix = 'Correct it after JSON Schema 2020-12, with references inside the schema only.';
      findings.error('schema-invalid', parsed.lineOf(key, ...problem.at), `${key} cannot be used: ${problem.message}.`, fix);
    } else if (inspectSchema(schema).otherDialect) {
      const fix = 'Remove $schema, and look for keywords that have changed since.';
      findings.warning('schema-dialect', parsed.lineOf(key, '$schema'), `${key} names another dialect and is read as 2020-12.`, fix);
    }
  }
}

function checkFiles(
  parsed: ParsedSkill,
  definition: SkillDefinition,
  files: SkillFiles,
  folderName: string | undefined,
  findings: Findings,
): void {
  if (folderName !== undefined && folderName !== definition.name) {
    const fix = 'Rename the folder or the skill: other agents expect the same name.';
    findings.warning('name-folder', parsed.lineOf('name'), `The skill is named ${definition.name}, its folder ${folderName}.`, fix);
  }
  if (definition.mode === 'cognitive') return;
  if (usesHostInterpreter(definition)) lintDependencies(files, definition.lang, findings);
  else if (declaredDependencies(files, definition.lang)) {
    const fix = 'Put the packages into the image, or remove image from SKILL.md.';
    findings.warning('dependencies-not-installed', parsed.lineOf('image'), 'Nothing is installed into an image.', fix);
  }
}
