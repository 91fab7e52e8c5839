/** docs/skills.md is true: its skills lint clean and run, and it names every code there is. */

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { blockedEnvReason } from '../env-names.ts';
import { type SkillFile, unpackTo } from './archive.ts';
import { lintFiles } from './lint.ts';
import { scanCategories } from './scan.ts';

const docs = readFileSync(new URL('../../../../docs/skills.md', import.meta.url), 'utf8');
const skills = skillsOf(docs);

/** Input and output that the instructions of each example promise. */
const promises: Record<string, { lang: string; input: unknown; output: unknown }> = {
  area: { lang: 'python3', input: { width: 2, height: 3 }, output: { area: 6, unit: 'm²' } },
  shout: { lang: 'node', input: { text: 'hello' }, output: { text: 'HELLO' } },
};

describe('docs/skills.md', () => {
  it('has skills in it', () => {
    expect(skills.length).toBeGreaterThanOrEqual(3);
  });

  it.each(skills.map((files) => [nameOf(files), files] as const))('shows %s as it can be pushed', async (name, files) => {
    const { definition, findings } = await lintFiles(files);
    expect(findings.filter(({ severity }) => severity === 'error')).toEqual([]);
    // What needs packages is run by tests/e2e/dependencies.test.ts.
    const runs = name in promises || files.some(({ path }) => path === 'requirements.txt');
    expect(definition?.mode).toBe(runs ? 'executable' : 'cognitive');
  });

  it.each(skills.filter((files) => nameOf(files) in promises).map((files) => [nameOf(files), files] as const))(
    'keeps the promise of %s',
    async (name, files) => {
      const promise = promises[name];
      const { definition } = await lintFiles(files);
      const dir = mkdtempSync(join(tmpdir(), 'skill-docs-'));
      try {
        await unpackTo(files, join(dir, 'scripts'));
        mkdirSync(join(dir, 'out'));
        writeFileSync(join(dir, 'input.json'), JSON.stringify(promise?.input));
        const env = { PATH: process.env.PATH, SANDBOX_OUTPUT: join(dir, 'out/output.json'), ...definition?.env };
        const { status, stderr } = spawnSync(promise?.lang ?? '', [join(dir, 'scripts', definition?.entrypoint ?? '')], {
          cwd: dir,
          env,
          encoding: 'utf8',
        });
        expect([status, stderr]).toEqual([0, '']);
        expect(JSON.parse(readFileSync(join(dir, 'out/output.json'), 'utf8'))).toEqual(promise?.output);
        expect(docs).toContain(JSON.stringify(promise?.output).replaceAll(':', ': ').replaceAll(',', ', '));
      } finally {
        rmSync(dir, { recursive: true, force: true });
      }
    },
  );

  it('names every lint code, and no other', () => {
    const used = new Set<string>();
    const folder = new URL('.', import.meta.url);
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
      (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
    )) {
      const source = readFileSync(new URL(name, folder), 'utf8');
      for (const [, code] of source.matchAll(/findings(?:\.(?:error|warning)|\[severity\])\(\s*'([a-z-]+)'/g)) used.add(code ?? '');
    }
    const section = docs.slice(docs.indexOf('\n## Lint'));
    const documented = [...section.matchAll(/`([a-z]+(?:-[a-z]+)+)`/g)].map(([, code]) => code ?? '');
    expect(documented.toSorted()).toEqual([...used].toSorted());
  });

  it('names every scan category and only blocked variables', () => {
    for (const category of scanCategories) expect(docs).toContain(`\`${category}\``);
    const section = docs.slice(docs.indexOf('\n## Environment'), docs.indexOf('\n## Schemas'));
    const names = [...section.matchAll(/`([A-Z][A-Z0-9_]+)(\*?)`/g)].map(([, name = '', star]) => (star ? `${name}X` : name));
    expect(names.length).toBeGreaterThan(20);
    for (const name of names) expect(blockedEnvReason(name), name).toBeDefined();
  });
});

/** Each fence with file=PATH is a file; SKILL.md starts a new skill. */
function skillsOf(markdown: string): SkillFile[][] {
  const found: SkillFile[][] = [];
  for (const [, path = '', text = ''] of markdown.matchAll(/^```\w+ file=(\S+)\n(.*?)^```$/gms)) {
    if (path === 'SKILL.md') found.push([]);
    found.at(-1)?.push({ path, mode: 0o644, data: Buffer.from(text) });
  }
  return found;
}

function nameOf(files: readonly SkillFile[]): string {
  return /^name: (.+)$/m.exec(files[0]?.data.toString() ?? '')?.[1] ?? '';
}
