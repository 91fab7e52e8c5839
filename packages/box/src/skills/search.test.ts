import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type SearchRow, searchSkills } from './search.ts';

const rows: SearchRow[] = [
  { name: 'word-counter', description: 'Count words in a text', instructions: 'Give it text. A chart is not made.' },
  { name: 'data-analysis', description: 'Statistics and charts for numbers and CSV', instructions: 'Mean, median, quartiles.' },
  { name: 'text-summary', description: 'Shorten a text to its main sentences', instructions: 'Extractive. words words words words words' },
  { name: 'pdf', description: 'Read and fill PDF forms', instructions: 'See references/forms.md' },
];
const names = (query: string) => searchSkills(rows, query).map((row) => row.name);

describe('search', () => {
  it('puts a name above a description above instructions', () => {
    expect(names('word')[0]).toBe('word-counter');
    expect(names('chart')).toEqual(['data-analysis', 'word-counter']);
  });

  it('ignores case and finds beginnings and other forms of a word', () => {
    expect(names('PDF')).toEqual(['pdf']);
    expect(names('statist')).toEqual(['data-analysis']);
    expect(names('counting')[0]).toBe('word-counter');
    expect(names('form')).toEqual(['pdf']);
  });

  it('prefers the row that has all the words', () => {
    expect(names('count words in text')[0]).toBe('word-counter');
    expect(names('shorten text')[0]).toBe('text-summary');
  });

  it('finds an exact name first', () => {
    const similar = [...rows, { name: 'pdf-pdf', description: 'pdf pdf pdf', instructions: 'pdf '.repeat(99) }];
    expect(searchSkills(similar, 'pdf')[0]?.name).toBe('pdf');
  });

  it('finds nothing for nothing', () => {
    expect(names('')).toEqual([]);
    expect(names('the of')).toEqual([]);
    expect(names('zebra')).toEqual([]);
    expect(names('.*+?^$()|[]\\')).toEqual([]);
  });

  it('gives the same order whatever order the rows come in', () => {
    fc.assert(
      fc.property(
        fc.shuffledSubarray(rows, { minLength: rows.length }),
        fc.constantFrom('text', 'words', 'chart', 'a text with words'),
        (shuffled, query) => {
          expect(searchSkills(shuffled, query)).toEqual(searchSkills(rows, query));
        },
      ),
    );
  });

  it('takes any query and text, and finds a word in the text it is from', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (query, text) => {
        const row = { name: 'x', description: `${text} zebra`, instructions: text };
        searchSkills([row], query);
        expect(searchSkills([row], 'zebra')).toEqual([row]);
      }),
    );
  });
});
