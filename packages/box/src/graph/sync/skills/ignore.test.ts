import { expect, it } from 'vitest';
import { parseIgnore } from './ignore.ts';

it.each([
  ['*.log', 'a.log', false, true],
  ['*.log', 'deep/down/a.log', false, true],
  ['/top', 'top', false, true],
  ['/top', 'deep/top', false, false],
  ['build/', 'build', true, true],
  ['build/', 'build', false, false],
  ['docs/*.md', 'docs/a.md', false, true],
  ['docs/*.md', 'docs/deep/a.md', false, false],
  ['docs/**/*.md', 'docs/deep/er/a.md', false, true],
  ['docs/**/*.md', 'docs/a.md', false, true],
  ['**/secret', 'a/b/secret', false, true],
  ['tmp/**', 'tmp/a/b', false, true],
  ['a?c', 'abc', false, true],
  ['a?c', 'a/c', false, false],
  ['[ab].txt', 'b.txt', false, true],
  ['[!ab].txt', 'b.txt', false, false],
  ['\\#note', '#note', false, true],
  ['# a comment', '# a comment', false, false],
  ['*.md\n!keep.md', 'keep.md', false, false],
  ['*.md\n!keep.md', 'other.md', false, true],
  ['(x|y)+.txt', '(x|y)+.txt', false, true],
])('%j and %s (folder: %s): %s', (text, path, isFolder, ignored) => {
  expect(parseIgnore(text, []).ignores(path, isFolder)).toBe(ignored);
});

it('leaves out what no skill needs, unless told otherwise', () => {
  const ignore = parseIgnore('');
  expect(
    [
      ['.git', true],
      ['a/__pycache__', true],
      ['a/b.pyc', false],
      ['.DS_Store', false],
    ].every(([path, isFolder]) => ignore.ignores(path as string, isFolder as boolean)),
  ).toBe(true);
  expect(ignore.ignores('SKILL.md', false)).toBe(false);
  expect(parseIgnore('!*.pyc').ignores('b.pyc', false)).toBe(false);
});

it('is quick with a pattern that was made to be slow', () => {
  const started = performance.now();
  expect(parseIgnore(`${'*a'.repeat(100)}b`, []).ignores('a'.repeat(2000), false)).toBe(false);
  expect(performance.now() - started).toBeLessThan(2000);
});
