import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { decode, parametersOf } from './parameters.ts';

const leaf = {
  args: ['name', 'file?'],
  input: z.object({
    name: z
      .string()
      .regex(/^[a-z]+$/, 'lower-case letters only')
      .describe('A name'),
    file: z.string().optional().describe('A file'),
    expires_in: z.string().optional().describe('A time').meta({ placeholder: 'time' }),
    limit: z.coerce.number().int().min(1).max(500).default(50),
    status: z.enum(['good', 'bad']).optional(),
    scopes: z.array(z.enum(['read', 'write'])).default(['read']),
    env: z.array(z.string()).default([]),
    wait: z.boolean().default(true),
    follow: z.boolean().default(false),
    version: z.union([z.literal('latest'), z.string().regex(/^\d/)]).default('latest'),
  }),
};
const decoded = (given: Record<string, unknown>) => decode(leaf, new Map(Object.entries(given)));
const parameter = (name: string) => parametersOf(leaf).find((candidate) => candidate.name === name);

describe('parametersOf', () => {
  it('puts arguments first, in their order, and flags after them', () => {
    expect(parametersOf(leaf).map(({ name }) => name)).toEqual([
      ...['name', 'file', 'expires-in', 'limit', 'status', 'scopes', 'env', 'wait', 'follow', 'version'],
    ]);
    expect(parametersOf(leaf).filter(({ positional }) => positional)).toMatchObject([
      { name: 'name', required: true },
      { name: 'file', required: false },
    ]);
  });

  it('takes kind, values, default and description from the schema', () => {
    expect(parameter('name')).toMatchObject({ kind: 'text', description: 'A name' });
    expect(parameter('expires-in')).toMatchObject({ field: 'expires_in', placeholder: 'time', required: false });
    expect(parameter('limit')).toMatchObject({ kind: 'number', fallback: '50', placeholder: 'n' });
    expect(parameter('status')).toMatchObject({ choices: ['good', 'bad'], placeholder: 'good|bad' });
    expect(parameter('scopes')).toMatchObject({ kind: 'list', choices: ['read', 'write'], fallback: 'read' });
    expect(parameter('wait')).toMatchObject({ kind: 'switch', on: true });
    expect(parameter('follow')).toMatchObject({ kind: 'switch', on: false });
    expect(parameter('version')).toMatchObject({ kind: 'text', fallback: 'latest' });
  });
});

describe('decode', () => {
  it('gives only what was given, in the types of the schema', () => {
    expect(decoded({ name: 'a' })).toEqual({ name: 'a' });
    expect(decoded({ name: 'a', limit: '7', wait: false, follow: true })).toEqual({ name: 'a', limit: 7, wait: false, follow: true });
  });

  it('splits words of a closed set at commas, and free text never', () => {
    expect(decoded({ name: 'a', scopes: ['read,write'], env: ['A=1,2', 'B='] })).toMatchObject({
      scopes: ['read', 'write'],
      env: ['A=1,2', 'B='],
    });
  });

  it.each([
    [{}, 'NAME: is needed.'],
    [{ name: 'A' }, 'NAME: lower-case letters only.'],
    [{ name: 'a', limit: 'ten' }, '--limit: expected a number, not "ten".'],
    [{ name: 'a', limit: '0x10' }, '--limit: expected a number, not "0x10".'],
    [{ name: 'a', limit: '900' }, /^--limit: .*500/],
    [{ name: 'a', status: 'ugly' }, '--status: expected one of good, bad.'],
    [{ name: 'a', scopes: ['read,all'] }, '--scopes: "all" is none of read, write.'],
  ])('names the flag that is wrong: %j', (given, message) => {
    expect(() => decoded(given)).toThrow(expect.objectContaining({ code: 'usage', message: expect.stringMatching(message) }));
  });
});
