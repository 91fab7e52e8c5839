import { describe, expect, it } from 'vitest';
import { type DiffLine, diffLines, excerpts } from './line-diff.ts';

const signs = { same: ' ', gone: '-', new: '+' } as const;
const text = (lines: readonly DiffLine[]): string => lines.map(({ kind, text: line }) => signs[kind] + line).join('\n');

/** Whatever it says must lead from one text to the other. */
function checks(before: string[], after: string[]): number {
  const lines = diffLines(before.join('\n'), after.join('\n'));
  expect(lines.filter(({ kind }) => kind !== 'new').map((line) => line.text)).toEqual(before);
  expect(lines.filter(({ kind }) => kind !== 'gone').map((line) => line.text)).toEqual(after);
  for (const { text: line, before: one, after: other } of lines) {
    if (one !== undefined) expect(before[one - 1]).toBe(line);
    if (other !== undefined) expect(after[other - 1]).toBe(line);
  }
  return lines.filter(({ kind }) => kind !== 'same').length;
}

describe('the lines that two texts differ in', () => {
  it('are as few as can be', () => {
    expect(text(diffLines('a\nb\nc\n', 'a\nx\nc\n'))).toBe(' a\n-b\n+x\n c');
    expect(checks('ABCABBA'.split(''), 'CBABAC'.split(''))).toBe(5);
    expect(checks(['a'], ['a'])).toBe(0);
    expect(checks(['a', 'b'], ['z'])).toBe(3);
  });

  it('lead from the one to the other, whatever they are', () => {
    let seed = 7;
    const random = (most: number): number => {
      seed = (seed * 1103515245 + 12345) % 2 ** 31;
      return seed % most;
    };
    for (let turn = 0; turn < 300; turn += 1) {
      const make = (): string[] => Array.from({ length: 1 + random(12) }, () => 'abc'[random(3)] ?? '');
      checks(make(), make());
    }
  });

  it('are found soon also in texts that have nothing in common', () => {
    const started = performance.now();
    checks(
      Array.from({ length: 20_000 }, (_, at) => `one ${at}`),
      Array.from({ length: 20_000 }, (_, at) => `other ${at}`),
    );
    expect(performance.now() - started).toBeLessThan(5000);
  });

  it('come with a few lines around them', () => {
    const before = Array.from({ length: 30 }, (_, at) => String(at));
    const after = before.with(15, 'x');
    const shown = excerpts(diffLines(before.join('\n'), after.join('\n')), 1);
    expect(shown.map((line) => line && signs[line.kind] + line.text)).toEqual([null, ' 14', '-15', '+x', ' 16', null]);
  });
});
