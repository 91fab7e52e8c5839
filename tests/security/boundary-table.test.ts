/** Keeps docs/security.md true: each row of the boundary table names tests that exist and the doors they go through, and each file of tests has a row. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type DoorName, doorNames, facts } from './doors.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/security.md'), 'utf8');
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| what is stopped'))
  .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()))
  .map(([, stopped = '', enforcedBy = '', through = '', provedBy = '']) => ({
    stopped,
    enforcedBy,
    through,
    proofs: readProofs(provedBy),
  }));

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

it.each(rows)('$stopped: is tried through $through', ({ through, proofs }) => {
  const said = proofs.flatMap(({ file, titles, exceptions }) => titles.map((title) => [file, title, exceptions.get(title) ?? through]));
  const found = proofs.flatMap(({ file, titles, exceptions }) =>
    titles.map((title) => [file, title, doorsOf(file, title) ?? exceptions.get(title) ?? through]),
  );
  expect(through).not.toBe('');
  expect(said).toEqual(found);
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

interface Proofs {
  readonly file: string;
  readonly titles: string[];
  /** Titles that go through other doors than their row says: *title* (one-shot). */
  readonly exceptions: ReadonlyMap<string, string>;
}

/** `file`: *title*, *title* (doors); `file`: *title* */
function readProofs(cell: string): Proofs[] {
  return [...cell.matchAll(/`([\w-]+\.test\.ts)`:([^`]*)/g)].map(([, file = '', list = '']) => {
    const found = [...list.matchAll(/\*([^*]+)\*(?: \(([^)]+)\))?/g)];
    return {
      file,
      titles: found.map(([, title = '']) => title),
      exceptions: new Map(found.flatMap(([, title = '', doors]) => (doors === undefined ? [] : [[title, doors] as const]))),
    };
  });
}

/** First arguments of `it(…)`, `it.each(…)(…)` and `it.runIf(…)(…)`. */
function titlesIn(source: string): string[] {
  return testsIn(source).map(({ title }) => title);
}

function testsIn(source: string): { title: string; condition: string | undefined; at: number }[] {
  const pattern = /^ *(?:it\(|(?:it\.(?:runIf\(([^)]*)\))?|\]).*\()\s*'((?:[^'\\]|\\.)*)',/gm;
  return [...source.matchAll(pattern)].map(({ 1: condition, 2: title = '', index }) => ({ title, condition, at: index }));
}

/** As the source says it: inside of which block the test stands, and on which fact of a door it depends. Nothing for files without doors. */
function doorsOf(file: string, title: string): string | undefined {
  const source = readFileSync(join(import.meta.dirname, file), 'utf8');
  if (!source.includes("from './doors.ts'")) return undefined;
  const test = testsIn(source).find((candidate) => candidate.title === title);
  const opening = [...source.slice(0, test?.at).matchAll(/^(\}\);|throughEveryDoor|throughLivingDoors|describe)/gm)].at(-1);
  const block = opening?.[1] ?? '';
  const fact = /^(!?)door\.(\w+)$/.exec(test?.condition ?? '');
  const names = doorNames.filter((name) => !fact || Boolean(facts[name][fact[2] as keyof (typeof facts)[DoorName]]) === (fact[1] === ''));
  if (block === 'throughEveryDoor' && names.length === doorNames.length) return 'every door';
  if (block === 'throughEveryDoor' && names.every((name) => !facts[name].living)) return 'one-shot';
  if (block === 'throughLivingDoors' || block === 'throughEveryDoor') return 'living doors';
  return 'one-shot';
}
