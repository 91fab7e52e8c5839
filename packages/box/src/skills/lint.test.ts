import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lintFiles, lintFolder } from './lint.ts';

const limits = { maxBytes: 1024 * 1024 };
const filesOf = (files: Record<string, string>) =>
  Object.entries(files).map(([path, text]) => ({ path, mode: 0o644, data: Buffer.from(text) }));
const codes = async (files: Record<string, string>, folder?: string) =>
  (await lintFiles(filesOf(files), folder)).findings.map(({ code }) => code);
const skillMd = (fields: string) => `---\nname: a\ndescription: b\n${fields}\n---\nc`;

describe('lintFiles', () => {
  it('is content with a good skill', async () => {
    const schema = 'input_schema:\n  type: object\n  properties:\n    text: {type: string, pattern: "^a"}';
    const linted = await lintFiles(filesOf({ 'SKILL.md': skillMd(`version: 1.0.0\n${schema}`), 'scripts/main.py': '' }), 'a');
    expect(linted.findings).toEqual([]);
    expect(linted).toMatchObject({ definition: { entrypoint: 'scripts/main.py' }, instructions: 'c' });
  });

  it('finds a missing or misspelt SKILL.md', async () => {
    expect(await codes({ 'README.md': '' })).toEqual(['skill-md-missing']);
    expect((await lintFiles(filesOf({ 'skill.md': '' }))).findings[0]?.fix).toBe('Rename skill.md to SKILL.md.');
  });

  it('compiles schemas and shows the line of the fault', async () => {
    const bad = skillMd(
      'input_schema:\n  type: object\n  properties:\n    a:\n      $ref: http://example.com/x.json\noutput_schema:\n  type: strin',
    );
    const { definition, findings } = await lintFiles(filesOf({ 'SKILL.md': bad }));
    expect(definition).toBeNull();
    expect(findings.map(({ code, line }) => [code, line])).toEqual([
      ['schema-invalid', 8],
      ['schema-invalid', 9],
    ]);
  });

  it('warns of another dialect', async () => {
    expect(
      await codes({ 'SKILL.md': skillMd('input_schema: {$schema: "http://json-schema.org/draft-07/schema#", type: object}') }),
    ).toEqual(['schema-dialect']);
    expect(await codes({ 'SKILL.md': skillMd('input_schema: {$schema: "https://json-schema.org/draft/2020-12/schema"}') })).toEqual([]);
  });

  it('looks at what the skill declares as dependencies', async () => {
    const python = { 'SKILL.md': skillMd('lang: python'), 'main.py': '' };
    expect(await codes({ ...python, 'requirements.txt': 'x' })).toEqual(['requirements-unpinned']);
    expect(await codes({ ...python, 'package.json': '{"dependencies":{"x":"1"}}' })).toEqual([]);
    const node = { 'SKILL.md': skillMd('lang: node'), 'main.js': '' };
    expect(await codes({ ...node, 'package.json': '{"dependencies":{"x":"1"}}' })).toEqual(['lockfile-missing']);
    expect(await codes({ 'SKILL.md': skillMd(''), 'requirements.txt': 'x' })).toEqual([]);
    const inImage = { ...python, 'SKILL.md': skillMd('lang: python\nimage: my/tools:1'), 'requirements.txt': 'x==1' };
    expect(await codes(inImage)).toEqual(['image-special', 'dependencies-not-installed']);
  });
});

describe('lintFolder', () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'skill-lint-'));
    await mkdir(join(dir, 'my-skill'));
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  it('compares the name with the folder', async () => {
    await writeFile(join(dir, 'my-skill', 'SKILL.md'), '---\nname: my-skill\ndescription: b\n---\nc');
    expect((await lintFolder(join(dir, 'my-skill'), limits)).findings).toEqual([]);
    await writeFile(join(dir, 'my-skill', 'SKILL.md'), '---\nname: other\ndescription: b\n---\nc');
    expect((await lintFolder(`${join(dir, 'my-skill')}/`, limits)).findings).toMatchObject([
      { code: 'name-folder', severity: 'warning', line: 2 },
    ]);
  });

  it('turns what a push would refuse into a finding', async () => {
    await symlink('/etc', join(dir, 'my-skill', 'assets'));
    const { definition, findings } = await lintFolder(join(dir, 'my-skill'), limits);
    expect(definition).toBeNull();
    expect(findings).toMatchObject([{ code: 'scan-failed', severity: 'error', file: 'assets' }]);
  });

  it('does not hide that a folder is not there', async () => {
    await expect(lintFolder(join(dir, 'none'), limits)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
