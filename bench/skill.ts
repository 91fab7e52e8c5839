/** The skill that everything here runs: a list of numbers in, three numbers out, written once in each language. */

import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Language, languages } from '@skillbox/protocol';
import { findInterpreters } from '../packages/box/src/sandbox/providers/bubblewrap/interpreters.ts';

export interface BenchSkill {
  readonly lang: Language;
  readonly name: string;
  readonly entrypoint: string;
  /** The very binary that sandboxes use: a real path, never a version manager's shim. */
  readonly interpreter: { readonly path: string; readonly version: string };
  /** Its files with their text, SKILL.md included. */
  readonly files: Readonly<Record<string, string>>;
  /** Copies it, readable for everybody: other uids run it. */
  copyTo(folder: string): void;
}

const numbers = Array.from({ length: 40 }, (_, index) => (index * 7919) % 1000);

export const input = { numbers };
export const inputText = JSON.stringify(input);

const expected = { count: numbers.length, sum: numbers.reduce((total, number) => total + number, 0), largest: Math.max(...numbers) };

/** What was measured must have done the work. */
export function checkOutput(output: unknown, who: string): void {
  if (!isDeepStrictEqual(output, expected)) throw new Error(`${who} answered ${JSON.stringify(output)}, not ${JSON.stringify(expected)}`);
}

export async function loadSkills(): Promise<Record<Language, BenchSkill>> {
  const interpreters = await findInterpreters({});
  const entries = languages.map((lang) => {
    const interpreter = interpreters[lang];
    if (!interpreter) throw new Error(`this machine has no ${lang} that a sandbox can use; skillbox doctor says more`);
    return [lang, loadSkill(lang, interpreter)] as const;
  });
  return Object.fromEntries(entries) as Record<Language, BenchSkill>;
}

function loadSkill(lang: Language, { path, version }: BenchSkill['interpreter']): BenchSkill {
  const folder = join(import.meta.dirname, 'skills', lang);
  const names = readdirSync(folder);
  const entrypoint = names.find((name) => name.startsWith('main.')) ?? '';
  return {
    ...{ lang, entrypoint, name: `bench-${lang}`, interpreter: { path, version } },
    files: Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')])),
    copyTo: (target) => cpSync(folder, target, { recursive: true }),
  };
}
