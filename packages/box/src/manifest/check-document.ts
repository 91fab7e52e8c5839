/** What the manifest and the overlays have in common: YAML, then a schema, then rules; all that is wrong is told at once. */

import type { z } from 'zod';
import { type ManifestDocument, readDocument } from './document.ts';
import { type Finding, findingKinds, formatPath, type Problem } from './finding.ts';
import { schemaProblems } from './schema-problems.ts';

export interface CheckedDocument<T> {
  /** Absent when a finding is an error. */
  readonly value?: T;
  readonly document: ManifestDocument;
  /** In the order of the file; more than a hundred are not listed. */
  readonly findings: readonly Finding[];
}

const mostFindings = 100;

/** What leaves no value to look at. */
const endsTheCheck: ReadonlySet<string> = new Set(['manifest.syntax', 'manifest.too_large']);

export function checkDocument<S extends z.ZodType>(
  text: string,
  file: string,
  schema: S,
  rules: (value: z.output<S>) => Iterable<Problem>,
): CheckedDocument<z.output<S>> {
  const document = readDocument(text);
  const found = (problems: Iterable<Problem>) => locate(document, file, problems);
  if (document.problems.some((problem) => endsTheCheck.has(problem.code))) return { document, findings: found(document.problems) };

  // An empty file is an empty mapping that lacks its version.
  const value = document.value ?? {};
  const parsed = schema.safeParse(value);
  if (!parsed.success) return { document, findings: found(chain(document.problems, schemaProblems(schema, parsed.error.issues, value))) };

  const findings = found(chain(document.problems, rules(parsed.data)));
  return findings.some((finding) => finding.severity === 'error') ? { document, findings } : { value: parsed.data, document, findings };
}

/** Problems with their places; no more than a hundred, in the order of the file. */
export function locate(document: ManifestDocument, file: string, problems: Iterable<Problem>): Finding[] {
  const findings: Finding[] = [];
  for (const problem of problems) {
    if (findings.length === mostFindings) break;
    const { code, path, message } = problem;
    const { severity, fix } = findingKinds[code];
    findings.push({ severity, code, file, ...document.positionOf(problem), path: formatPath(path), message, fix: problem.fix ?? fix });
  }
  return findings.sort((one, other) => one.line - other.line || one.column - other.column);
}

function* chain<T>(...lists: Iterable<T>[]): Generator<T> {
  for (const list of lists) yield* list;
}
