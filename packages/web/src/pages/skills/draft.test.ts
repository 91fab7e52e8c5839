import { describe, expect, it } from 'vitest';
import { type Draft, draftOf, readDraft } from './draft.ts';
import { type Schema, shapeOf } from './schema-shape.ts';

const read = (schema: Schema, draft: Draft) => readDraft(shapeOf(schema), draft);
const kindOf = (schema: Schema) => shapeOf(schema).kind;

const person: Schema = {
  type: 'object',
  required: ['name', 'age'],
  properties: {
    name: { type: 'string', minLength: 2, maxLength: 5 },
    age: { type: 'integer', minimum: 0, maximum: 150 },
    ratio: { type: ['number', 'null'] },
    alive: { type: 'boolean' },
    colour: { enum: ['red', 'green', 3] },
    tags: { type: 'array', items: { type: 'string' }, maxItems: 2 },
    home: { type: 'object', required: ['city'], properties: { city: { type: 'string' }, zip: { $ref: '#/$defs/zip' } } },
    more: {},
  },
  $defs: { zip: { type: 'string', title: 'Postal code' } },
};

describe('a form', () => {
  it('has a control for each kind of value, and JSON for the rest', () => {
    const shape = shapeOf(person);
    if (shape.kind !== 'group') throw new Error(shape.kind);
    expect(shape.fields.map(({ name, shape: inner }) => [name, inner.kind])).toEqual([
      ['name', 'text'],
      ['age', 'number'],
      ['ratio', 'number'],
      ['alive', 'flag'],
      ['colour', 'choice'],
      ['tags', 'list'],
      ['home', 'group'],
      ['more', 'json'],
    ]);
    for (const schema of [
      {},
      { type: ['array', 'string'] },
      { type: 'object' },
      { type: 'array' },
      { anyOf: [{ type: 'string' }, { type: 'number' }] },
      { $ref: 'https://elsewhere.example/schema.json' },
      { $ref: '#' },
    ])
      expect(kindOf(schema)).toBe('json');
    expect(kindOf({ anyOf: [{ type: 'null' }, { type: 'integer' }] })).toBe('number');
    expect(kindOf({ oneOf: [{ const: 'a' }, { const: 'b' }] })).toBe('choice');
  });

  it('ends for a schema that contains itself', () => {
    const tree: Schema = { type: 'object', properties: { child: { $ref: '#' }, name: { type: 'string' } } };
    expect(kindOf(tree)).toBe('group');
  });

  it('becomes the value that the skill gets; what was left alone is left out', () => {
    const draft = { name: 'Ada', age: '36', ratio: '', colour: '2', tags: ['x'], home: { city: undefined, zip: undefined }, more: '' };
    expect(read(person, draft)).toEqual({ value: { name: 'Ada', age: 36, colour: 3, tags: ['x'] }, problems: {} });
    expect(read(person, { ...draft, alive: false, home: { city: 'Ulm' }, more: '{"a":[1]}' }).value).toEqual({
      ...{ name: 'Ada', age: 36, colour: 3, tags: ['x'], alive: false },
      ...{ home: { city: 'Ulm' }, more: { a: [1] } },
    });
  });

  it('says in place what is wrong', () => {
    const { problems } = read(person, { name: 'A', age: '1.5', ratio: 'x', tags: ['a', 'b', 'c'], home: { zip: '1' }, more: '{' });
    expect(problems).toEqual({
      '/name': 'At least 2 characters.',
      '/age': 'A whole number.',
      '/ratio': 'A number, such as 1.5.',
      '/tags': 'At most 2.',
      '/home/city': 'This is needed.',
      '/more': expect.stringContaining('This is not JSON'),
    });
    expect(read(person, {}).problems).toEqual({ '/name': 'This is needed.', '/age': 'This is needed.' });
    expect(read(person, { name: 'Adaadaada', age: '151' }).problems).toEqual({ '/name': 'At most 5 characters.', '/age': 'At most 150.' });
  });

  it('goes to JSON and back', () => {
    const value = { name: 'Ada', age: 36, colour: 'green', tags: ['x', 'y'], home: { city: 'Ulm', zip: '89073' }, more: [1] };
    expect(read(person, draftOf(shapeOf(person), value)).value).toEqual(value);
  });

  it('starts with what the schema proposes', () => {
    const schema: Schema = { type: 'object', properties: { n: { type: 'number', default: 5 }, s: { type: 'string', examples: ['a'] } } };
    expect(read(schema, draftOf(shapeOf(schema))).value).toEqual({ n: 5, s: 'a' });
  });
});
