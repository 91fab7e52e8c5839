import { z } from 'zod';
import { skillName, skillVersion, timestamp } from './ids.ts';

export const languages = ['python', 'node', 'bash'] as const;
export const language = z.enum(languages).describe('Interpreter that runs the entrypoint');
export type Language = (typeof languages)[number];

export const skillModes = ['executable', 'cognitive'] as const;
export const skillMode = z.enum(skillModes).describe('executable: has an entrypoint; cognitive: instructions only');

const jsonSchema = z.record(z.string(), z.unknown()).describe('A JSON Schema (2020-12)');

export const dependencyKinds = ['python', 'node'] as const;
export const dependencyStates = ['not_built', 'building', 'available', 'failed'] as const;

export const skillDependencies = z
  .object({
    kind: z.enum(dependencyKinds).describe('python: requirements.txt; node: package.json with its lock file'),
    state: z
      .enum(dependencyStates)
      .describe('building, available or failed; not_built: not with the interpreter this host has now, the next run or build starts it'),
    error: z.string().nullable().describe('Why it failed, in one line; the build log has the rest'),
    size_bytes: z.number().int().nullable().describe('Unpacked bytes'),
    files: z.number().int().nullable(),
    started_at: timestamp.nullable(),
    finished_at: timestamp.nullable(),
  })
  .meta({ id: 'SkillDependencies' });

export const skillSummary = z
  .object({
    name: skillName,
    version: skillVersion,
    description: z.string(),
    mode: skillMode,
    lang: language.nullable(),
    created_at: timestamp,
    dependencies: skillDependencies.nullable().describe('null when it declares none'),
  })
  .meta({ id: 'SkillSummary' });

export const skillFile = z.object({ path: z.string(), size: z.number().int() }).meta({ id: 'SkillFile' });

export const skillDetail = skillSummary
  .extend({
    entrypoint: z.string().nullable().describe('Path of the program inside the skill'),
    image: z.string().nullable(),
    timeout_ms: z.number().int().nullable(),
    resources: z.object({ cpu: z.number().nullable(), memory_bytes: z.number().int().nullable() }),
    preload: z.array(z.string()).describe('Modules that are imported before a job comes'),
    env: z.record(z.string(), z.string()),
    input_schema: jsonSchema.nullable(),
    output_schema: jsonSchema.nullable(),
    license: z.string().nullable(),
    metadata: z.record(z.string(), z.unknown()),
    instructions: z.string().describe('The Markdown body of SKILL.md'),
    digest: z.string().describe('SHA-256 over the paths, modes and contents of its files'),
    size: z.number().int().describe('Unpacked bytes'),
    files: z.array(skillFile),
  })
  .meta({ id: 'Skill' });

export const lintFinding = z
  .object({
    severity: z.enum(['error', 'warning']),
    code: z.string(),
    file: z.string(),
    line: z.number().int(),
    message: z.string(),
    fix: z.string(),
  })
  .meta({ id: 'LintFinding' });

export type DependencyKind = (typeof dependencyKinds)[number];
export type DependencyState = (typeof dependencyStates)[number];
export type SkillDependencies = z.infer<typeof skillDependencies>;
export type SkillSummary = z.infer<typeof skillSummary>;
export type SkillDetail = z.infer<typeof skillDetail>;
export type LintFinding = z.infer<typeof lintFinding>;
