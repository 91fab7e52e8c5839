import type { Language } from '@skillbox/protocol';
import { describe, expect, it } from 'vitest';
import { Findings } from '../findings.ts';
import { declaredDependencies, lintDependencies } from './declared.ts';

const filesOf = (files: Record<string, string>) =>
  Object.entries(files).map(([path, text]) => ({ path, mode: 0o644, data: Buffer.from(text) }));
const declared = (lang: Language, files: Record<string, string>) => declaredDependencies(filesOf(files), lang);
const codes = (lang: Language, files: Record<string, string>): string[] => {
  const findings = new Findings();
  lintDependencies(filesOf(files), lang, findings);
  return findings.list.map(({ code, file, line }) => `${code} ${file}:${line}`);
};

const lock = '{"lockfileVersion":3,"packages":{}}';

describe('what a skill declares', () => {
  it('is nothing without files, without entries, and for another language', () => {
    expect(declared('python', {})).toBeNull();
    expect(declared('python', { 'requirements.txt': '# nothing\n\n' })).toBeNull();
    expect(declared('python', { 'scripts/requirements.txt': 'six' })).toBeNull();
    expect(declared('bash', { 'requirements.txt': 'six' })).toBeNull();
    expect(declared('node', { 'requirements.txt': 'six', 'package.json': '{"type":"module"}', 'package-lock.json': lock })).toBeNull();
    expect(declared('node', { 'package.json': '{"devDependencies":{"x":"1"}}', 'package-lock.json': lock })).toBeNull();
  });

  it('has a lock that follows what is installed, and nothing else', () => {
    const python = declared('python', { 'requirements.txt': 'six==1.17.0\n' });
    expect(python).toMatchObject({ kind: 'python', hashed: false, lock: expect.stringMatching(/^python:[0-9a-f]{64}$/) });
    expect(declared('python', { 'requirements.txt': 'six==1.17.0\r\n', 'main.py': 'x' })?.lock).toBe(python?.lock);
    expect(declared('python', { 'requirements.txt': 'six==1.16.0\n' })?.lock).not.toBe(python?.lock);

    const manifest = { name: 'a', dependencies: { x: '1' } };
    const node = (value: object, text = lock) =>
      declared('node', { 'package.json': JSON.stringify(value), 'package-lock.json': text })?.lock;
    expect(node(manifest)).toMatch(/^node:[0-9a-f]{64}$/);
    expect(node({ ...manifest, name: 'b', scripts: { postinstall: 'x' } })).toBe(node(manifest));
    expect(node({ dependencies: { x: '2' } })).not.toBe(node(manifest));
    expect(node(manifest, '{}')).not.toBe(node(manifest));
  });

  it('gives the installer no scripts of the skill itself', () => {
    const files = { 'package.json': '{"scripts":{"postinstall":"evil"},"dependencies":{"x":"1"}}', 'package-lock.json': lock };
    expect(
      declared('node', files)
        ?.files.map(({ data }) => data.toString())
        .join(),
    ).not.toContain('evil');
  });

  it('knows hashes, also on lines that go on', () => {
    expect(declared('python', { 'requirements.txt': 'six==1.17.0 \\\n    --hash=sha256:00\n' })?.hashed).toBe(true);
    expect(declared('python', { 'requirements.txt': '# --hash=sha256:00\nsix==1.17.0' })?.hashed).toBe(false);
  });
});

describe('lint of dependencies', () => {
  it('says what the installer could not follow, with its line', () => {
    const text = [
      'six==1.17.0',
      '# a',
      '-r more.txt',
      '--index-url https://x',
      'git+https://x/y',
      'a @ https://x/y.whl',
      './local',
      'idna',
      '',
    ];
    expect(codes('python', { 'requirements.txt': text.join('\n') })).toEqual([
      'requirements-nested requirements.txt:3',
      'requirements-index requirements.txt:4',
      'requirements-elsewhere requirements.txt:5',
      'requirements-elsewhere requirements.txt:6',
      'requirements-nested requirements.txt:7',
      'requirements-unpinned requirements.txt:8',
    ]);
    expect(codes('python', { 'requirements.txt': 'six==1.17.0 ; python_version >= "3" \\\n  --hash=sha256:00 # why\n' })).toEqual([]);
    expect(codes('python', { 'scripts/requirements.txt': 'six' })).toEqual(['dependencies-not-installed scripts/requirements.txt:1']);
  });

  it('wants a lock file beside package.json', () => {
    const manifest = '{"dependencies":{"x":"1"}}';
    expect(codes('node', { 'package.json': manifest })).toEqual(['lockfile-missing package.json:1']);
    expect(codes('node', { 'package.json': manifest, 'package-lock.json': lock })).toEqual([]);
    expect(codes('node', { 'package.json': manifest, 'npm-shrinkwrap.json': lock })).toEqual([]);
    expect(codes('node', { 'package.json': manifest, 'package-lock.json': '[' })).toEqual(['lockfile-invalid package-lock.json:1']);
    expect(codes('node', { 'package.json': '{' })).toEqual(['package-json-invalid package.json:1']);
    expect(codes('node', { 'package.json': '{"type":"module"}' })).toEqual([]);
  });
});
