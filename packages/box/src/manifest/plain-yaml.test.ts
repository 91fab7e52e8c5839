import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { type ManifestDocument, readDocument, readWholeDocument } from './document.ts';
import type { Path } from './finding.ts';
import { readPlainYaml } from './plain-yaml.ts';

/** Every path into the value, and one that leads nowhere from each. */
function pathsOf(value: unknown, path: Path = []): Path[] {
  const below =
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([key, inner]) => pathsOf(inner, [...path, Array.isArray(value) ? Number(key) : key]))
      : [];
  return [path, [...path, 'absent'], ...below];
}

function places(document: ManifestDocument): unknown[] {
  return pathsOf(document.value).flatMap((path) =>
    (['key', 'value'] as const).map((at) => [path, at, document.positionOf({ code: 'manifest.syntax', path, at, message: '' })]),
  );
}

/** What the fast reader takes, the whole parser reads as the same, at the same places. */
function same(text: string): boolean {
  if (!readPlainYaml(text, 32)) return false;
  const whole = readWholeDocument(text);
  expect(whole.problems, text).toEqual([]);
  const plain = readDocument(text);
  expect(plain.value, text).toEqual(whole.value);
  expect(places(plain), text).toEqual(places(whole));
  return true;
}

describe('the fast reader', () => {
  it.each([
    'a: 1\n',
    'a: 1',
    '# comment\n\na: b # more\nc: "x # y"  # z\n',
    'a:\n  b:\n    c: d\n  e: f\n',
    'a:\n- x\n- y: 1\n  z: 2\n-   w: 3\nb: 1\n',
    'a:\n  - x\n\n  # between\n  - y\nb:\n  -\n    c: 1\n',
    'a: [x, 2, "three", {b: c, d: [e]}]\n',
    'a: {b: https://example.org/x?y=1, c: "${X}/y", d: [], e: {}}\n',
    'a: ${X}/b\nb: ./c\nc: ../d\nd: /e\n',
    'a: true\nb: null\nc: False\nd: 0600\ne: 250ms\nf: 1e\ng: yes\n',
    'a: \'single\'\nb: ""\n',
    'a: |\n  one\n    two\n\n  # three\nb: |-\n  x\n\n\nc: 1\n',
    'a:\n  - b: |\n      x\n    c: 1\n',
    'a: ü # ö\n',
    `a: 12e4${'ab'.repeat(30)}\n`,
  ])('takes %j', (text) => expect(same(text)).toBe(true));

  it.each([
    ['an anchor', 'a: &x 1\nb: *x\n'],
    ['a tag', 'a: !!str 1\n'],
    ['a folded block', 'a: >\n  x\n'],
    ['an empty value', 'a:\nb: 1\n'],
    ['a second line', 'a: b\n  c\n'],
    ['a key twice', 'a: 1\na: 2\n'],
    ['a prototype', '__proto__: 1\n'],
    ['a quoted key', '"a": 1\n'],
    ['an escape', 'a: "\\n"\n'],
    ['a doubled quote', "a: 'it''s'\n"],
    ['a tab', 'a:\t1\n'],
    ['two documents', 'a: 1\n---\nb: 2\n'],
    ['an open bracket', 'a: [1,\n  2]\n'],
    ['a float', 'a: 1.5\n'],
    ['a negative number', 'a: -1\n'],
    ['a merge', '<<: {a: 1}\n'],
    ['nothing', ''],
    ['depth', `a: ${'['.repeat(40)}${']'.repeat(40)}\n`],
  ])('leaves %s to the whole parser', (_, text) => expect(readPlainYaml(text, 32)).toBeUndefined());

  const key = fc.oneof(
    fc.constantFrom('a', 'b', 'id', 'x-y', 'z.w', '_q', 'null', 'True', 'y', '__proto__', 'constructor', '1'),
    fc.string({ maxLength: 4 }),
  );
  const scalar = fc.oneof(
    fc.constantFrom(
      '',
      ' ',
      'text',
      'two words',
      '${X}/y',
      'https://e.org/a?b#c',
      'a: b',
      'a #b',
      '# c',
      'null',
      '~',
      'yes',
      '-',
      '- x',
      '?',
      '0x1f',
      '0o17',
      '1e3',
      '12.5',
      '.5',
      '.inf',
      '1_000',
      '2026-01-02',
      '1:30',
      "it's",
      '"q"',
      'line\nmore\n',
      'x\n\ny',
      'tab\there',
      '[x',
      'x]',
      '{',
      'a,b',
      '%x',
      '@x',
      '`x',
      '|',
      '>',
      '!x',
      '&x',
      '*x',
      'ü',
      '\u2028',
      '🙂',
    ),
    fc.string({ maxLength: 8 }),
    fc.integer(),
    fc.double(),
    fc.boolean(),
    fc.constant(null),
  );
  // Mostly what it takes, so that most of it is compared.
  const plainScalar = fc.oneof(
    {
      weight: 20,
      arbitrary: fc.constantFrom(
        'text',
        'two words',
        '${X}/y',
        'https://e.org/a?b#c',
        '/etc/x',
        './y',
        'true',
        'yes',
        '250ms',
        '0600',
        'line\nmore\n',
        'a  b',
      ),
    },
    { weight: 5, arbitrary: fc.nat() },
    { weight: 1, arbitrary: scalar },
  );
  const plainKey = fc.constantFrom('a', 'b', 'id', 'x-y', 'z.w', '_q', 'constructor', 'toString');
  const plainTree = fc.letrec((tie) => ({
    node: fc.oneof(
      { depthSize: 'small' },
      plainScalar,
      fc.array(tie('node'), { minLength: 1, maxLength: 4 }),
      fc.dictionary(plainKey, tie('node'), { minKeys: 1, maxKeys: 4 }),
    ),
  })).node;
  const tree = fc.letrec((tie) => ({
    node: fc.oneof(
      { depthSize: 'small' },
      scalar,
      fc.array(tie('node'), { maxLength: 4 }),
      fc.dictionary(key, tie('node'), { maxKeys: 4 }),
    ),
  })).node;
  const styles = [
    {},
    { indentSeq: false },
    { indent: 4 },
    { collectionStyle: 'flow' as const },
    { collectionStyle: 'flow' as const, lineWidth: 0 },
    { defaultStringType: 'QUOTE_DOUBLE' as const, defaultKeyType: 'PLAIN' as const },
    { defaultStringType: 'QUOTE_SINGLE' as const, defaultKeyType: 'PLAIN' as const },
    { defaultStringType: 'BLOCK_LITERAL' as const, defaultKeyType: 'PLAIN' as const },
  ];
  const written = fc
    .tuple(fc.dictionary(key, tree, { minKeys: 1, maxKeys: 5 }), fc.constantFrom(...styles))
    .map(([value, style]) => stringify(value, style));
  const plainly = fc
    .tuple(fc.dictionary(plainKey, plainTree, { minKeys: 1, maxKeys: 5 }), fc.constantFrom(...styles))
    .map(([value, style]) => stringify(value, style));
  const parts = [
    'a',
    'b:',
    ': ',
    ':',
    '- ',
    '-',
    '\n',
    '\n',
    '\n  ',
    '\n    ',
    ' ',
    '  ',
    '1',
    '[',
    ']',
    '{',
    '}',
    ', ',
    ',',
    '"',
    "'",
    '"x"',
    "'y'",
    ' #',
    '#',
    '|',
    '|-',
    '|\n  ',
    'a: ',
    'b: ',
    '- a: ',
    'true',
    '~',
    '?',
    '.',
    '/',
    '$',
    '&',
    '*',
    '!',
    '>',
    '%',
    'ü',
    '${X}',
    '\\',
    '...',
    '---',
  ];
  const soup = fc.array(fc.constantFrom(...parts), { maxLength: 25 }).map((pieces) => pieces.join(''));

  it('agrees with the whole parser on whatever both take', () => {
    let taken = 0;
    fc.assert(
      fc.property(
        fc.oneof(
          plainly,
          written,
          soup,
          fc.tuple(soup, written).map(([head, tail]) => `a: 1\n${head}\n${tail}`),
        ),
        (text) => {
          if (same(text)) taken++;
        },
      ),
      { numRuns: 10_000 },
    );
    // A reader that takes nothing would agree too.
    expect(taken).toBeGreaterThan(400);
  });
});
