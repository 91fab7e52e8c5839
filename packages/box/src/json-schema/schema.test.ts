import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileSchema, schemaProblem, validateAgainst, validationLimitMs } from './schema.ts';

const person = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'https://example.com/person',
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string', minLength: 1 },
    tags: { type: 'array', items: { type: 'string' } },
    born: { type: 'string', format: 'date' },
    kind: { enum: ['a', 'b'] },
  },
  additionalProperties: false,
};

describe('validateAgainst', () => {
  it('gives null for what fits and path, message and keyword for what does not', async () => {
    expect(await validateAgainst(person, { name: 'Ada', tags: ['x'], born: '1815-12-10' })).toBeNull();
    expect(await validateAgainst(person, { tags: ['x', 1], born: 'soon', kind: 'c', other: 1 })).toEqual([
      { path: '', message: "must have required property 'name'", keyword: 'required' },
      { path: '', message: 'must NOT have additional properties: "other"', keyword: 'additionalProperties' },
      { path: '/tags/1', message: 'must be string', keyword: 'type' },
      { path: '/born', message: 'must match format "date"', keyword: 'format' },
      { path: '/kind', message: 'must be equal to one of the allowed values: ["a","b"]', keyword: 'enum' },
    ]);
  });

  it('knows 2020-12', async () => {
    const tuple = { prefixItems: [{ type: 'string' }, { type: 'number' }], items: false };
    expect(await validateAgainst(tuple, ['a', 1])).toBeNull();
    expect((await validateAgainst(tuple, ['a', 1, 2]))?.[0]?.keyword).toBe('items');
    const unevaluated = { allOf: [{ properties: { a: true } }], unevaluatedProperties: false };
    expect(await validateAgainst(unevaluated, { a: 1 })).toBeNull();
    expect((await validateAgainst(unevaluated, { b: 1 }))?.[0]?.message).toContain('"b"');
  });

  it('checks patterns, formats, references and unique items in a thread, with the same answers', async () => {
    const schema = {
      type: 'object',
      properties: { code: { type: 'string', pattern: '^[A-Z]{3}$' }, mail: { format: 'email' }, tree: { $ref: '#/$defs/tree' } },
      $defs: { tree: { type: 'array', items: { $ref: '#/$defs/tree' }, uniqueItems: true } },
    };
    expect(compileSchema(schema).check).toBeUndefined();
    expect(await validateAgainst(schema, { code: 'ABC', mail: 'a@b.example', tree: [[], [[]]] })).toBeNull();
    expect(await validateAgainst(schema, { code: 'abc', mail: 'nobody', tree: [[], []] })).toEqual([
      { path: '/code', message: 'must match pattern "^[A-Z]{3}$"', keyword: 'pattern' },
      { path: '/mail', message: 'must match format "email"', keyword: 'format' },
      { path: '/tree', message: expect.stringContaining('duplicate'), keyword: 'uniqueItems' },
    ]);
  });

  it('keeps schemas of the same $id apart', async () => {
    expect(await validateAgainst({ $id: 'same', type: 'string' }, 'x')).toBeNull();
    expect(await validateAgainst({ $id: 'same', type: 'number' }, 1)).toBeNull();
    expect(await validateAgainst({ $id: 'same', pattern: 'x' }, 'x')).toBeNull();
    expect(await validateAgainst({ $id: 'same', pattern: 'y' }, 'y')).toBeNull();
  });

  it('does not take what an object inherits for a property', async () => {
    expect(await validateAgainst({ required: ['constructor'] }, {})).not.toBeNull();
    expect(await validateAgainst({ required: ['__proto__'] }, {})).not.toBeNull();
    expect(await validateAgainst({ additionalProperties: false }, JSON.parse('{"__proto__": 1}'))).not.toBeNull();
  });

  it('gives at most 20 faults', async () => {
    expect(await validateAgainst({ items: { type: 'string' } }, Array(500).fill(1))).toHaveLength(20);
  });

  it('agrees with itself in and out of the thread', async () => {
    const quick = { type: ['object', 'array'], maxProperties: 2, items: { type: 'integer' }, properties: { a: { type: 'string' } } };
    const slow = { ...quick, pattern: '' };
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 3 }), async (value) => {
        const without = (await validateAgainst(quick, value)) === null;
        expect((await validateAgainst(slow, value)) === null).toBe(without);
      }),
      { numRuns: 60 },
    );
  });
});

describe('a hostile schema or value', () => {
  it('cannot hang the server with a pattern, and is refused at once the second time', async () => {
    const schema = { type: 'string', pattern: '^(a+)+$' };
    const value = `${'a'.repeat(60)}!`;
    const { result, longestStall } = await whileTicking(() => validateAgainst(schema, value));
    expect(result).toEqual([{ path: '', message: expect.stringContaining('could not be checked'), keyword: 'timeout' }]);
    expect(longestStall).toBeLessThan(validationLimitMs / 2);
    const started = Date.now();
    expect((await validateAgainst(schema, 'a'))?.[0]?.keyword).toBe('timeout');
    expect(Date.now() - started).toBeLessThan(50);
    expect(await validateAgainst({ type: 'string', pattern: '^b+$' }, 'bbb')).toBeNull();
  });

  it('cannot hang it with references that multiply', async () => {
    const $defs: Record<string, unknown> = { d0: { type: 'string' } };
    for (let i = 1; i < 40; i += 1) $defs[`d${i}`] = { allOf: [{ $ref: `#/$defs/d${i - 1}` }, { $ref: `#/$defs/d${i - 1}` }] };
    const { result, longestStall } = await whileTicking(() => validateAgainst({ $ref: '#/$defs/d39', $defs }, 'x'));
    expect(result?.[0]?.keyword).toBe('timeout');
    expect(longestStall).toBeLessThan(validationLimitMs / 2);
  });

  it('cannot hang it with unique items', async () => {
    const many = Array.from({ length: 60_000 }, (_, i) => ({ i }));
    const { longestStall } = await whileTicking(() => validateAgainst({ uniqueItems: true }, many));
    expect(longestStall).toBeLessThan(validationLimitMs / 2);
  });

  it('is refused when the value is too large or deep', async () => {
    let deep: unknown = [];
    for (let i = 0; i < 100_000; i += 1) deep = [deep];
    expect((await validateAgainst({ type: 'array' }, deep))?.[0]?.keyword).toBe('size');
    expect((await validateAgainst({ type: 'array' }, Array(1_000_001).fill(0)))?.[0]?.keyword).toBe('size');
  });
});

describe('schemaProblem', () => {
  it.each<[string, Record<string, unknown>]>([
    ['nothing at all', {}],
    ['a person', person],
    ['local references', { $ref: '#/$defs/a', $defs: { a: { $anchor: 'b' }, c: { $ref: '#b' } } }],
    ['data that looks like keywords', { const: { $ref: 'http://x' }, properties: { $ref: { type: 'string' }, $id: true, pattern: true } }],
    ['a format it does not know, which says nothing', { format: 'colour' }],
    ['keywords of other tools', { 'x-ui': { widget: 'slider' }, example: 1 }],
  ])('accepts %s', async (_, schema) => {
    expect(await schemaProblem(schema)).toBeUndefined();
  });

  it.each<[string, Record<string, unknown>, RegExp]>([
    ['an unknown type', { type: 'strin' }, /type/],
    ['a wrong keyword value', { properties: { a: { minLength: 'x' } } }, /minLength/],
    ['a remote reference', { items: { $ref: 'https://example.com/s.json' } }, /only references inside/],
    ['a file reference', { $ref: 'file:///etc/passwd' }, /only references inside/],
    ['a dangling reference', { $ref: '#/$defs/none' }, /can't resolve reference/],
    ['a broken pattern', { pattern: '([' }, /[Ii]nvalid regular expression|format "regex"/],
    ['an $id inside', { items: { $id: 'x' } }, /\$id inside/],
    ['an asynchronous schema', { $async: true }, /\$async/],
    ['a __proto__ key', JSON.parse('{"properties":{"__proto__":{}}}'), /__proto__/],
    ['too much', { enum: Array(6000).fill(1) }, /more than/],
    ['long texts', { description: 'x'.repeat(70_000) }, /larger than/],
  ])('refuses %s', async (_, schema, message) => {
    expect((await schemaProblem(schema))?.message).toMatch(message);
  });

  it('says where', async () => {
    expect((await schemaProblem({ properties: { a: { $ref: 'x' } } }))?.at).toEqual(['properties', 'a', '$ref']);
  });

  it('refuses deep nesting', async () => {
    let schema: Record<string, unknown> = {};
    for (let i = 0; i < 100; i += 1) schema = { not: schema };
    expect((await schemaProblem(schema))?.message).toMatch(/nested deeper/);
  });
});

/** Runs it while a timer ticks, and tells how long the timer was ever held up. */
async function whileTicking<Result>(run: () => Promise<Result>): Promise<{ result: Result; longestStall: number }> {
  let last = Date.now();
  let longestStall = 0;
  const timer = setInterval(() => {
    longestStall = Math.max(longestStall, Date.now() - last);
    last = Date.now();
  }, 5);
  const result = await run();
  clearInterval(timer);
  return { result, longestStall };
}
