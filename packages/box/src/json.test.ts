import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseJson } from './json.ts';

it('reads what JSON.parse reads', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 20 }), (text) => {
      expect(parseJson(text)).toEqual(JSON.parse(text));
    }),
    { numRuns: 200 },
  );
});

it.each(['', '{', '[1,]', '{"a":1}}', 'undefined', "{'a':1}", '"\n"', '\ufeff{}'])('refuses %j as JSON.parse does', (text) => {
  expect(() => parseJson(text)).toThrow(SyntaxError);
});

it('allows 256 levels and no more, of arrays and objects', () => {
  const arrays = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
  const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
  for (const make of [arrays, objects]) {
    expect(() => parseJson(make(256))).not.toThrow();
    expect(() => parseJson(make(257))).toThrow('nested deeper than 256');
  }
  expect(() => parseJson('['.repeat(5_000_000))).toThrow('nested deeper than 256');
});

it('does not count brackets in strings, whatever is escaped there', () => {
  const text = JSON.stringify({ '[[[[': '"['.repeat(1000), '{\\': '\\"{'.repeat(1000) });
  expect(parseJson(text)).toEqual(JSON.parse(text));
  expect(parseJson(`[${Array.from({ length: 1000 }, () => '[]').join()}]`)).toHaveLength(1000);
});
