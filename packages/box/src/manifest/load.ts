/** From skillbox.yaml to a manifest, or to a list of what is wrong with it. */

import { readFileSync, statSync } from 'node:fs';
import { BoxError } from '@skillbox/protocol';
import type { Config } from '../config.ts';
import { type ManifestDocument, readDocument } from './document.ts';
import { type Finding, findingKinds, formatFinding, formatPath, type Problem } from './finding.ts';
import { type HostFiles, localFiles } from './host-files.ts';
import { rules } from './rules.ts';
import { type Manifest, manifestSchema } from './schema.ts';
import { schemaProblems } from './schema-problems.ts';

export interface CheckContext extends Pick<Config, 'stateRoot' | 'maxConcurrentExecs'> {
  readonly files?: HostFiles;
}

export interface CheckedManifest {
  /** Absent when a finding is an error. */
  readonly manifest?: Manifest;
  /** In the order of the file; more than a hundred are not listed. */
  readonly findings: readonly Finding[];
}

type ManifestConfig = Pick<Config, 'manifest' | 'stateRoot' | 'maxConcurrentExecs'>;

const mostFindings = 100;

/** The manifest of the box, and what it warns of; throws manifest_invalid with every finding when it has errors. */
export function loadManifest(config: ManifestConfig, onWarning: (warning: string) => void = () => undefined): Manifest {
  const { manifest, findings } = checkManifestFile(config);
  for (const finding of findings) if (finding.severity === 'warning') onWarning(formatFinding(finding));
  if (manifest) return manifest;
  const errors = findings.filter((finding) => finding.severity === 'error');
  throw new BoxError('manifest_invalid', errors.map(formatFinding).join('\n'), { details: { findings } });
}

/** For those who want the warnings too; without a manifest the built-in defaults are it. */
export function checkManifestFile(config: ManifestConfig): CheckedManifest {
  if (config.manifest === undefined) return { manifest: manifestSchema.parse({ version: 1 }), findings: [] };
  return checkManifest(readText(config.manifest), config.manifest, config);
}

export function checkManifest(
  text: string,
  file: string,
  { stateRoot, maxConcurrentExecs, files = localFiles }: CheckContext,
): CheckedManifest {
  const document = readDocument(text);
  const toFindings = (problems: Iterable<Problem>) => located(document, file, problems);
  if (document.problems.some((problem) => endsTheCheck.has(problem.code))) return { findings: toFindings(document.problems) };

  // An empty file is an empty mapping that lacks its version.
  const value = document.value ?? {};
  const parsed = manifestSchema.safeParse(value);
  if (!parsed.success) return { findings: toFindings(chain(document.problems, schemaProblems(parsed.error.issues, value))) };

  const violations = rules.flatMap(({ code, check }) =>
    [...check(parsed.data, { stateRoot, maxConcurrentExecs, files })].map((violation) => ({ ...violation, code })),
  );
  const findings = toFindings(chain(document.problems, violations));
  return findings.some((finding) => finding.severity === 'error') ? { findings } : { manifest: parsed.data, findings };
}

/** What leaves no value to look at. */
const endsTheCheck: ReadonlySet<string> = new Set(['manifest.syntax', 'manifest.too_large']);

function located(document: ManifestDocument, file: string, problems: Iterable<Problem>): Finding[] {
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

function readText(path: string): string {
  try {
    // A pipe would be waited on for ever.
    if (statSync(path).isFile()) return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new BoxError('manifest_invalid', `The manifest ${path} cannot be read: ${cause instanceof Error ? cause.message : cause}`, {
      cause,
    });
  }
  throw new BoxError('manifest_invalid', `The manifest ${path} is not a file.`, {
    hint: 'Name a file with --manifest or SKILLBOX_MANIFEST.',
  });
}
