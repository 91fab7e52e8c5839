/** What a skill's files say it needs: requirements.txt of a Python skill, package.json with its lock file of a Node skill. */

import { createHash } from 'node:crypto';
import type { DependencyKind, Language } from '@skillbox/protocol';
import type { SkillFiles } from '../archive.ts';
import type { Findings } from '../findings.ts';

export interface Declared {
  readonly kind: DependencyKind;
  /** What the installer is given, and nothing else of the skill. */
  readonly files: readonly { readonly path: string; readonly data: Buffer }[];
  /** Whether every package must have one of the hashes that stand beside it. */
  readonly hashed: boolean;
  /** The kind, and the SHA-256 of the files: equal locks are installed once. */
  readonly lock: string;
}

const requirementsFile = 'requirements.txt';
const lockFiles = ['package-lock.json', 'npm-shrinkwrap.json'] as const;

/** null when there is nothing to install. What lint finds an error in gives null too. */
export function declaredDependencies(files: SkillFiles, lang: Language | null): Declared | null {
  if (lang === 'python') return declaredByRequirements(files);
  return lang === 'node' ? declaredByPackage(files) : null;
}

export const kindOf = (lock: string): DependencyKind => (lock.startsWith('node:') ? 'node' : 'python');

/** Says what would keep the installer from working, with file, line and fix. */
export function lintDependencies(files: SkillFiles, lang: Language | null, findings: Findings): void {
  if (lang === 'python') lintRequirements(files, findings);
  if (lang === 'node') lintPackage(files, findings);
}

function declaredByRequirements(files: SkillFiles): Declared | null {
  const file = files.find(({ path }) => path === requirementsFile);
  if (!file) return null;
  const text = plainText(file.data);
  const lines = logicalLines(text);
  if (lines.length === 0) return null;
  const hashed = lines.some((line) => /\s--hash[= ]/.test(line.text));
  return declared('python', [{ path: requirementsFile, data: Buffer.from(text) }], hashed);
}

function declaredByPackage(files: SkillFiles): Declared | null {
  const manifest = readPackage(files);
  const lock = files.find(({ path }) => lockFiles.some((name) => name === path));
  if (!manifest || !lock || !hasDependencies(manifest)) return null;
  return declared('node', [
    { path: 'package.json', data: Buffer.from(JSON.stringify(reduced(manifest))) },
    { path: 'package-lock.json', data: Buffer.from(plainText(lock.data)) },
  ]);
}

function declared(kind: DependencyKind, files: Declared['files'], hashed = false): Declared {
  const hash = createHash('sha256');
  for (const { path, data } of files) hash.update(`${path} ${data.length}\n`).update(data);
  return { kind, files, hashed, lock: `${kind}:${hash.digest('hex')}` };
}

type Package = Readonly<Record<string, unknown>>;

const wanted = [
  'dependencies',
  'devDependencies',
  'optionalDependencies',
  'peerDependencies',
  'peerDependenciesMeta',
  'overrides',
] as const;

/** Only what npm compares with the lock file: another description is no reason to install again, and scripts of the skill itself have no files here. */
function reduced(manifest: Package): Package {
  const name = { name: 'skill', version: '1.0.0' };
  return { ...name, ...Object.fromEntries(wanted.flatMap((key) => (manifest[key] === undefined ? [] : [[key, manifest[key]]]))) };
}

const hasDependencies = (manifest: Package): boolean =>
  (['dependencies', 'optionalDependencies'] as const).some((key) => Object.keys((manifest[key] as object | undefined) ?? {}).length > 0);

function readPackage(files: SkillFiles): Package | undefined {
  const file = files.find(({ path }) => path === 'package.json');
  return file && parseObject(file.data);
}

function parseObject(data: Buffer): Package | undefined {
  try {
    const value: unknown = JSON.parse(plainText(data));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Package) : undefined;
  } catch {
    // Not JSON: lint says so, and nothing is installed.
    return undefined;
  }
}

/** The same on every system that wrote it. */
const plainText = (data: Buffer): string =>
  data
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .replaceAll('\r\n', '\n');

interface Line {
  readonly number: number;
  readonly text: string;
}

/** Without comments and blank lines; a backslash at the end joins lines, as pip reads them. */
function logicalLines(text: string): Line[] {
  const lines: Line[] = [];
  let open: { number: number; text: string } | undefined;
  for (const [index, raw] of text.split('\n').entries()) {
    const joined: { number: number; text: string } = open ?? { number: index + 1, text: '' };
    const comment = /^\s*#/.test(raw);
    const goesOn = !comment && raw.endsWith('\\');
    joined.text += comment ? '' : raw.replace(/\\$/, ' ').replace(/\s+#.*$/, '');
    open = goesOn ? joined : undefined;
    if (!goesOn && joined.text.trim() !== '') lines.push({ number: joined.number, text: joined.text.trim() });
  }
  if (open && open.text.trim() !== '') lines.push({ number: open.number, text: open.text.trim() });
  return lines;
}

const nestedOption = /^(-r|-c|-e|--requirement|--constraint|--editable)\b/;
const indexOption = /^(-i|-f|--index-url|--extra-index-url|--no-index|--find-links|--trusted-host|--proxy|--cert|--client-cert)\b/;
const localPath = /^(\.{0,2}\/|file:|[\w.-]+\s*@\s*file:)/;
const elsewhere = /^(git|hg|svn|bzr)\+|^https?:|^[\w.[\],-]+\s*@\s*(https?:|(git|hg|svn|bzr)\+)/;

function lintRequirements(files: SkillFiles, findings: Findings): void {
  const file = files.find(({ path }) => path === requirementsFile);
  if (!file) {
    warnOfMisplaced(files, [requirementsFile], findings);
    return;
  }
  for (const { number, text } of logicalLines(plainText(file.data))) {
    const shown = JSON.stringify(text.slice(0, 80));
    if (nestedOption.test(text) || localPath.test(text)) {
      const fix = 'Put everything that is needed into requirements.txt itself.';
      findings.error('requirements-nested', number, `${shown} points to another file.`, fix, requirementsFile);
    } else if (indexOption.test(text)) {
      const fix = 'Remove it: the index is chosen by who runs the box.';
      findings.error('requirements-index', number, `${shown} chooses an index.`, fix, requirementsFile);
    } else if (elsewhere.test(text)) {
      const fix = 'Name a package of the index: a build reaches nothing else.';
      findings.error('requirements-elsewhere', number, `${shown} is not in the index.`, fix, requirementsFile);
    } else if (!text.startsWith('-') && !/===?/.test(text)) {
      const fix = 'Write NAME==VERSION, so that every box installs the same.';
      findings.warning('requirements-unpinned', number, `${shown} names no exact version.`, fix, requirementsFile);
    }
  }
}

function lintPackage(files: SkillFiles, findings: Findings): void {
  const file = files.find(({ path }) => path === 'package.json');
  if (!file) {
    warnOfMisplaced(files, ['package.json'], findings);
    return;
  }
  const manifest = parseObject(file.data);
  if (!manifest) {
    findings.error('package-json-invalid', 1, 'package.json is not a JSON object.', 'Correct it, or remove it.', 'package.json');
    return;
  }
  if (!hasDependencies(manifest)) return;
  const lock = files.find(({ path }) => lockFiles.some((name) => name === path));
  const fix = 'Run npm install --package-lock-only in the folder of the skill, and push package-lock.json with it.';
  if (!lock)
    findings.error('lockfile-missing', 1, 'package.json names dependencies, and there is no package-lock.json.', fix, 'package.json');
  else if (!parseObject(lock.data)) findings.error('lockfile-invalid', 1, `${lock.path} is not a JSON object.`, fix, lock.path);
}

function warnOfMisplaced(files: SkillFiles, names: readonly string[], findings: Findings): void {
  const file = files.find(({ path }) => names.some((name) => path === `scripts/${name}`));
  if (!file) return;
  const fix = `Move it to the top of the skill, beside SKILL.md, or ship the packages inside the skill.`;
  findings.warning('dependencies-not-installed', 1, `${file.path} is not installed from.`, fix, file.path);
}
