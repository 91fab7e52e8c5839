import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunFlags, requestFrom } from './run-request.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-request-'));
  writeFileSync(join(folder, 'in.json'), '{"a":1}');
  writeFileSync(join(folder, 'x=y.csv'), 'x');
  mkdirSync(join(folder, 'sub'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const request = (flags: Partial<RunFlags>) => requestFrom({ skill: 's', version: 'latest', file: [], env: [], ...flags });
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('the request of a run', () => {
  it('leaves out what was not given', async () => {
    expect(await request({})).toEqual({ skill: 's', version: 'latest' });
  });

  it('takes any JSON as input, from the flag or a file', async () => {
    expect(await request({ input: '[1,null,"x"]' })).toMatchObject({ input: [1, null, 'x'] });
    expect(await request({ input: 'null' })).toMatchObject({ input: null });
    expect(await request({ input: `@${join(folder, 'in.json')}` })).toMatchObject({ input: { a: 1 } });
  });

  it('takes a time with or without a unit', async () => {
    expect(await request({ timeout: '90' })).toMatchObject({ timeout: 90 });
    expect(await request({ timeout: '1.5m' })).toMatchObject({ timeout: '1.5m' });
  });

  it('keeps = and commas in values of variables', async () => {
    expect(await request({ env: ['A=b=c,d', 'E='] })).toMatchObject({ env: { A: 'b=c,d', E: '' } });
  });

  it('names files by their own name or by the given one', async () => {
    const files = [join(folder, 'in.json'), `data/input.json=${join(folder, 'in.json')}`, join(folder, 'x=y.csv')];
    expect(await request({ file: files })).toMatchObject({
      files: { 'in.json': base64('{"a":1}'), 'data/input.json': base64('{"a":1}'), 'x=y.csv': base64('x') },
    });
  });

  it.each([
    [{ input: '{' }, '--input is not JSON'],
    [{ input: '['.repeat(300) + ']'.repeat(300) }, 'nested deeper'],
    [{ input: '@/nowhere/at/all' }, 'there is no such file'],
    [{ env: ['A'] }, 'expected K=V'],
    [{ env: ['=b'] }, 'expected K=V'],
    [{ file: ['/nowhere'] }, 'there is no such file'],
    [{ file: ['../x=/dev/null'] }, 'not a name'],
    [{ file: ['/abs=/dev/null'] }, 'not a name'],
  ])('says what is wrong with %j', async (flags, message) => {
    await expect(request(flags)).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining(message) });
  });

  it('says what is wrong with two files of one name, and with a folder', async () => {
    const file = join(folder, 'in.json');
    await expect(request({ file: [file, file] })).rejects.toThrow('two files are called in.json');
    await expect(request({ file: [join(folder, 'sub')] })).rejects.toThrow('it is a folder');
  });
});
