/** The record of one upload's safety check: what was found wrong, and the error that says so. */

import { randomUUID } from 'node:crypto';
import { BoxError } from '@skillbox/protocol';

export const scanCategories = [
  'too_many_entries',
  'too_large',
  'compression_ratio',
  'nested_archive',
  'link',
  'special_file',
  'absolute_path',
  'path_traversal',
  'bad_name',
  'duplicate',
  'encrypted',
  'overlap',
  'malformed',
] as const;
export type ScanCategory = (typeof scanCategories)[number];

export interface ScanProblem {
  readonly category: ScanCategory;
  readonly message: string;
}

export class Scan {
  readonly id = randomUUID();
  readonly #problems: (ScanProblem & { readonly entry: string | null })[] = [];

  add(category: ScanCategory, entry: string | null, message: string): void {
    this.#problems.push({ category, entry, message });
  }

  /** For what must not be read any further. */
  fail(category: ScanCategory, entry: string | null, message: string): never {
    this.add(category, entry, message);
    throw this.#error();
  }

  /** Throws when anything was found. */
  settle(): void {
    if (this.#problems.length > 0) throw this.#error();
  }

  #error(): BoxError {
    const [first] = this.#problems;
    const entry = first?.entry ?? null;
    const others = this.#problems.length > 1 ? ` (and ${this.#problems.length - 1} more)` : '';
    return new BoxError('security_scan_failed', `${entry === null ? 'The archive' : printable(entry)} ${first?.message}${others}.`, {
      details: { scan_id: this.id, categories: [...new Set(this.#problems.map((problem) => problem.category))], entry },
    });
  }
}

/** A hostile name must not move the cursor of the terminal that shows it. */
function printable(entry: string): string {
  return JSON.stringify(entry.length > 200 ? `${entry.slice(0, 200)}…` : entry);
}
