import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { languages } from '@skillbox/protocol';
import { describe, expect, it } from 'vitest';
import { validateAgainst } from '../json-schema/schema.ts';
import { unpackTo } from './archive.ts';
import { lintFiles } from './lint.ts';
import { scaffoldSkill } from './scaffold.ts';

describe.each(languages)('a new %s skill', (lang) => {
  it('has nothing for lint to find', async () => {
    const { definition, findings } = await lintFiles(scaffoldSkill({ name: 'my-skill', lang }), 'my-skill');
    expect(findings).toEqual([]);
    expect(definition).toMatchObject({ mode: 'executable', lang, version: '0.1.0' });
  });

  it('runs, with an output that fits its schema', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'skill-scaffold-'));
    try {
      const files = scaffoldSkill({ name: 'my-skill', lang });
      await unpackTo(files, join(dir, 'scripts'));
      const { definition } = await lintFiles(files);
      mkdirSync(join(dir, 'out/files'), { recursive: true });
      const env = { PATH: process.env.PATH, SANDBOX_OUTPUT: join(dir, 'out/output.json'), SANDBOX_FILES_DIR: join(dir, 'out/files/') };
      const command = { python: 'python3', node: 'node', bash: 'bash' }[lang];
      for (const [input, greeting] of [
        ['{"name": "Ada"}', 'Hello, Ada!'],
        ['{}', 'Hello, world!'],
      ] as const) {
        writeFileSync(join(dir, 'input.json'), input);
        const { status, stderr } = spawnSync(command, [join(dir, 'scripts', definition?.entrypoint ?? '')], {
          cwd: dir,
          env,
          encoding: 'utf8',
        });
        expect(stderr).toBe('');
        expect(status).toBe(0);
        const output = JSON.parse(readFileSync(join(dir, 'out/output.json'), 'utf8')) as unknown;
        expect(output).toEqual({ greeting });
        expect(await validateAgainst(definition?.outputSchema ?? {}, output)).toBeNull();
        expect(readFileSync(join(dir, 'out/files/greeting.txt'), 'utf8')).toBe(`${greeting}\n`);
      }
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
});

describe('scaffoldSkill', () => {
  it('writes an instruction skill', async () => {
    const { definition, findings } = await lintFiles(scaffoldSkill({ name: 'my-guide', mode: 'cognitive' }), 'my-guide');
    expect(findings).toEqual([]);
    expect(definition).toMatchObject({ mode: 'cognitive', lang: null, entrypoint: null });
  });

  it('refuses names and languages that cannot be', () => {
    expect(() => scaffoldSkill({ name: '../x' })).toThrow(/cannot be the name/);
    expect(() => scaffoldSkill({ name: 'x', lang: 'pyhton' })).toThrow(
      expect.objectContaining({ code: 'usage', hint: 'Use --lang python.' }),
    );
  });
});
