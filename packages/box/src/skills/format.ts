/** SKILL.md: front matter of ours or of the public Agent Skills format, then instructions. */

import { type Language, type LintFinding, skillNamePattern, versionPattern } from '@skillbox/protocol';
import { blockedEnvReason, envProblem, maxEnvBytes } from '../env-names.ts';
import type { JsonSchema } from '../json-schema/schema-shape.ts';
import { parseDuration, parseSize } from '../units.ts';
import { Findings } from './findings.ts';
import { type Field, loadFrontMatter } from './front-matter.ts';
import { isKnownKey, nearestKey } from './known-keys.ts';
import { resolveProgram } from './program.ts';

export interface SkillDefinition {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly mode: 'executable' | 'cognitive';
  readonly lang: Language | null;
  /** Path inside the skill; null for instruction skills. */
  readonly entrypoint: string | null;
  readonly image: string | null;
  readonly timeoutMs: number | null;
  readonly cpu: number | null;
  readonly memoryBytes: number | null;
  /** Modules that are imported before a job comes, where a sandbox stands ready for it. */
  readonly preload: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly inputSchema: JsonSchema | null;
  readonly outputSchema: JsonSchema | null;
  readonly license: string | null;
  readonly compatibility: string | null;
  readonly allowedTools: readonly string[];
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface ParsedSkill {
  /** Null when there is an error among the findings. */
  readonly definition: SkillDefinition | null;
  readonly instructions: string;
  readonly findings: LintFinding[];
  /** Line of a place in the front matter, for findings of later checks. */
  lineOf(key: string, ...path: readonly (string | number)[]): number;
}

export const maxSkillMdBytes = 1024 * 1024;
export const defaultVersion = '1.0.0';

/** `paths` are the skill's files, among which the entrypoint is looked for; without them nothing is said about files. */
export function parseSkillMd(source: Buffer | string, paths?: readonly string[]): ParsedSkill {
  const findings = new Findings();
  const text = decode(source, findings);
  const matter = text === undefined ? undefined : loadFrontMatter(text, findings);
  if (!matter) return { definition: null, instructions: '', findings: findings.list, lineOf: () => 1 };
  const { fields, body, bodyLine } = matter;
  warnOfUnknown(fields, findings);
  if (body === '')
    findings.warning(
      'instructions-empty',
      bodyLine,
      'There are no instructions.',
      'Say after the front matter when and how to use the skill.',
    );
  const resources = readResources(fields.get('resources'), findings);
  const program = resolveProgram(fields, paths, findings);
  const definition: SkillDefinition = {
    name: readName(fields.get('name'), findings),
    version: readVersion(fields.get('version'), findings),
    description: readDescription(fields.get('description'), findings),
    ...program,
    image: readImage(fields.get('image'), findings),
    timeoutMs: readTimeout(fields.get('timeout'), findings),
    ...resources,
    preload: readPreload(fields.get('preload'), program.lang, findings),
    env: readEnv(fields.get('env'), findings),
    inputSchema: readSchema(fields.get('input_schema'), findings),
    outputSchema: readSchema(fields.get('output_schema'), findings),
    license: readText(fields.get('license'), findings),
    compatibility: readText(fields.get('compatibility'), findings),
    allowedTools: readTools(fields.get('allowed-tools'), findings),
    metadata: readMap(fields.get('metadata'), findings),
  };
  return {
    definition: findings.failed ? null : definition,
    instructions: body,
    findings: findings.list,
    lineOf: (key, ...path) => fields.get(key)?.lineAt(...path) ?? 1,
  };
}

/** Whether it runs with an interpreter of the host, as far as SKILL.md says; other images bring their packages themselves. */
export const usesHostInterpreter = ({ mode, image }: Pick<SkillDefinition, 'mode' | 'image'>): boolean =>
  mode === 'executable' && (image === null || ownImages.test(image));

const maxDescription = 4096;
const publicName = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const ownImages = /^(docker\.io\/)?(library\/)?(python|node|bash)(:[\w.-]{1,128})?$/;
const anyImage = /^[a-z0-9][\w./:@-]{0,254}$/i;

function decode(source: Buffer | string, findings: Findings): string | undefined {
  if (Buffer.byteLength(source) > maxSkillMdBytes) {
    findings.error(
      'skill-md-too-large',
      1,
      'SKILL.md is larger than 1 MiB.',
      'Move details into files under references/ and point to them.',
    );
    return undefined;
  }
  if (typeof source === 'string') return source;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(source);
  } catch {
    // The only thing a fatal decoder throws for is what the finding says.
    findings.error('skill-md-encoding', 1, 'SKILL.md is not UTF-8.', 'Save it as UTF-8.');
    return undefined;
  }
}

function warnOfUnknown(fields: ReadonlyMap<string, Field>, findings: Findings): void {
  for (const { key, line } of fields.values()) {
    if (isKnownKey(key)) continue;
    const near = nearestKey(key);
    const fix = near ? `Did you mean ${near}?` : 'Remove it, or put it under metadata.';
    findings.warning('key-unknown', line, `${JSON.stringify(key.slice(0, 100))} is not a field of SKILL.md.`, fix);
  }
}

function readName(field: Field | undefined, findings: Findings): string {
  const name = field?.text ?? '';
  const line = field?.line ?? 1;
  if (!field || field.value === null) findings.error('name-missing', line, 'The skill has no name.', 'Add name: my-skill.');
  else if (!skillNamePattern.test(name)) {
    const fix = `Write name: ${suggestName(name)}.`;
    findings.error(
      'name-invalid',
      line,
      'A name has letters, digits, dots, dashes and underscores, up to 128, and starts with a letter or digit.',
      fix,
    );
  } else if (name.length > 64 || !publicName.test(name)) {
    const fix = `Write name: ${suggestName(name)} for use with other agents too.`;
    findings.warning('name-style', line, 'Other agents accept only lowercase letters, digits and single dashes in names, up to 64.', fix);
  }
  return name;
}

function suggestName(name: string): string {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 64);
  return plain.replace(/^-+|-+$/g, '') || 'my-skill';
}

function readVersion(field: Field | undefined, findings: Findings): string {
  if (!field) return defaultVersion;
  const version = field.text ?? '';
  if (versionPattern.test(version)) return version;
  const [, major, minor = '0', patch = '0'] = /^v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?/.exec(version) ?? [];
  const fix = `Write version: ${major === undefined ? defaultVersion : [major, minor, patch].map(Number).join('.')}.`;
  findings.error('version-invalid', field.line, `${JSON.stringify(version.slice(0, 100))} is not a semantic version.`, fix);
  return defaultVersion;
}

function readDescription(field: Field | undefined, findings: Findings): string {
  const line = field?.line ?? 1;
  const description = typeof field?.value === 'string' ? field.value.trim() : '';
  if (field && field.value !== null && typeof field.value !== 'string') {
    findings.error('description-invalid', line, 'description is not a text.', 'Write it as one text, in quotes when it has : or # in it.');
  } else if (description === '') {
    findings.error('description-missing', line, 'The skill has no description.', 'Add description: what it does and when to use it.');
  } else if (description.length > maxDescription) {
    findings.error(
      'description-invalid',
      line,
      `The description is longer than ${maxDescription} characters.`,
      'Move details into the instructions.',
    );
  } else if (description.length > 1024) {
    findings.warning(
      'description-long',
      line,
      'Other agents read only 1024 characters of a description.',
      'Move details into the instructions.',
    );
  }
  return description;
}

function readImage(field: Field | undefined, findings: Findings): string | null {
  if (!field || field.value === null) return null;
  const image = field.text ?? '';
  if (!anyImage.test(image)) {
    findings.error(
      'image-invalid',
      field.line,
      `image is ${JSON.stringify(image.slice(0, 100))}.`,
      'Write image: python:3.12-slim, or leave it out.',
    );
  } else if (!ownImages.test(image)) {
    findings.warning(
      'image-special',
      field.line,
      `Only a box that can use Docker runs the image ${image}.`,
      'Remove image when python, node or bash is enough.',
    );
  }
  return image;
}

function readTimeout(field: Field | undefined, findings: Findings): number | null {
  if (!field || field.value === null) return null;
  const ms = parseDuration(field.text ?? '');
  if (ms && Number.isSafeInteger(ms)) return ms;
  findings.error(
    'timeout-invalid',
    field.line,
    `timeout is ${JSON.stringify(field.value)}.`,
    'Write a time such as timeout: 60s or timeout: 2m.',
  );
  return null;
}

function readResources(field: Field | undefined, findings: Findings): { cpu: number | null; memoryBytes: number | null } {
  const given = readMap(field, findings);
  for (const key of Object.keys(given)) {
    if (key === 'cpu' || key === 'memory') continue;
    const near = nearestKey(key, ['cpu', 'memory']);
    findings.warning(
      'key-unknown',
      field?.lineAt(key) ?? 1,
      `${JSON.stringify(key)} is not a resource.`,
      near ? `Did you mean ${near}?` : 'Remove it.',
    );
  }
  const cpu = given.cpu === undefined ? null : parseCpu(given.cpu);
  const memoryBytes = given.memory === undefined ? null : parseMemory(given.memory);
  if (cpu === undefined) {
    findings.error(
      'resources-invalid',
      field?.lineAt('cpu') ?? 1,
      `resources.cpu is ${JSON.stringify(given.cpu)}.`,
      'Write a number of CPUs such as cpu: "0.5".',
    );
  }
  if (memoryBytes === undefined) {
    const fix = 'Write a size such as memory: 256Mi, at least 1Mi.';
    findings.error('resources-invalid', field?.lineAt('memory') ?? 1, `resources.memory is ${JSON.stringify(given.memory)}.`, fix);
  }
  return { cpu: cpu ?? null, memoryBytes: memoryBytes ?? null };
}

/** CPUs of 0.5, "0.5" or "500m". */
function parseCpu(value: unknown): number | undefined {
  const match = /^(\d{1,6}(?:\.\d{1,6})?)(m?)$/.exec(typeof value === 'number' || typeof value === 'string' ? String(value).trim() : '');
  const cpu = match ? Number(match[1]) / (match[2] ? 1000 : 1) : 0;
  return cpu > 0 && cpu <= 1024 ? cpu : undefined;
}

function parseMemory(value: unknown): number | undefined {
  const bytes = typeof value === 'number' || typeof value === 'string' ? parseSize(value) : undefined;
  return bytes !== undefined && bytes >= 2 ** 20 && Number.isSafeInteger(bytes) ? bytes : undefined;
}

const moduleNames: Record<Language, RegExp | undefined> = {
  python: /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/,
  node: /^(node:)?(@[\w.-]+\/)?[\w-][\w.-]*(\/[\w.-]+)*$/,
  bash: undefined,
};
const mostModules = 32;

function readPreload(field: Field | undefined, lang: Language | null, findings: Findings): string[] {
  if (!field || field.value === null) return [];
  const pattern = lang ? moduleNames[lang] : undefined;
  if (!pattern) {
    findings.warning('preload-useless', field.line, 'Only Python and Node have modules to preload.', 'Remove preload.');
    return [];
  }
  const names: unknown[] = Array.isArray(field.value) ? field.value : [];
  const isGood =
    names.length > 0 &&
    names.length <= mostModules &&
    names.every((name) => typeof name === 'string' && name.length <= 128 && pattern.test(name));
  if (isGood) return names as string[];
  const fix = `Write a list of at most ${mostModules} modules, such as preload: [${lang === 'node' ? 'sharp' : 'numpy'}].`;
  findings.error('preload-invalid', field.line, 'preload is not a list of names of modules.', fix);
  return [];
}

function readEnv(field: Field | undefined, findings: Findings): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(readMap(field, findings))) {
    const line = field?.lineAt(name) ?? 1;
    const text = value === null ? '' : field?.textAt(name);
    const problem = text === undefined ? `The value of ${name} is not a text.` : envProblem(name, text);
    if (problem) findings.error('env-invalid', line, problem, blockedEnvReason(name) ? 'Use another name.' : 'Write a plain text.');
    else env[name] = text ?? '';
  }
  const bytes = Object.entries(env).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value) + 2, 0);
  if (bytes > maxEnvBytes) findings.error('env-invalid', field?.line ?? 1, 'env is too large.', 'Put large data into files of the skill.');
  return env;
}

function readSchema(field: Field | undefined, findings: Findings): JsonSchema | null {
  if (!field || field.value === null) return null;
  if (isMap(field.value)) return field.value;
  findings.error('schema-invalid', field.line, `${field.key} is not a JSON Schema.`, 'Write it as a map that starts with type: object.');
  return null;
}

function readText(field: Field | undefined, findings: Findings): string | null {
  if (!field || field.value === null) return null;
  if (field.text !== undefined) return field.text;
  findings.warning('field-type', field.line, `${field.key} is not a text and is left out.`, `Write ${field.key} as one text.`);
  return null;
}

/** A list, or one text: `Read Bash(git add *)` are two tools. */
function readTools(field: Field | undefined, findings: Findings): string[] {
  if (!field || field.value === null) return [];
  if (Array.isArray(field.value)) return field.value.map(String);
  return (readText(field, findings) ?? '').match(/[^\s,(]+(?:\([^)]*\))?/g) ?? [];
}

function readMap(field: Field | undefined, findings: Findings): Readonly<Record<string, unknown>> {
  if (!field || field.value === null) return {};
  if (isMap(field.value)) return field.value;
  const severity = field.key === 'metadata' ? 'warning' : 'error';
  findings[severity](
    'field-type',
    field.line,
    `${field.key} is not a map.`,
    `Write ${field.key}: and then one indented KEY: value per line.`,
  );
  return {};
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
