/** Keeps docs/security.md true: each row of the boundary table names tests that exist, and each file of tests has a row. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const page = readFileSync(join(import.meta.dirname, '../../docs/security.md'), 'utf8');
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| what is stopped'))
  .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()))
  .map(([, stopped = '', enforcedBy = '', provedBy = '']) => ({ stopped, enforcedBy, proofs: readProofs(provedBy) }));

it('has a table', () => {
  expect(rows.length).toBeGreaterThan(25);
});

it.each(rows)('$stopped: says what enforces it and names tests that exist', ({ enforcedBy, proofs }) => {
  expect(enforcedBy).not.toBe('');
  expect(proofs).not.toHaveLength(0);
  for (const { file, titles } of proofs) {
    const source = readFileSync(join(import.meta.dirname, file), 'utf8');
    expect(titles, file).not.toHaveLength(0);
    for (const title of titles) expect(titlesIn(source), file).toContain(title);
  }
});

it('names every test of a threat', () => {
  const named = new Map<string, Set<string>>();
  for (const { file, titles } of rows.flatMap(({ proofs }) => proofs)) named.set(file, new Set([...(named.get(file) ?? []), ...titles]));
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.test.ts') && name !== 'boundary-table.test.ts');
  expect([...named.keys()].sort()).toEqual(files.sort());
  for (const file of files) {
    const missing = titlesIn(readFileSync(join(import.meta.dirname, file), 'utf8')).filter((title) => !named.get(file)?.has(title));
    // The measure of what an honest guest is, which is no threat.
    expect(
      missing.filter((title) => title !== 'is believed'),
      file,
    ).toEqual([]);
  }
});

/** `file`: *title*, *title*; `file`: *title* */
function readProofs(cell: string): { file: string; titles: string[] }[] {
  return [...cell.matchAll(/`([\w-]+\.test\.ts)`:([^`]*)/g)].map(([, file = '', list = '']) => ({
    file,
    titles: [...list.matchAll(/\*([^*]+)\*/g)].map(([, title = '']) => title),
  }));
}

/** First arguments of `it(…)`, `it.each(…)(…)` and `it.runIf(…)(…)`. */
function titlesIn(source: string): string[] {
  return [...source.matchAll(/^ *(?:it\(|(?:it\.|\]).*\)\()\s*'((?:[^'\\]|\\.)*)',/gm)].map(([, title = '']) => title);
}
