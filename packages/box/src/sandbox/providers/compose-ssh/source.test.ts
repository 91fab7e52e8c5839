import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readOptions } from './options.ts';
import { checkReferences } from './references.ts';
import { sourceOf } from './source.ts';

describe('where a project comes from', () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'sb-source-')));
  mkdirSync(join(root, 'shop'));
  mkdirSync(`${root}-2`);
  afterAll(() => {
    for (const folder of [root, `${root}-2`]) rmSync(folder, { recursive: true, force: true });
  });

  it.each(['https://example.com/a/b.git', 'ssh://git@example.com:2222/a', 'git@example.com:a/b.git'])('is the address %s', (address) => {
    expect(sourceOf(address, [])).toEqual({ kind: 'git', address });
  });

  it('is a folder that the operator allowed', () => {
    expect(sourceOf(join(root, 'shop'), [root])).toEqual({ kind: 'folder', path: join(root, 'shop') });
    expect(sourceOf(join(root, 'shop'), ['/'])).toEqual({ kind: 'folder', path: join(root, 'shop') });
    for (const folder of [`${root}-2`, '/etc', join(root, 'shop/../..')]) expect(() => sourceOf(folder, [root])).toThrow('may be copied');
    expect(() => sourceOf(join(root, 'shop'), [])).toThrow('may be copied');
    expect(() => sourceOf(join(root, 'nothing'), [root])).toThrow('no folder');
  });

  it.each([
    'file:///etc',
    'ext::sh -c id',
    'git://example.com/x',
    'http://example.com/x',
    '--upload-pack=id',
    'git@example.com:-x',
    'shop',
    'https://example.com/a b',
  ])('is never %s', (text) => expect(() => sourceOf(text, ['/'])).toThrow('neither'));

  it('holds no password', () => {
    expect(() => sourceOf('https://me:secret@example.com/x', [])).toThrow('password');
  });
});

describe('what a template says', () => {
  it('gives way to inputs, but not where it holds the policy', () => {
    const options = { repo: '/a', allow: ['capabilities'], inputs: { repo: '/b', allow: ['privileged'], files: ['x'] } };
    expect(readOptions({ options })).toMatchObject({ repo: '/b', allow: ['capabilities'] });
    expect(readOptions({ options })).not.toHaveProperty('files');
  });

  it.each([
    [{}, 'no project'],
    [{ repo: '/a', allow: ['everything'] }, 'allow'],
    [{ repo: '/a', ref: '--upload-pack=x' }, 'ref'],
    [{ repo: '/a', service: '../x' }, 'service'],
    [{ repo: '/a', files: ['-x'] }, 'files'],
    [{ repo: '/a', time_limit: '1d' }, 'time_limit'],
  ])('is refused as %j', (options, message) => {
    expect(() => readOptions({ options })).toThrow(message);
  });
});

describe('what compose files refer to', () => {
  const check = (files: Record<string, unknown>) =>
    checkReferences('/project', ['/project/compose.yaml'], async (path) => {
      if (path in files) return JSON.stringify(files[path]);
      throw new Error(`read ${path}`);
    });

  it('is followed within the project', async () => {
    const found = await check({
      '/project/compose.yaml': {
        services: { b: { env_file: ['.env', { path: 'conf/x.env' }], extends: { file: 'a/base.yml', service: 'x' } }, a: {} },
      },
      '/project/a/base.yml': { services: { x: { env_file: '../shared.env' } } },
    });
    expect(found.services).toEqual(['b', 'a', 'x']);
  });

  it.each([
    { services: { a: { env_file: '/etc/environment' } } },
    { services: { a: { env_file: [{ path: '../x' }] } } },
    { services: { a: { env_file: '$HOME/.ssh/id_ed25519' } } },
    { services: { a: { label_file: '~/x' } } },
    { services: { a: { extends: { file: '../../x.yml', service: 'x' } } } },
    { include: ['../x.yml'] },
    { include: ['https://example.com/x.git'] },
    { include: ['oci://example.com/x'] },
    { include: [{ path: ['x.yml'], project_directory: '/' }] },
    { include: [{ path: ['../x.yml'] }] },
    { include: [{ path: 'y.yml', env_file: '/etc/environment' }] },
  ])('is refused outside of it: %j', async (content) => {
    const files = { '/project/compose.yaml': content, '/project/x.yml': {}, '/project/y.yml': {} };
    await expect(check(files)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('ends, also in a circle, and with a text that is none', async () => {
    const circle = { services: { a: { extends: { file: 'compose.yaml', service: 'a' } } } };
    expect((await check({ '/project/compose.yaml': circle })).services).toEqual(['a']);
    await expect(checkReferences('/project', ['/project/x'], async () => 'a: [')).rejects.toMatchObject({ code: 'bad_request' });
  });
});
