/** Decides whether a skill can run, with which interpreter, and where it starts. docs/skills.md has the rule in words. */

import { type Language, languages } from '@skillbox/protocol';
import type { Findings } from './findings.ts';
import type { Field } from './front-matter.ts';
import { nearestKey, ownKeys } from './known-keys.ts';
import { pathProblem } from './path.ts';

export interface Program {
  readonly mode: 'executable' | 'cognitive';
  readonly lang: Language | null;
  readonly entrypoint: string | null;
}

/** Where an entrypoint is looked for when SKILL.md names none; the first that exists wins. */
export const entrypointSearch = [
  'main.py',
  'run.py',
  'main.js',
  'main.sh',
  'scripts/main.py',
  'scripts/run.py',
  'scripts/main.js',
  'scripts/main.sh',
] as const;

/** `paths` are the skill's files; undefined when they are not known, and then nothing is said about them. */
export function resolveProgram(fields: ReadonlyMap<string, Field>, paths: readonly string[] | undefined, findings: Findings): Program {
  const mode = readMode(fields.get('mode'), findings);
  if (mode === 'cognitive') {
    for (const key of ['lang', 'entrypoint'] as const) {
      const field = fields.get(key);
      if (field) findings.warning('ignored-field', field.line, `${key} means nothing when mode is cognitive.`, `Remove ${key}, or mode.`);
    }
    return instructionsOnly;
  }
  const lang = readLang(fields.get('lang'), findings);
  const given = fields.get('entrypoint');
  if (given) return withEntrypoint(given, lang, paths, findings);
  return searched(fields, mode, lang, paths, findings);
}

const instructionsOnly: Program = { mode: 'cognitive', lang: null, entrypoint: null };
const endings: Readonly<Record<string, Language>> = { py: 'python', js: 'node', mjs: 'node', cjs: 'node', sh: 'bash', bash: 'bash' };

function readMode(field: Field | undefined, findings: Findings): Program['mode'] | undefined {
  if (!field) return undefined;
  if (field.value === 'executable' || field.value === 'cognitive') return field.value;
  findings.error('mode-invalid', field.line, `mode is ${shown(field)}.`, 'Write mode: executable or mode: cognitive, or leave it out.');
  return undefined;
}

function readLang(field: Field | undefined, findings: Findings): Language | undefined {
  if (!field) return undefined;
  const lang = languages.find((language) => language === field.value);
  if (lang) return lang;
  const near = nearestKey(String(field.text ?? ''), languages);
  findings.error('lang-invalid', field.line, `lang is ${shown(field)}.`, `Write lang: ${near ?? languages.join(', lang: ')}.`);
  return undefined;
}

function withEntrypoint(field: Field, lang: Language | undefined, paths: readonly string[] | undefined, findings: Findings): Program {
  const entrypoint = (field.text ?? '').replace(/^\.\//, '');
  const problem = pathProblem(entrypoint);
  if (typeof field.value !== 'string' || problem) {
    const reason = problem ? `: it ${problem.message}` : '';
    findings.error(
      'entrypoint-invalid',
      field.line,
      `entrypoint is ${shown(field)}${reason}.`,
      'Write a path inside the skill, such as entrypoint: scripts/main.py.',
    );
  } else if (paths && !paths.includes(entrypoint)) {
    const near = paths.find((path) => path.endsWith(`/${entrypoint}`) || entrypoint.endsWith(`/${path}`));
    const fix = near ? `Write entrypoint: ${near}.` : 'Add the file, or name one that exists.';
    findings.error('entrypoint-missing', field.line, `The entrypoint ${entrypoint} is not in the skill.`, fix);
  }
  const inferred = langOf(entrypoint);
  if (!lang && !inferred && typeof field.value === 'string') {
    const fix = `Add lang: ${languages.join(', lang: ')}.`;
    findings.error('lang-missing', field.line, `The ending of ${entrypoint} does not tell its language.`, fix);
  }
  if (lang && inferred && lang !== inferred) {
    findings.warning(
      'lang-mismatch',
      field.line,
      `lang is ${lang}, but ${entrypoint} looks like ${inferred}.`,
      `Write lang: ${inferred}, or remove lang.`,
    );
  }
  return { mode: 'executable', lang: lang ?? inferred ?? null, entrypoint };
}

function searched(
  fields: ReadonlyMap<string, Field>,
  mode: Program['mode'] | undefined,
  lang: Language | undefined,
  paths: readonly string[] | undefined,
  findings: Findings,
): Program {
  const entrypoint = entrypointSearch.find((path) => paths?.includes(path) && (!lang || langOf(path) === lang));
  if (entrypoint) {
    if (!ownKeys.some((key) => fields.has(key))) {
      const fix = 'Write mode: cognitive when it does not follow the contract of docs/skills.md, or lang to say that it does.';
      findings.warning('entrypoint-inferred', 1, `${entrypoint} is taken as the entrypoint, so the skill can be run.`, fix);
    }
    return { mode: 'executable', lang: langOf(entrypoint) ?? null, entrypoint };
  }
  const field = fields.get('lang') ?? fields.get('mode');
  if (!field || (!lang && mode !== 'executable')) return instructionsOnly;
  if (paths) {
    const fix = 'Add scripts/main.py, main.js or main.sh, or name the file with entrypoint.';
    findings.error('entrypoint-missing', field.line, 'The skill says that it can be run, but has no entrypoint.', fix);
  }
  return { mode: 'executable', lang: lang ?? null, entrypoint: null };
}

function langOf(path: string): Language | undefined {
  return endings[/\.([a-z]+)$/.exec(path)?.[1] ?? ''];
}

function shown(field: Field): string {
  return JSON.stringify(field.value)?.slice(0, 100) ?? 'empty';
}
