/** Runs each example the way the sandbox does, with the plain interpreters of this machine. */

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { validateAgainst } from '../../packages/box/src/json-schema/schema.ts';
import { lintFolder } from '../../packages/box/src/skills/lint.ts';

const root = fileURLToPath(new URL('.', import.meta.url));
const interpreters = { python: ['python3'], node: ['node'], bash: ['bash'] } as const;
type Output = Record<string, unknown>;

describe.each(['data-analysis', 'text-summary', 'word-counter'])('%s', (name) => {
  it('has nothing for lint to find', async () => {
    const { definition, findings } = await lintFolder(join(root, name), { maxBytes: 2 ** 20 });
    expect(findings).toEqual([]);
    expect(definition).toMatchObject({ name, mode: 'executable' });
  });

  it('refuses input that is no JSON or has nothing in it, with a sentence and no trace', async () => {
    for (const input of ['{', '{}']) {
      const { status, stderr } = await run(name, input);
      expect(status).toBe(1);
      expect(stderr).toMatch(/^error: .+\n$/);
    }
  });
});

describe('data-analysis', () => {
  const analyse = (input: unknown) => outputOf('data-analysis', input);

  it('gives the figures of a list of numbers', async () => {
    const { output, text } = await analyse({ data: [1, 2, 3, 4, 5] });
    expect(text).toContain('"row_count": 5');
    expect(text).toContain('"mean": 3,');
    expect(output).toMatchObject({
      row_count: 5,
      mean: 3,
      median: 3,
      min: 1,
      max: 5,
      sum: 15,
      quartiles: { q1: 2, q2: 3, q3: 4 },
      outliers: [],
    });
    expect(output.stdev).toBeCloseTo(Math.sqrt(2.5), 9);
  });

  it('agrees with the definitions for any numbers', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 2, maxLength: 30 }), async (data) => {
        const { output } = await analyse({ data });
        const mean = data.reduce((sum, value) => sum + value, 0) / data.length;
        const stdev = Math.sqrt(data.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (data.length - 1));
        expect(output.mean).toBeCloseTo(mean, 4);
        expect(output.stdev).toBeCloseTo(stdev, 4);
        expect(output.min).toBeCloseTo(Math.min(...data), 4);
        expect(output.median as number).toBeLessThanOrEqual(output.max as number);
      }),
      { numRuns: 10 },
    );
  });

  it.each([
    [{ data: [] }, { row_count: 0, mean: null, stdev: null }],
    [{ data: [7] }, { row_count: 1, mean: 7, stdev: null }],
    [{ data: [1, null, 3] }, { row_count: 3, missing: 1, mean: 2 }],
    [{ data: [1e308, 1e308, -1e308] }, { row_count: 3, sum: 1e308 }],
    [{ data: [0.1, 0.2, 0.3] }, { sum: 0.6, mean: 0.2 }],
    [{ data: [1, 2, 3, 4, 1000] }, { outliers: [1000] }],
    [{ data: '4\n5\n6' }, { row_count: 3, mean: 5 }],
    [{ data: ['a', 'b', 'a', true] }, { type: 'categorical', unique: 3, top: [{ value: 'a', count: 2 }, { count: 1 }, { count: 1 }] }],
  ])('handles %j', async (input, expected) => {
    expect((await analyse(input)).output).toMatchObject(expected);
  });

  const rows = [
    { city: 'Oslo', temp: 4, sold: 40 },
    { city: 'Rome', temp: 15, sold: 150 },
    { city: 'Oslo', temp: 6, sold: 60 },
    { city: null, temp: 9, sold: 90 },
  ];
  it.each([
    ['rows', { data: rows }],
    ['columns', { data: { city: rows.map((r) => r.city), temp: rows.map((r) => r.temp), sold: rows.map((r) => r.sold) } }],
    ['CSV', { csv: 'city,temp,sold\nOslo,4,40\nRome,15,150\nOslo,6,60\nNA,9,90\n' }],
    ['CSV of spreadsheets', { data: '\ufeffcity;temp;sold\r\n"Oslo";4;40\r\nRome;15;150\r\nOslo;6;60\r\n;9;90' }],
  ])('gives the same figures for %s', async (_, input) => {
    expect((await analyse(input)).output).toMatchObject({
      row_count: 4,
      column_count: 3,
      columns: {
        city: { type: 'categorical', missing: 1, unique: 2, top: [{ value: 'Oslo', count: 2 }, { value: 'Rome' }] },
        temp: { type: 'numeric', mean: 8.5, min: 4, max: 15 },
        sold: { type: 'numeric', sum: 340 },
      },
      correlations: [{ columns: ['temp', 'sold'], r: 1 }],
    });
  });

  it('reads a CSV that came as input file', async () => {
    const { output } = await outputOf('data-analysis', {}, { 'sales.csv': 'id,price\n007,2.5\n008,3.5\n' });
    expect(output).toMatchObject({ row_count: 2, columns: { id: { type: 'categorical' }, price: { mean: 3 } } });
  });

  it('draws a chart that is well-formed, whatever the names are', async () => {
    for (const input of [{ data: [3, -1, 4, 1, 5] }, { title: '</svg><script>', data: [{ '<b>&"\u0000': 'x<y', n: 1 }, { n: 2.5 }] }]) {
      const { output, files } = await analyse(input);
      expect(output.chart).toBe('chart.svg');
      const svg = files['chart.svg'] ?? '';
      expect(svg).toMatch(/^<svg /);
      expect(svg).not.toMatch(/NaN|inf|<script|undefined|None/);
      execFileSync('python3', ['-c', 'import sys, xml.dom.minidom; xml.dom.minidom.parseString(sys.stdin.buffer.read())'], { input: svg });
    }
  });

  it('never fails on numbers and texts', async () => {
    const cell = fc.oneof(fc.double(), fc.integer(), fc.string(), fc.boolean(), fc.constant(null));
    const data = fc.oneof(
      fc.array(cell, { maxLength: 20 }),
      fc.array(fc.dictionary(fc.string(), cell, { maxKeys: 3 }), { minLength: 1, maxLength: 10 }),
    );
    await fc.assert(
      fc.asyncProperty(data, async (given) => {
        expect((await analyse({ data: given })).output.row_count).toBe(given.length);
      }),
      { numRuns: 15 },
    );
  });
});

describe('text-summary', () => {
  const text = [
    'The James Webb Space Telescope is the largest space telescope ever launched. It cost about $10 billion. Dr. J. R. Mather led the project.',
    'Its mirror spans 6.5 metres, which makes the telescope far more sensitive than the Hubble telescope. Webb observes infrared light, e.g. from distant galaxies.',
    'Lunch at the visitor centre costs nine dollars.',
    'Since 2022 the telescope has shown the earliest galaxies to astronomers. The telescope has fuel for twenty years.',
  ].join('\n\n');
  const sentences = [
    'The James Webb Space Telescope is the largest space telescope ever launched.',
    'It cost about $10 billion.',
    'Dr. J. R. Mather led the project.',
    'Its mirror spans 6.5 metres, which makes the telescope far more sensitive than the Hubble telescope.',
    'Webb observes infrared light, e.g. from distant galaxies.',
    'Lunch at the visitor centre costs nine dollars.',
    'Since 2022 the telescope has shown the earliest galaxies to astronomers.',
    'The telescope has fuel for twenty years.',
  ];

  it('keeps the telling sentences, word for word and in order', async () => {
    const { output } = await outputOf('text-summary', { text, max_sentences: 3 });
    expect(output).toMatchObject({ sentence_count: 3, source_sentence_count: 8 });
    expect(output.summary).toMatch(/^The James Webb Space Telescope is the largest/);
    expect(output.summary).not.toContain('Lunch');
    const kept = sentences.filter((sentence) => (output.summary as string).includes(sentence));
    expect(kept.join(' ')).toBe(output.summary);
    expect(output.key_terms).toContain('telescope');
  });

  it('finds sentences around abbreviations, initials and numbers', async () => {
    const { output } = await outputOf('text-summary', { text, max_sentences: 200 });
    expect(output.summary).toBe(sentences.join(' '));
    expect(output.sentence_count).toBe(8);
  });

  it('gives back a text that is short already, and nothing for nothing', async () => {
    expect((await outputOf('text-summary', { text: 'One. Two.' })).output).toMatchObject({ summary: 'One. Two.', sentence_count: 2 });
    expect((await outputOf('text-summary', { text: '' })).output).toMatchObject({ summary: '', sentence_count: 0, ratio: 0 });
    expect((await outputOf('text-summary', { text: '... !!! 😀' })).output).toMatchObject({ summary: '', sentence_count: 0 });
  });

  it('does not say the same twice', async () => {
    const twice = 'Cats chase small mice at night. Cats chase small mice at night! Dogs guard large houses by day. Birds sing.';
    const { output } = await outputOf('text-summary', { text: twice, max_sentences: 2 });
    expect(output.summary).toBe('Cats chase small mice at night. Dogs guard large houses by day.');
  });

  it('is done with a long text soon', async () => {
    const long = Array.from({ length: 5000 }, (_, i) => `Sentence ${i} speaks of topic ${i % 17} and of matter ${i % 5}.`).join(' ');
    const started = Date.now();
    expect((await outputOf('text-summary', { text: long })).output.source_sentence_count).toBe(5000);
    expect(Date.now() - started).toBeLessThan(10_000);
  });
});

describe('word-counter', () => {
  const count = async (input: unknown) => (await outputOf('word-counter', input)).output;

  it('counts words', async () => {
    expect(await count({ text: 'the cat and the dog', top: 3 })).toEqual({
      total_words: 5,
      unique_words: 4,
      top: [
        { word: 'the', count: 2 },
        { word: 'and', count: 1 },
        { word: 'cat', count: 1 },
      ],
    });
    expect(await count({ text: '' })).toEqual({ total_words: 0, unique_words: 0, top: [] });
  });

  it('reads JSON as JSON, not as text', async () => {
    const input =
      '{"other":{"text":"no"},"list":["text","no"],"te\\u0078t":"say \\"hi\\" \\\\n C:\\\\dir\\/x\\u00e9 \\ud83d\\ude00 \\ud800 line\\nline","top":50}';
    const { output } = await outputOfText('word-counter', input);
    expect(output.total_words).toBe(9);
    expect((output.top as { word: string }[]).map(({ word }) => word).sort()).toEqual(
      ['c', 'dir', 'hi', 'line', 'n', 'say', 'xé', '\ufffd'].sort(),
    );
  });

  it('runs nothing that is in the text', async () => {
    expect(await count({ text: '$(id) `id` ; exit 1 %s %n && || > /dev/null \\x' })).toMatchObject({ total_words: 9 });
  });

  it('takes input from the file when the variable is not set', async () => {
    const { status, output } = await run('word-counter', JSON.stringify({ text: 'a b' }), {}, false);
    expect(status).toBe(0);
    expect(JSON.parse(output)).toMatchObject({ total_words: 2 });
  });

  it.each([{ text: 5 }, { text: 'a', top: 0 }, { text: 'a', top: 2.5 }, { text: 'a', top: 'x' }, ['a']])('refuses %o', async (input) => {
    const { status, stderr } = await run('word-counter', JSON.stringify(input));
    expect(status).toBe(1);
    expect(stderr).toMatch(/^error: /);
  });

  it('agrees with a count in another language for any text', async () => {
    const piece = fc.constantFrom(
      'the',
      "Don't",
      'well-known',
      'É',
      'привет',
      'ПРИВЕТ',
      'ΑΒΓ',
      'naïve',
      '42',
      ' ',
      '\n',
      '\t',
      '. ',
      '“',
      '”',
      '—',
      '\\',
      '"',
      '/',
      '😀',
      '\u2019',
      '-',
      "'",
      '\u0007',
      '\u2028',
      '\u00a0',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 60 }), async (pieces) => {
        const text = pieces.join('');
        const expected = new Map<string, number>();
        for (const raw of text.replaceAll('\u2019', "'").match(/[\p{L}\p{N}'-]+/gu) ?? []) {
          const word = raw.toLowerCase().replace(/^['-]+|['-]+$/g, '');
          if (word) expected.set(word, (expected.get(word) ?? 0) + 1);
        }
        const output = await count({ text, top: 1000 });
        expect(Object.fromEntries((output.top as { word: string; count: number }[]).map((item) => [item.word, item.count]))).toEqual(
          Object.fromEntries(expected),
        );
      }),
      { numRuns: 40 },
    );
  });
});

async function outputOf(name: string, input: unknown, inputFiles: Record<string, string> = {}) {
  return outputOfText(name, JSON.stringify(input), inputFiles);
}

/** Runs it and holds input and output against the skill's own schemas. */
async function outputOfText(name: string, input: string, inputFiles: Record<string, string> = {}) {
  const { definition } = await lintFolder(join(root, name), { maxBytes: 2 ** 20 });
  if (!definition?.inputSchema || !definition.outputSchema) throw new Error(`${name} has no schemas`);
  expect(await validateAgainst(definition.inputSchema, JSON.parse(input))).toBeNull();
  const result = await run(name, input, inputFiles);
  expect(result.stderr).toBe('');
  expect(result.status).toBe(0);
  const output = JSON.parse(result.output) as Output;
  expect(await validateAgainst(definition.outputSchema, output)).toBeNull();
  return { output, text: result.output, files: result.files };
}

async function run(name: string, input: string, inputFiles: Record<string, string> = {}, asVariable = true) {
  const { definition } = await lintFolder(join(root, name), { maxBytes: 2 ** 20 });
  if (!definition?.lang || !definition.entrypoint) throw new Error(`${name} cannot be run`);
  const dir = mkdtempSync(join(tmpdir(), 'skill-example-'));
  try {
    for (const folder of ['out/files', 'input']) mkdirSync(join(dir, folder), { recursive: true });
    writeFileSync(join(dir, 'input.json'), input);
    for (const [path, text] of Object.entries(inputFiles)) writeFileSync(join(dir, 'input', path), text);
    const env = {
      PATH: process.env.PATH,
      HOME: dir,
      TMPDIR: dir,
      PYTHONDONTWRITEBYTECODE: '1',
      // The kernel takes no variable of 128 KiB or more.
      ...(asVariable && input.length < 100_000 ? { SANDBOX_INPUT: input } : {}),
      SANDBOX_OUTPUT: join(dir, 'out/output.json'),
      SANDBOX_FILES_DIR: join(dir, 'out/files/'),
      SANDBOX_INPUT_DIR: join(dir, 'input/'),
    };
    const [command] = interpreters[definition.lang];
    const { status, stderr } = spawnSync(command, [join(root, name, definition.entrypoint)], {
      cwd: dir,
      env,
      encoding: 'utf8',
      timeout: 25_000,
    });
    const files = Object.fromEntries(
      readdirSync(join(dir, 'out/files')).map((file) => [file, readFileSync(join(dir, 'out/files', file), 'utf8')]),
    );
    return { status, stderr, output: status === 0 ? readFileSync(join(dir, 'out/output.json'), 'utf8') : '', files };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
