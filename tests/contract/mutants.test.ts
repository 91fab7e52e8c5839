/** A mutant whose edit no longer fits its source is only found by the run that takes half an hour; here it is found at once. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { mutants } from '../../scripts/mutants.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

it('every mutant of the boundary still fits its source', () => {
  const lost = mutants.flatMap(({ layer, edits }) =>
    edits.filter(({ file, find }) => !read(file).includes(find)).map(({ file }) => `${layer}: ${file}`),
  );
  expect(lost).toEqual([]);
});

it('every mutant names a test that exists', () => {
  const lost = mutants
    .filter(({ test }) => !read(`tests/security/${test.file}`).includes(test.title.replaceAll("'", "\\'")))
    .filter(({ test }) => !read(`tests/security/${test.file}`).includes(test.title));
  expect(lost.map(({ layer, test }) => `${layer}: ${test.title}`)).toEqual([]);
});
