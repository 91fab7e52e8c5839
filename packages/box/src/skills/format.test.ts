import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseSkillMd } from './format.ts';

const full = `---
name: data-analysis
version: "1.2.3"
description: Analyze CSV data and produce summary statistics
lang: python
entrypoint: scripts/main.py
image: python:3.12-slim
timeout: 1m30s
preload: [numpy, pandas.io]
resources:
  memory: 256Mi
  cpu: "0.5"
env:
  MODE: fast
  RATE: 1.10
  EMPTY:
  FLAG: true
input_schema:
  type: object
output_schema: {type: object}
license: MIT
compatibility: needs nothing
allowed-tools: Read Bash(git add *), Write
metadata:
  author: somebody
---

# Data analysis

Use it.
`;

describe('the full format', () => {
  it('is read field by field', () => {
    const { definition, instructions, findings } = parseSkillMd(full, ['scripts/main.py']);
    expect(findings).toEqual([]);
    expect(instructions).toBe('# Data analysis\n\nUse it.');
    expect(definition).toEqual({
      name: 'data-analysis',
      version: '1.2.3',
      description: 'Analyze CSV data and produce summary statistics',
      mode: 'executable',
      lang: 'python',
      entrypoint: 'scripts/main.py',
      image: 'python:3.12-slim',
      timeoutMs: 90_000,
      cpu: 0.5,
      memoryBytes: 256 * 2 ** 20,
      preload: ['numpy', 'pandas.io'],
      env: { MODE: 'fast', RATE: '1.10', EMPTY: '', FLAG: 'true' },
      inputSchema: { type: 'object' },
      outputSchema: { type: 'object' },
      license: 'MIT',
      compatibility: 'needs nothing',
      allowedTools: ['Read', 'Bash(git add *)', 'Write'],
      metadata: { author: 'somebody' },
    });
  });

  it.each([
    ['Windows line ends', full.replaceAll('\n', '\r\n')],
    ['a byte order mark and blank lines', `\uFEFF\n\n  ${full}`],
  ])('is read with %s', (_, text) => {
    expect(parseSkillMd(Buffer.from(text), ['scripts/main.py']).definition?.name).toBe('data-analysis');
  });
});

describe('the public format', () => {
  const plain = '---\nname: pdf-forms\ndescription: Fill forms\nlicense: Complete terms in LICENSE.txt\n---\nRead references/forms.md.';

  it('is an instruction skill of version 1.0.0', () => {
    const { definition, findings } = parseSkillMd(plain, ['SKILL.md', 'scripts/recalc.py', 'references/forms.md']);
    expect(findings).toEqual([]);
    expect(definition).toMatchObject({
      mode: 'cognitive',
      version: '1.0.0',
      lang: null,
      entrypoint: null,
      license: 'Complete terms in LICENSE.txt',
    });
  });

  it('takes descriptions that are not quite YAML, as other agents do', () => {
    const text = plain.replace('Fill forms', 'Use it for: (1) forms, (2) "tables"');
    const { definition, findings } = parseSkillMd(text, []);
    expect(definition?.description).toBe('Use it for: (1) forms, (2) "tables"');
    expect(findings).toMatchObject([{ severity: 'warning', code: 'yaml-unquoted', line: 3 }]);
  });

  it('says nothing about the keys of other agents', () => {
    const text = plain.replace('license', 'user-invocable: true\nargument-hint: "[file]"\nallowed-tools: [Read, Grep]\nlicense');
    expect(parseSkillMd(text, [])).toMatchObject({ findings: [], definition: { allowedTools: ['Read', 'Grep'] } });
  });
});

describe('mode, lang and entrypoint', () => {
  const parse = (fields: string, paths: string[]) => parseSkillMd(`---\nname: a\ndescription: b\n${fields}\n---\nc`, paths);

  it.each([
    ['', ['main.py'], 'python', 'main.py'],
    ['', ['scripts/main.js'], 'node', 'scripts/main.js'],
    ['', ['scripts/main.py', 'run.py'], 'python', 'run.py'],
    ['version: 1.0.0', ['main.sh', 'scripts/main.py'], 'bash', 'main.sh'],
    ['lang: bash', ['main.py', 'scripts/main.sh'], 'bash', 'scripts/main.sh'],
    ['mode: executable', ['main.js'], 'node', 'main.js'],
    ['entrypoint: ./tools/x.mjs', ['tools/x.mjs'], 'node', 'tools/x.mjs'],
    ['lang: python\nentrypoint: bin/tool', ['bin/tool'], 'python', 'bin/tool'],
  ])('%j with %j runs %s %s', (fields, paths, lang, entrypoint) => {
    expect(parse(fields, paths).definition).toMatchObject({ mode: 'executable', lang, entrypoint });
  });

  it.each([
    ['', ['scripts/recalc.py']],
    ['', ['references/main.py', 'scripts/sub/main.py']],
    ['version: 2.0.0', []],
    ['mode: cognitive', ['main.py']],
  ])('%j with %j is an instruction skill', (fields, paths) => {
    expect(parse(fields, paths).definition).toMatchObject({ mode: 'cognitive', lang: null, entrypoint: null });
  });

  it('warns when only a file name makes it run', () => {
    expect(parse('', ['scripts/main.py']).findings).toMatchObject([{ severity: 'warning', code: 'entrypoint-inferred' }]);
    expect(parse('version: 1.0.0', ['scripts/main.py']).findings).toEqual([]);
  });

  it.each([
    ['lang: python', [], 'entrypoint-missing'],
    ['lang: python', ['main.js'], 'entrypoint-missing'],
    ['mode: executable', ['x.py'], 'entrypoint-missing'],
    ['entrypoint: main.py', ['scripts/main.py'], 'entrypoint-missing'],
    ['entrypoint: ../main.py', ['main.py'], 'entrypoint-invalid'],
    ['entrypoint: /bin/tool.sh', [], 'entrypoint-invalid'],
    ['entrypoint: [main.py]', ['main.py'], 'entrypoint-invalid'],
    ['entrypoint: tool', ['tool'], 'lang-missing'],
    ['lang: ruby', ['main.rb'], 'lang-invalid'],
    ['mode: magic', ['main.py'], 'mode-invalid'],
  ])('%j with %j is the error %s', (fields, paths, code) => {
    const { definition, findings } = parse(fields, paths);
    expect(definition).toBeNull();
    expect(findings.filter(({ severity }) => severity === 'error').map((finding) => finding.code)).toEqual([code]);
  });

  it('suggests where the entrypoint is', () => {
    expect(parse('entrypoint: main.py', ['scripts/main.py']).findings[0]?.fix).toBe('Write entrypoint: scripts/main.py.');
  });
});

describe('findings', () => {
  it.each([
    ['name: [a]', 'name-invalid', 2],
    ['name: a b', 'name-invalid', 2],
    ['name:', 'name-missing', 2],
    ['name: a\nversion: 1.0', 'version-invalid', 3],
    ['name: a\nversion: 01.0.0', 'version-invalid', 3],
    ['name: a\ntimeout: soon', 'timeout-invalid', 3],
    ['name: a\ntimeout: 0s', 'timeout-invalid', 3],
    ['name: a\nresources:\n  cpu: 1\n  memory: lots', 'resources-invalid', 5],
    ['name: a\nresources:\n  cpu: -1', 'resources-invalid', 4],
    ['name: a\nresources: 5', 'field-type', 3],
    ['name: a\nlang: python\nentrypoint: main.py\npreload: ["../x"]', 'preload-invalid', 5],
    ['name: a\nlang: python\nentrypoint: main.py\npreload: numpy', 'preload-invalid', 5],
    ['name: a\nenv:\n  OK: 1\n  LD_PRELOAD: x', 'env-invalid', 5],
    ['name: a\nenv:\n  A: [1]', 'env-invalid', 4],
    ['name: a\nenv:\n  A: "x\\0y"', 'env-invalid', 4],
    ['name: a\nimage: "bad image"', 'image-invalid', 3],
    ['name: a\ninput_schema: true', 'schema-invalid', 3],
    ['name: a\nname: b', 'key-repeated', 3],
    ['name: a\nmetadata:\n  x: 1\n  x: 2', 'key-repeated', 5],
    ['name: "a', 'yaml-invalid', undefined],
    ['name: a\n\tx: 1', 'yaml-invalid', undefined],
  ])('%j is %s on line %s', (fields, code, line) => {
    const { definition, findings } = parseSkillMd(`---\n${fields}\ndescription: b\n---\nc`, []);
    expect(definition).toBeNull();
    const found = findings.find((finding) => finding.code === code);
    expect(found).toMatchObject({ severity: 'error', file: 'SKILL.md', code });
    if (line) expect(found?.line).toBe(line);
    expect(found?.fix).toMatch(/^[A-Z].*\.$/);
  });

  it.each([
    ['nothing', '', 'front-matter-missing'],
    ['no front matter', '# Just text', 'front-matter-missing'],
    ['no end', '---\nname: a', 'front-matter-unclosed'],
    ['a list', '---\n- a\n---', 'yaml-invalid'],
    ['empty front matter', '---\n---\n', 'yaml-invalid'],
    ['no description', '---\nname: a\n---\n', 'description-missing'],
    ['a long description', `---\nname: a\ndescription: ${'x'.repeat(5000)}\n---\n`, 'description-invalid'],
    ['a list as description', '---\nname: a\ndescription: [x]\n---\n', 'description-invalid'],
    ['a large file', 'x'.repeat(1024 * 1024 + 1), 'skill-md-too-large'],
  ])('for %s', (_, text, code) => {
    expect(parseSkillMd(text).findings.map((finding) => finding.code)).toContain(code);
  });

  it('refuses what is not UTF-8', () => {
    expect(parseSkillMd(Buffer.from([0x2d, 0xff])).findings[0]?.code).toBe('skill-md-encoding');
  });

  it('suggests the key that was meant', () => {
    const { definition, findings } = parseSkillMd(
      '---\nname: a\ndescription: b\nentry_point: main.py\ninputSchema: {}\ntimout: 5s\nzzzzzz: 1\nresources: {memroy: 5Mi}\n---\nc',
      [],
    );
    expect(definition).not.toBeNull();
    expect(findings.map(({ line, fix }) => [line, fix])).toEqual([
      [4, 'Did you mean entrypoint?'],
      [5, 'Did you mean input_schema?'],
      [6, 'Did you mean timeout?'],
      [7, 'Remove it, or put it under metadata.'],
      [8, 'Did you mean memory?'],
    ]);
  });

  it('suggests versions and names that would do', () => {
    const fixes = (text: string) => parseSkillMd(`---\n${text}\ndescription: b\n---\nc`, []).findings.map((finding) => finding.fix);
    expect(fixes('name: a\nversion: v1.10')).toEqual(['Write version: 1.10.0.']);
    expect(fixes('name: "Größe & Co"')).toEqual(['Write name: gro-e-co.']);
    expect(fixes('name: My_Skill')).toEqual(['Write name: my-skill for use with other agents too.']);
  });

  it('warns of an image that needs Docker', () => {
    const warn = (image: string) =>
      parseSkillMd(`---\nname: a\ndescription: b\nimage: ${image}\n---\nc`, []).findings.map((finding) => finding.code);
    expect(warn('python:3.12-slim')).toEqual([]);
    expect(warn('node:20')).toEqual([]);
    expect(warn('ghcr.io/acme/tool:1')).toEqual(['image-special']);
  });
});

describe('hostile YAML', () => {
  const laughs = [
    'a: &a [x,x,x,x,x,x,x,x,x]',
    ...'bcdefghi'.split('').map((key, i) => `${key}: &${key} [${Array(9).fill(`*${'abcdefghi'[i]}`).join(',')}]`),
  ].join('\n');

  it.each([
    ['a billion laughs', laughs, 'yaml-unsafe'],
    ['a circle', 'metadata: &a {b: *a}', 'yaml-unsafe'],
    ['a merge key', 'metadata: {<<: {a: 1}}', 'yaml-unsafe'],
    ['__proto__', '__proto__: {mode: cognitive}', 'yaml-unsafe'],
    ['__proto__ inside', 'metadata: {a: {__proto__: {x: 1}}}', 'yaml-unsafe'],
    ['a tag', 'metadata: !!js/function "x"', 'yaml-unsafe'],
    ['a list as key', '? [a]\n: 1', 'yaml-unsafe'],
    ['a huge document', `metadata: "${'x'.repeat(40_000)}"`, 'front-matter-too-large'],
  ])('refuses %s', (_, yaml, code) => {
    const { definition, findings } = parseSkillMd(`---\nname: a\ndescription: b\n${yaml}\n---\n`);
    expect(definition).toBeNull();
    expect(findings.map((finding) => finding.code)).toContain(code);
    expect(({} as Record<string, unknown>).mode).toBeUndefined();
  });

  it.each([
    ['brackets', '['.repeat(30_000)],
    ['maps', '{a: '.repeat(8000)],
    ['lists', '- '.repeat(15_000)],
    ['anchors', '&a '.repeat(10_000)],
    ['keys', Array.from({ length: 3500 }, (_, i) => `k${i}: 1`).join('\n')],
  ])('is done with many %s soon', (_, yaml) => {
    const started = Date.now();
    parseSkillMd(`---\nname: a\ndescription: b\nx: ${yaml}\n---\n`);
    parseSkillMd(`---\n${yaml}\n---\n`);
    expect(Date.now() - started).toBeLessThan(3000);
  });

  it('never throws, and each finding has a line of the file', () => {
    const piece = fc.constantFrom(
      '---',
      '\n',
      'name: a',
      'description: b',
      ': ',
      '- ',
      '&a',
      '*a',
      '{',
      '}',
      '[',
      ']',
      '"',
      "'",
      '#',
      '|',
      '  ',
      'é',
      '\0',
      'env:',
      'x',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const text = `---\n${pieces.join('')}\n---\nbody`;
        for (const finding of parseSkillMd(text, []).findings) {
          expect(finding.line).toBeGreaterThan(0);
          expect(finding.line).toBeLessThanOrEqual(text.split('\n').length);
        }
      }),
      { numRuns: 1000 },
    );
  });
});
