/** From skillbox.yaml to a manifest, or to a list of what is wrong with it. */

import { readFileSync, statSync } from 'node:fs';
import { BoxError } from '@skillbox/protocol';
import type { Config } from '../config.ts';
import { checkDocument } from './check-document.ts';
import type { ManifestDocument } from './document.ts';
import { type Finding, formatFinding } from './finding.ts';
import { type HostFiles, localFiles } from './host-files.ts';
import { rules } from './rules.ts';
import { type Manifest, manifestSchema } from './schema.ts';

export interface CheckContext extends Pick<Config, 'stateRoot' | 'maxConcurrentExecs'> {
  readonly files?: HostFiles;
}

export interface CheckedManifest {
  /** Absent when a finding is an error. */
  readonly manifest?: Manifest;
  /** For who wants to know where something stands; absent without a file. */
  readonly document?: ManifestDocument;
  /** In the order of the file; more than a hundred are not listed. */
  readonly findings: readonly Finding[];
}

type ManifestConfig = Pick<Config, 'manifest' | 'stateRoot' | 'maxConcurrentExecs'>;

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
  return checkManifest(readManifestText(config.manifest), config.manifest, config);
}

export function checkManifest(
  text: string,
  file: string,
  { stateRoot, maxConcurrentExecs, files = localFiles }: CheckContext,
): CheckedManifest {
  const { document, value, findings } = checkDocument(text, file, manifestSchema, (manifest) =>
    rules.flatMap(({ code, check }) =>
      [...check(manifest, { stateRoot, maxConcurrentExecs, files })].map((violation) => ({ ...violation, code })),
    ),
  );
  return { ...(value && { manifest: value }), document, findings };
}

/** Throws manifest_invalid when there is no file to read. */
export function readManifestText(path: string): string {
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
