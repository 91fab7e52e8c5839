import { describe, expect, it } from 'vitest';
import { createPaint, oneLine, printable } from './paint.ts';
import { formatFacts, formatTable } from './table.ts';

const plain = createPaint(false);
const columns = [
  { title: 'NAME', value: (item: { name: string; size: string }) => item.name },
  { title: 'SIZE', value: (item: { name: string; size: string }) => item.size, right: true },
];

describe('formatTable', () => {
  it('aligns columns, numbers to the right', () => {
    const items = [
      { name: 'a', size: '12' },
      { name: 'longer', size: '3' },
    ];
    expect(formatTable(items, columns, { paint: plain, width: undefined })).toBe('NAME    SIZE\na         12\nlonger     3');
  });

  it('shows a dash for nothing and counts wide characters as two', () => {
    const items = [
      { name: '日本', size: '' },
      { name: 'abcd', size: '1' },
    ];
    expect(formatTable(items, columns, { paint: plain, width: undefined })).toBe('NAME  SIZE\n日本     -\nabcd     1');
  });

  it('cuts the last column at the edge of the terminal', () => {
    const wide = [columns[0], { title: 'TEXT', value: () => 'x'.repeat(200) }] as typeof columns;
    const [, row = ''] = formatTable([{ name: 'a', size: '' }], wide, { paint: plain, width: 40 }).split('\n');
    expect(row).toHaveLength(40);
    expect(row.endsWith('…')).toBe(true);
  });

  it('paints without changing the alignment', () => {
    const painted = formatTable([{ name: 'a', size: '1' }], [{ ...columns[0], tone: () => 'red' }, columns[1]] as typeof columns, {
      paint: createPaint(true),
      width: undefined,
    });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are what is looked for
    expect(painted.replace(/\x1b\[\d+m/g, '')).toBe('NAME  SIZE\na        1');
    expect(painted).toContain('\x1b[31ma\x1b[39m');
  });
});

describe('formatFacts', () => {
  it('leaves out what has no value', () => {
    const facts = [
      ['id', '1'],
      ['nothing', undefined],
      ['longer', '2'],
    ] as const;
    expect(formatFacts(facts, plain)).toBe('id      1\nlonger  2');
  });
});

describe('text from elsewhere', () => {
  it('cannot steer the terminal', () => {
    expect(printable('a\x1b[31mred\x1b[0m\x1b]0;title\x07\x9b2Jb\r\x08\n\tc')).toBe('ared2Jb\n\tc');
  });

  it('stays on its line in a table', () => {
    expect(oneLine(' a\n b\x1b[2J\tc ')).toBe('a b c');
  });
});
