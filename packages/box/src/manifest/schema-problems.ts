/** Says what the schema objects to in words of the manifest, with the names that were probably meant. */

import type { z } from 'zod';
import { nearestName } from '../suggest.ts';
import { type FindingCode, findingKinds, formatPath, type Path, type Problem } from './finding.ts';
import { keysAt } from './json-schema.ts';

type Issue = z.core.$ZodIssue;

/** Lazily: a file full of unknown keys would take long to explain, and nobody reads beyond the first ones. */
export function* schemaProblems(schema: z.ZodType, issues: readonly Issue[], value: unknown): Generator<Problem> {
  for (const issue of issues) {
    if (issue.code === 'unrecognized_keys') yield* unknownKeys(issue.keys, issue.path, keysAt(schema, issue.path));
    else yield problemOf(issue, value);
  }
}

function* unknownKeys(keys: readonly string[], path: Path, known: readonly string[]): Generator<Problem> {
  // The walk over the keys of the document has reported it, see document.ts.
  for (const key of keys.filter((name) => name !== '__proto__')) {
    const meant = nearestName(key, known);
    const fix = meant ? `Did you mean ${meant}?` : `Remove it; known here: ${known.join(', ')}.`;
    yield { code: 'manifest.unknown_key', path: [...path, key], at: 'key', message: `unknown key ${key}`, fix };
  }
}

function problemOf(issue: Issue, value: unknown): Problem {
  const { path } = issue;
  if (path[0] === 'version') return versionProblem(valueAt(value, path));
  const found = kindOf(valueAt(value, path));
  const name = formatPath(path);
  switch (issue.code) {
    case 'invalid_type': {
      const expected = kindNames[issue.expected] ?? issue.expected;
      return { code: 'manifest.wrong_type', path, message: `${name || 'the file'} is ${found}, expected ${expected}` };
    }
    case 'invalid_union':
      return { code: 'manifest.wrong_type', path, message: `${name} is ${found}, ${issue.message}` };
    case 'invalid_value': {
      const allowed = issue.values.map(String);
      const meant = nearestName(String(valueAt(value, path)), allowed);
      const fix = meant ? `Did you mean ${meant}?` : undefined;
      return { code: 'manifest.unknown_value', path, message: `${name} is none of ${allowed.join(', ')}`, fix };
    }
    case 'invalid_key':
      return { code: 'manifest.bad_name', path, at: 'key', message: `${name}: ${issue.issues.map((inner) => inner.message).join('; ')}` };
    case 'invalid_format':
      return { code: 'manifest.bad_name', path, message: `${name}: ${issue.message}` };
    case 'custom':
      return { code: codeOf(issue.params), path, message: `${name}: ${issue.message}` };
    default:
      return { code: 'manifest.bad_value', path, message: `${name}: ${issue.message}` };
  }
}

function versionProblem(found: unknown): Problem {
  if (found === undefined) return { code: 'manifest.version_missing', path: [], message: 'version is missing' };
  return { code: 'manifest.version_unsupported', path: ['version'], message: `version is ${JSON.stringify(found)}, expected the number 1` };
}

function codeOf(params: Record<string, unknown> | undefined): FindingCode {
  const code = params?.finding;
  return typeof code === 'string' && Object.hasOwn(findingKinds, code) ? (code as FindingCode) : 'manifest.bad_value';
}

function valueAt(value: unknown, path: Path): unknown {
  let at = value;
  for (const part of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Record<PropertyKey, unknown>)[part];
  }
  return at;
}

const kindNames: Record<string, string> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  object: 'a mapping',
  record: 'a mapping',
  array: 'a list',
};

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'empty';
  if (Array.isArray(value)) return 'a list';
  return { string: 'text', number: 'a number', boolean: 'true or false', object: 'a mapping' }[typeof value as string] ?? typeof value;
}
