import type { LintFinding } from '@skillbox/protocol';

/** Collects what is wrong with a skill, so that an author sees all of it at once. */
export class Findings {
  readonly list: LintFinding[] = [];

  error(code: string, line: number, message: string, fix: string, file = 'SKILL.md'): void {
    this.list.push({ severity: 'error', code, file, line, message, fix });
  }

  warning(code: string, line: number, message: string, fix: string, file = 'SKILL.md'): void {
    this.list.push({ severity: 'warning', code, file, line, message, fix });
  }

  get failed(): boolean {
    return this.list.some((finding) => finding.severity === 'error');
  }
}
