/** Findings of lint as a compiler writes them: file, line, what, and how to mend it. */

import { join } from 'node:path';
import { BoxError, type LintFinding } from '@skillbox/protocol';
import { oneLine, type Paint } from './paint.ts';

export function findingsText(findings: readonly LintFinding[], folder: string, paint: Paint): string {
  return findings
    .map(({ severity, file, line, message, fix, code }) => {
      const tone = severity === 'error' ? 'red' : 'yellow';
      const head = `${oneLine(join(folder, file))}:${line}: ${paint(tone, severity)}: ${oneLine(message)} ${paint('dim', `(${code})`)}`;
      return `${head}\n    ${oneLine(fix)}`;
    })
    .join('\n');
}

export function lintFailure(path: string, findings: readonly LintFinding[]): BoxError | undefined {
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  if (errors === 0) return undefined;
  return new BoxError('lint_failed', `${path} has ${errors} error${errors === 1 ? '' : 's'}.`, { details: { findings } });
}
